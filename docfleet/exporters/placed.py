"""The text of a document where it stands: what formats of pages (ALTO, hOCR, searchable PDF) are written from.

Only what a reader sees is here: the layers body and furniture. Boxes are `[x0, y0, x1, y1]` in units of the page as displayed, origin
top left, as everywhere in the document.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.contracts.document import Block, Page, ParsedDocument, Provenance
from shared.contracts.errors import DocfleetError, ErrorCode

SEEN = ("body", "furniture")
"""Content layers that are visible on the page."""


@dataclass(frozen=True)
class PlacedLine:
    """A line of text. `confidence`: 0..1, none for text of the page's own; `vertical`: read top to bottom."""

    box: Sequence[float]
    text: str
    confidence: float | None = None
    vertical: bool = False


@dataclass(frozen=True)
class PlacedBlock:
    """The part of a block that stands on one page."""

    block: Block
    box: Sequence[float]
    lines: Sequence[PlacedLine]


@dataclass(frozen=True)
class PlacedPage:
    """A page and its blocks in reading order; blocks may be without lines (pictures)."""

    page: Page
    blocks: Sequence[PlacedBlock]


def placed(document: ParsedDocument) -> list[PlacedPage]:
    """Every page of a document.

    Raises `DocfleetError(unsupported_type)` when the document has no geometry (it was never laid out on pages, as DOCX).
    """
    pages = [page for page in document.pages if page.unit is not None]
    if not pages:
        raise DocfleetError(
            ErrorCode.unsupported_type, "the document has no places on pages, which this format is made of"
        )
    blocks: dict[int, list[PlacedBlock]] = {page.page_no: [] for page in pages}
    for block in sorted(document.blocks, key=lambda block: block.order):
        if block.content_layer not in SEEN:
            continue
        for place in block.prov:
            if place.bbox is not None and place.page_no in blocks:
                lines = [line for line in lines_of(block, place) if line.text.strip()]
                blocks[place.page_no].append(PlacedBlock(block, place.bbox, lines))
    return [PlacedPage(page, blocks[page.page_no]) for page in pages]


def lines_of(block: Block, place: Provenance) -> list[PlacedLine]:
    """The lines of a block at one of its places: as they were found; of a table without them, its cells; else its text, evenly over its box."""
    vertical = block.writing_mode == "vertical_rl"
    own = [
        PlacedLine(line.bbox, line.text, line.confidence, vertical)
        for line in block.lines
        if line.page_no in (None, place.page_no)
    ]
    if own or place.bbox is None:
        return own
    if block.table is not None:
        cells = [cell for cell in block.table.cells if cell.bbox is not None and cell.page_no in (None, place.page_no)]
        return [line for cell in cells for line in spread(cell.text, cell.bbox or place.bbox, block.confidence)]
    text = block.text if place.char_span is None else block.text[place.char_span[0] : place.char_span[1]]
    return spread(text, place.bbox, block.confidence)


def spread(text: str, box: Sequence[float], confidence: float | None) -> list[PlacedLine]:
    """The lines of a text one below the other, each with an equal share of a box's height."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    x0, y0, x1, y1 = box
    step = (y1 - y0) / max(1, len(lines))
    return [
        PlacedLine([x0, y0 + index * step, x1, y0 + (index + 1) * step], line, confidence)
        for index, line in enumerate(lines)
    ]


def words(line: PlacedLine) -> Iterator[tuple[str, list[float]]]:
    """The words of a line, each with its share of the line's box by the width of its characters: an estimate, as nothing measures words."""
    text = " ".join(line.text.split())
    total = columns(text) or 1.0
    x0, y0, x1, y1 = line.box
    before = 0.0
    for word in text.split(" "):
        after = before + columns(word)
        if line.vertical:
            yield word, [x0, y0 + (y1 - y0) * before / total, x1, y0 + (y1 - y0) * min(1.0, after / total)]
        else:
            yield word, [x0 + (x1 - x0) * before / total, y0, x0 + (x1 - x0) * min(1.0, after / total), y1]
        before = after + 1.0


def columns(text: str) -> float:
    """Width of a text in half-width characters: wide ones are two, combining ones none."""
    return float(
        sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1 for c in text)
    )
