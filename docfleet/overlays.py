"""Pictures of what was found: every page with the boxes of its blocks, their labels, who read them, and their place in the reading order.

What is drawn is a pure function of a page and a parsed document. The picture itself is made by the document child, the process that opens
hostile bytes everywhere in docfleet, and comes here as pixels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docfleet.drawing import COLOURS, Fill, Key, Mark, Sheet, draw
from shared.contracts.document import Block, Method, Page, ParsedDocument
from shared.documents.opener import Documents

DPI = 110
"""Resolution of overlays: text of 8 pt is still readable, an A4 page is about a million pixels."""

READERS: dict[str, str] = {"native": "#1b7f3b", "rec": "#1c5fc4", "vl": "#8527c9", "none": "#6f757c"}
"""Who reads: one colour each, on the ground of names and at the left edge of boxes."""
_METHODS: dict[Method, str] = {
    "native": "native",
    "docx": "native",
    "form": "native",
    "direct_rec": "rec",
    "det_rec": "rec",
    "vl": "vl",
}
MEANING: dict[str, str] = {
    "native": "its own text",
    "rec": "recogniser",
    "vl": "vision-language model",
    "none": "nobody",
}


def boxes(blocks: Sequence[Block], page_no: int) -> list[tuple[Block, list[float]]]:
    """The blocks that stand on a page, each with its box there in units of the page, in reading order."""
    found = [(b, p.bbox) for b in blocks for p in b.prov if p.page_no == page_no and p.bbox is not None]
    return sorted(found, key=lambda pair: pair[0].order)


def sheet_of(page: Page, blocks: Sequence[Block]) -> Sheet:
    """What is drawn on a page of a parsed document."""
    marks = []
    readers = set()
    for block, box in boxes(blocks, page.page_no):
        reader = "none" if block.label == "picture" else _METHODS[block.method]
        readers.add(reader)
        marks.append(
            Mark(
                box=box,
                name=f"{block.order} {block.label}" + (f" {block.level}" if block.level else ""),
                colour=COLOURS[block.label],
                chip=READERS[reader],
                alpha=16 if block.content_layer == "body" else 40,
                fills=_cells(block, page.page_no),
            )
        )
    read = Key("read by", [(READERS[name], MEANING[name]) for name in READERS if name in readers], "chip")
    return Sheet(page.width, page.height, marks, legend=[read] if marks else [])


def _cells(block: Block, page_no: int) -> list[Fill]:
    cells = block.table.cells if block.table else []
    return [
        Fill(cell.bbox, COLOURS[block.label], alpha=24)
        for cell in cells
        if cell.bbox is not None and cell.page_no in (None, page_no)
    ]


async def write(
    document: ParsedDocument, source: Path, folder: Path, documents: Documents, *, password: str | None = None
) -> list[Path]:
    """Write `folder/page-001.png` for every page of a document that was parsed and has geometry, in place of older ones.

    Raises what opening the source raises (`DocfleetError`, `ChildDied`); pages written before that stay.
    """
    await asyncio.to_thread(_clear, folder)
    digits = max(3, len(str(len(document.pages))))
    pages = [page for page in document.pages if page.status != "skipped" and page.unit is not None]
    return [
        await _write_page(
            document, page, source, folder / f"page-{page.page_no:0{digits}d}.png", documents, password=password
        )
        for page in pages
    ]


def _clear(folder: Path) -> None:
    """An earlier run may have had more pages."""
    for old in folder.glob("page-*.png"):
        old.unlink()


async def _write_page(
    document: ParsedDocument, page: Page, source: Path, target: Path, documents: Documents, *, password: str | None
) -> Path:
    _, pictures = await documents.open_page(
        source,
        document.source.mime_type or "",
        page.page_no,
        password=password,
        picture="always",
        layout_picture=False,
        dpi=DPI,
        jpeg=False,
        rotation=page.rotation,
    )
    with pictures:
        assert pictures.full is not None  # asked for by picture="always"
        size, block = pictures.full
        pixels = block.array((size.height, size.width, 3))
        await asyncio.to_thread(_save, pixels, page, document.blocks, target)
    return target


def _save(pixels: np.ndarray, page: Page, blocks: Sequence[Block], target: Path) -> None:
    image = draw(pixels, sheet_of(page, blocks)).image
    target.parent.mkdir(parents=True, exist_ok=True)
    image.save(target, compress_level=1)
