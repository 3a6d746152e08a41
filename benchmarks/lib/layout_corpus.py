"""The layout stage on the files of the corpus whose manifest says where something is: `./dev bench layout --corpus`.

Per file: `chars`, the share of the page's own characters (as MuPDF places them, those it paints) whose centre lies in a region; `text`, the share of
the characters of the true text, as a bag, that the page's own lines have, where no line is to be read; `cells`, the share of the true cells
of a picture of a table whose centre lies in a region, and whether a table was found at all; `seals`, found and false ones by an intersection over
union of at least 0.5. Of the other scans only the number of lines is known: `lines`, found and true ones, which differ where the truth breaks
its lines elsewhere. At most `PAGES` pages of a file.
"""

from __future__ import annotations

import json
import time
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pymupdf

from benchmarks.lib.layout_score import IOU, SLACK, iou
from benchmarks.lib.machine import ROOT, Report
from services.layout_worker.alone import Alone
from shared.contracts.errors import DocfleetError
from shared.contracts.layout import PageLayout
from shared.settings import Settings

FOLDER = ROOT.parent / "shared" / "corpus"
PAGES = 20
SUFFIXES = (".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
COVERAGE = 0.998


class Found(NamedTuple):
    """What one file came to; shares 0..1, None for what its truth does not say."""

    chars: float | None = None
    text: float | None = None
    cells: float | None = None
    table: bool | None = None
    seals: str | None = None
    lines: str | None = None


async def measure(report: Report, folder: Path = FOLDER) -> bool:
    """The table; whether characters and seals of every file are as they should be."""
    if not (folder / "manifest.json").exists():
        report.say(f"skipped: there is no corpus at {folder}")
        return True
    entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    report.say(
        f"{'':34}{'pages':>6}{'chars':>9}{'text':>8}{'cells':>8}{'table':>7}{'seals':>14}{'lines':>10}{'s':>7}  kinds"
    )
    good = True
    async with Alone(Settings()) as alone:
        for entry in entries:
            if entry["kind"] == "image_format" or not _has_truth(entry):
                continue
            started, layouts = time.monotonic(), []
            path = folder / entry["file"]
            try:
                total = len((await alone.inspection(path)).pages)
                for number in range(1, min(total, PAGES) + 1):
                    layouts.append((await alone.page(path, number))[0].layout)
            except DocfleetError as error:
                report.say(f"{entry['file']:34} {error}")
                good = False
                continue
            found = _look(entry["truth"], path, layouts, folder, whole=total <= PAGES)
            report.say(_row(entry["file"], found, layouts, time.monotonic() - started))
            good &= (found.chars is None or found.chars >= COVERAGE) and (found.seals is None or found.seals[-1] == "=")
    return good


def _has_truth(entry: dict[str, Any]) -> bool:
    return Path(entry["file"]).suffix.lower() in SUFFIXES and bool(
        {"seals", "text", "cells", "table_html", "visible_text"} & set(entry["truth"])
    )


def _row(name: str, found: Found, layouts: list[PageLayout], seconds: float) -> str:
    share = lambda value: "-" if value is None else f"{100 * value:.2f}"
    kinds = "/".join(f"{kind} {count}" for kind, count in Counter(layout.kind for layout in layouts).items())
    table = "-" if found.table is None else "yes" if found.table else "NO"
    return (
        f"{name:34}{len(layouts):6}{share(found.chars):>9}{share(found.text):>8}{share(found.cells):>8}{table:>7}"
        f"{found.seals or '-':>14}{found.lines or '-':>10}{seconds:7.1f}  {kinds}"
    )


def _look(truth: dict[str, Any], path: Path, layouts: list[PageLayout], folder: Path, *, whole: bool) -> Found:
    chars = _native_coverage(path, layouts) if path.suffix == ".pdf" else None
    text = lines = cells = table = None
    if "text" in truth and whole:
        true = (folder / truth["text"]).read_text(encoding="utf-8")
        read = sum(line.text is None for layout in layouts for region in layout.regions for line in region.lines)
        if chars is not None and not read:
            text = _bag(true, layouts)
        else:
            count = sum(len(region.lines) or region.direct for layout in layouts for region in layout.regions)
            lines = f"{count}/{sum(bool(line.strip()) for line in true.splitlines())}"
    if "cells" in truth:
        cells = _cells(json.loads((folder / truth["cells"]).read_text(encoding="utf-8")), layouts[0])
    if "table_html" in truth:
        table = any(region.label == "table" for layout in layouts for region in layout.regions)
    return Found(chars, text, cells, table, _seals(truth["seals"], layouts) if "seals" in truth else None, lines)


def _native_coverage(path: Path, layouts: list[PageLayout]) -> float | None:
    """None for a file without text of its own."""
    inside = total = 0
    with pymupdf.open(path) as document:
        for page, layout in zip(document, layouts, strict=False):
            boxes = [
                *(region.bbox for region in layout.regions),
                *(line.bbox for line in layout.invisible),
            ]
            for x, y in _painted(page):
                total += 1
                inside += any(b[0] - SLACK <= x <= b[2] + SLACK and b[1] - SLACK <= y <= b[3] + SLACK for b in boxes)
    return inside / total if total else None


def _painted(page: pymupdf.Page) -> list[tuple[float, float]]:
    """Centres of the characters on a page as displayed that are no blanks and not transparent."""
    found = []
    for block in page.get_text("rawdict", flags=pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP)[
        "blocks"
    ]:
        for line in block.get("lines", []):
            for span in line["spans"]:
                for char in span["chars"] if span.get("alpha", 255) else []:
                    x0, y0, x1, y1 = char["bbox"]
                    centre = pymupdf.Point((x0 + x1) / 2, (y0 + y1) / 2) * page.rotation_matrix
                    if char["c"].strip() and page.rect.contains(centre):
                        found.append((centre.x, centre.y))
    return found


def _bag(true: str, layouts: list[PageLayout]) -> float:
    wanted = Counter(_letters(true))
    got = Counter(
        _letters("".join(line.text or "" for layout in layouts for region in layout.regions for line in region.lines))
    )
    return (wanted & got).total() / max(1, wanted.total())


def _letters(text: str) -> str:
    """Letters and digits only: dashes, quotes and bullets differ between texts of one page."""
    return "".join(char for char in unicodedata.normalize("NFKC", text) if char.isalnum())


def _cells(cells: list[dict[str, Any]], layout: PageLayout) -> float:
    centres = [((c["bbox"][0] + c["bbox"][2]) / 2, (c["bbox"][1] + c["bbox"][3]) / 2) for c in cells if c["bbox"]]
    inside = sum(
        any(r.bbox[0] <= x <= r.bbox[2] and r.bbox[1] <= y <= r.bbox[3] for r in layout.regions) for x, y in centres
    )
    return inside / max(1, len(centres))


def _seals(true: list[dict[str, Any]], layouts: list[PageLayout]) -> str:
    """`found/true +false`, ending in `=` where all is right."""
    stamps = [region.bbox for layout in layouts for region in layout.regions if region.label == "seal"]
    boxes = [seal["box"] for seal in true if seal.get("colour") == "red"]  # black stamps are not promised
    found = sum(any(iou(box, stamp) >= IOU for stamp in stamps) for box in boxes)
    false = len(stamps) - found
    return f"{found}/{len(boxes)} +{false}{' =' if found == len(boxes) and not false else ''}"
