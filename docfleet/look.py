"""What the layout stage sees on a page: one file, one page, no fleet.

The stage runs as a process of its own (`services.layout_worker.alone`), with its own two children, exactly as in a fleet; the reading order
comes from the assembler's rules in a child. What comes back is a `PageLayout`; here it is drawn and put into words.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from docfleet.drawing import COLOURS, Fill, Key, Mark, Sheet, draw
from docfleet.overlays import DPI, MEANING, READERS
from shared.children.child import Child
from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode, ErrorInfo
from shared.contracts.layout import PageLayout, Region, TextLine
from shared.contracts.options import Options
from shared.documents.opener import Documents
from shared.settings import Settings

STAGE = "services.layout_worker.alone"
ORDER = "services.assembler.ordering:create"

OWN, TO_READ, UNSEEN, DETECTED_WEAK = "#2fa84f", "#f08c00", "#d6249f", "#c92a2a"
"""Colours of lines: text of the page's own that is used, lines to be read from the picture, text that cannot be seen; and detections below
`WEAK`, which often are no text."""
WEAK = 0.6
"""Confidence of a detected line below which it is drawn as doubtful; lines of clean scans have 0.8 and more."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the stage's work on a page."""

    name: str
    wall_s: float
    cpu_s: float


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What the stage says of a page; `layout` with its regions in reading order."""

    page_no: int | None
    pages_total: int = 0
    layout: PageLayout | None = None
    steps: list[Cost] = []
    error: ErrorInfo | None = None


def looked(path: Path, options: Options, *, vl: bool, passwords: Path | None = None) -> Iterator[Looked]:
    """The pages that `options.pages` names, one by one as the stage answers. `vl`: as if there were a vision-language model.

    `passwords` is the folder of the secret that `options.password_ref` names.

    Raises `DocfleetError` when the file cannot be opened, `internal` when the stage's process died; the error of a single page is in it.
    """
    request = {"path": str(path), "options": msgspec.to_builtins(options), "vl": vl}
    process = subprocess.Popen(
        [sys.executable, "-m", STAGE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            "OPENBLAS_NUM_THREADS": "1",
            **os.environ,
            **({"DOCFLEET_LIMITS__PASSWORDS": str(passwords)} if passwords else {}),
        },
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(request).encode())
        process.stdin.close()
        for line in process.stdout:
            page = decode(line, Looked)
            if page.page_no is None and page.error is not None:
                raise DocfleetError(page.error.code, page.error.message)
            yield page
        if process.wait() != 0:
            raise DocfleetError(ErrorCode.internal, "the process that looks at pages has died; its words are above")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def pictured(
    pages: Sequence[Looked], path: Path, settings: Settings, password: str | None = None
) -> list[tuple[Looked, np.ndarray]]:
    """Pages that have a layout, in reading order, each with its picture: uint8 RGB, `(height, width, 3)`, as it was laid out.

    Raises what opening the file raises (`DocfleetError`, `ChildDied`).
    """
    documents = Documents(settings.limits, name="look")
    ordering = Child(ORDER, None, name="order", call_timeout_s=settings.limits.page_timeout_s)
    try:
        mime_type = (await documents.inspect(path, password=password)).mime_type
        out = []
        for page in pages:
            if page.layout is not None:
                layout, _ = await ordering.call("order", page.layout, returns=PageLayout)
                picture = await _picture(documents, path, mime_type, layout, password)
                out.append((msgspec.structs.replace(page, layout=layout), picture))
        return out
    finally:
        await ordering.close()
        await documents.close()


async def _picture(
    documents: Documents, path: Path, mime_type: str, layout: PageLayout, password: str | None
) -> np.ndarray:
    _, pictures = await documents.open_page(
        path,
        mime_type,
        layout.page_no,
        password=password,
        picture="always",
        dpi=DPI,
        jpeg=False,
        rotation=layout.rotation,
    )
    with pictures:
        assert pictures.full is not None  # asked for by picture="always"
        size, block = pictures.full
        return np.array(block.array((size.height, size.width, 3)))


# --- as a picture -----------------------------------------------------------------------------------------------------


def sheet_of(page: Looked, name: str) -> Sheet:
    """What is drawn: regions with their label and place in the order, lines by trust, readers by colour, hidden text."""
    assert page.layout is not None
    layout = page.layout
    marks = [
        Mark(
            box=region.bbox,
            name=_named(number, region),
            colour=COLOURS[region.label],
            chip=READERS[region.read_by],
            fills=[_fill(line, layout) for line in region.lines],
        )
        for number, region in enumerate(layout.regions, 1)
    ]
    hidden = [Fill(line.bbox, UNSEEN, alpha=40) for line in layout.invisible if _is_on(line, layout)]
    labels = list(dict.fromkeys(region.label for region in layout.regions))
    readers = {region.read_by for region in layout.regions}
    lines = [line for region in layout.regions for line in region.lines]
    legend = [
        Key("regions", [(COLOURS[label], label) for label in labels]),
        Key("read by", [(READERS[who], MEANING[who]) for who in READERS if who in readers], "chip"),
        Key("lines", _trusts(lines, bool(hidden)), "fill"),
    ]
    return Sheet(
        layout.width,
        layout.height,
        marks,
        fills=hidden,
        legend=[key for key in legend if key.entries],
        path=True,
        title=f"{name}, page {layout.page_no} of {page.pages_total}: {layout.kind} ({', '.join(layout.kind_reason)})",
        notes=[f"{warning.code}: {warning.message}" for warning in layout.warnings],
    )


def save(page: Looked, picture: np.ndarray, name: str, target: Path) -> None:
    """Draw a page and write it as PNG."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draw(picture, sheet_of(page, name)).image.save(target, compress_level=1)


def _named(number: int, region: Region) -> str:
    sure = f" {region.confidence:.2f}" if region.found_by == "model" else ""
    return f"{number} {region.label}{sure}" + (" direct" if region.direct else "")


def _fill(line: TextLine, layout: PageLayout) -> Fill:
    """A line in the colour of its trust; detected ones as they lie, where the picture's scale is known."""
    if line.text is not None:
        return Fill(line.bbox, OWN, alpha=34)
    weak = line.confidence is not None and line.confidence < WEAK
    quad = None
    if line.quad is not None and layout.picture_width and layout.picture_height:
        across, down = layout.width / layout.picture_width, layout.height / layout.picture_height
        quad = [value * (down if index % 2 else across) for index, value in enumerate(line.quad)]
    return Fill(line.bbox, DETECTED_WEAK if weak else TO_READ, alpha=44, quad=quad)


def _trusts(lines: Sequence[TextLine], hidden: bool) -> list[tuple[str, str]]:
    unread = [line for line in lines if line.text is None]
    weak = any(line.confidence is not None and line.confidence < WEAK for line in unread)
    entries = [
        (OWN, "own text, trusted", any(line.text is not None for line in lines)),
        (TO_READ, "to be read from the picture", bool(unread)),
        (DETECTED_WEAK, f"to be read, detected below {WEAK}", weak),
        (UNSEEN, "own text that cannot be seen", hidden),
    ]
    return [(colour, meaning) for colour, meaning, shown in entries if shown]


def _is_on(line: TextLine, layout: PageLayout) -> bool:
    """Whether any of a hidden line lies on the page; what is outside of it cannot be drawn."""
    x0, y0, x1, y1 = line.bbox
    return x1 > 0 and y1 > 0 and x0 < layout.width and y0 < layout.height


# --- in words ---------------------------------------------------------------------------------------------------------


def summary(page: Looked, name: str) -> list[str]:
    """The same as a text: the page, a row for each region, tasks, costs, warnings."""
    if page.layout is None:
        error = page.error
        return [f"{name}, page {page.page_no}: {error.code}: {error.message}" if error else f"{name}: nothing"]
    layout = page.layout
    unit = layout.unit or ""
    size = f"{layout.width:g} x {layout.height:g} {unit}" + (
        f", turned by {layout.rotation}" if layout.rotation else ""
    )
    out = [
        f"{name}, page {layout.page_no} of {page.pages_total}: {layout.kind}, {size}",
        f"  why: {', '.join(layout.kind_reason)}",
    ]
    rows = [["", "label", "box", "lines own/read", "read by", "row", "sure", "found by", "why"]]
    rows += [_row(number, region) for number, region in enumerate(layout.regions, 1)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    if layout.regions:
        out += [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(r, widths, strict=True)).rstrip() for r in rows
        ]
    tasks = Counter(task.stage for task in layout.tasks)
    said = [f"{count} {stage}" for stage, count in sorted(tasks.items())]
    out.append(f"  tasks: {', '.join(said) or 'none, all is read'}")
    if layout.invisible:
        reasons = Counter(line.hidden or "hidden" for line in layout.invisible)
        out.append(f"  unseen text: {', '.join(f'{count} {reason}' for reason, count in sorted(reasons.items()))}")
    if page.steps:
        wall = ", ".join(f"{step.name} {1000 * step.wall_s:.0f}" for step in page.steps)
        out.append(
            f"  ms: {wall}; CPU {1000 * sum(step.cpu_s for step in page.steps):.0f} (first pages also warm networks up)"
        )
    out += [f"  {warning.code}: {warning.message}" for warning in layout.warnings]
    return out


def _row(number: int, region: Region) -> list[str]:
    own = sum(line.text is not None for line in region.lines)
    return [
        str(number),
        region.label,
        " ".join(f"{value:.0f}" for value in region.bbox),
        f"{own}/{len(region.lines) - own}",
        region.read_by + (" direct" if region.direct else ""),
        region.route or "",
        f"{region.confidence:.2f}",
        region.found_by,
        region.reason or "",
    ]
