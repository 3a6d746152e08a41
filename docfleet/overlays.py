"""Pictures of what was found: every page with the boxes of its blocks, their labels and their place in the reading order.

Drawing is a pure function of a page picture and a parsed document. The picture itself is made by the document child, the process that opens
hostile bytes everywhere in docfleet, and comes here as pixels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from shared.contracts.document import Block, Page, ParsedDocument
from shared.documents.opener import Documents

DPI = 110
"""Resolution of overlays: text of 8 pt is still readable, an A4 page is about a million pixels."""

MAX_WIDTH = 1_600
"""Pixels across an overlay: photographs and scans of high resolution are drawn on at that size and no larger."""

COLOURS: dict[str, str] = {
    "title": "#b3001b",
    "section_header": "#e0520e",
    "text": "#1f6fd1",
    "list_item": "#0e8ea8",
    "table": "#0b8a3c",
    "picture": "#8a3ffc",
    "caption": "#c2389b",
    "formula": "#a66a00",
    "code": "#4d5b6a",
    "footnote": "#7a6a4f",
    "page_header": "#8c8c8c",
    "page_footer": "#8c8c8c",
    "page_number": "#8c8c8c",
    "seal": "#d4002a",
    "checkbox": "#5a7d00",
    "form_field": "#5a7d00",
    "reference": "#3b4cc0",
    "aside_text": "#6b6b6b",
}
"""One colour a label; furniture is grey."""


def boxes(blocks: Sequence[Block], page_no: int) -> list[tuple[Block, list[float]]]:
    """The blocks that stand on a page, each with its box there in units of the page, in reading order."""
    found = [(b, p.bbox) for b in blocks for p in b.prov if p.page_no == page_no and p.bbox is not None]
    return sorted(found, key=lambda pair: pair[0].order)


def draw(picture: np.ndarray, page: Page, blocks: Sequence[Block]) -> Image.Image:
    """Draw the blocks of a page on its picture.

    `picture`: uint8 RGB, shape (height, width, 3), the whole page as displayed, at any scale.
    """
    image = Image.fromarray(picture)
    if image.width > MAX_WIDTH:
        image = image.resize((MAX_WIDTH, max(1, round(image.height * MAX_WIDTH / image.width))))
    pen = ImageDraw.Draw(image, "RGBA")
    height = max(11, round(image.width / 75))
    font = ImageFont.load_default(height)
    across, down = image.width / page.width, image.height / page.height
    line = max(1, round(image.width / 600))
    for block, (x0, y0, x1, y1) in boxes(blocks, page.page_no):
        colour = COLOURS[block.label]
        box = (x0 * across, y0 * down, max(x1 * across, x0 * across + 1), max(y1 * down, y0 * down + 1))
        pen.rectangle(box, outline=colour, width=line, fill=colour + ("10" if block.content_layer == "body" else "30"))
        for cell in block.table.cells if block.table else ():
            if cell.bbox is not None and cell.page_no in (None, page.page_no):
                cx0, cy0, cx1, cy1 = cell.bbox
                pen.rectangle((cx0 * across, cy0 * down, cx1 * across, cy1 * down), outline=colour + "90")
        name = f"{block.order} {block.label}" + (f" {block.level}" if block.level else "")
        left, top, right, bottom = pen.textbbox((0, 0), name, font=font)
        tag_x = min(max(box[0], 0), image.width - (right - left) - 6)
        tag_y = box[1] - (bottom - top) - 5
        tag_y = tag_y if tag_y >= 0 else box[1]
        pen.rectangle((tag_x, tag_y, tag_x + right - left + 5, tag_y + bottom - top + 5), fill=colour + "d8")
        pen.text((tag_x + 2 - left, tag_y + 2 - top), name, fill="white", font=font)
    return image


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
    )
    with pictures:
        assert pictures.full is not None  # asked for by picture="always"
        size, block = pictures.full
        pixels = block.array((size.height, size.width, 3))
        await asyncio.to_thread(_save, pixels, page, document.blocks, target)
    return target


def _save(pixels: np.ndarray, page: Page, blocks: Sequence[Block], target: Path) -> None:
    image = draw(pixels, page, blocks)
    target.parent.mkdir(parents=True, exist_ok=True)
    image.save(target, compress_level=1)
