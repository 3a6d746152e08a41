"""Where blocks stand to each other, and blocks parted and joined at lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, median

from msgspec.structs import replace

from services.assembler.document.boxes import overlap, union
from services.assembler.document.text import joined
from shared.contracts.document import Block, Label, Line

Box = tuple[float, float, float, float]
ROMAN = r"(?=[ivxlc])c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})"
"""Roman numbers up to 399, in a pattern that ignores case: of words "I" and "vi" fit, "civil" and "mill" do not."""


def box_of(block: Block) -> Box | None:
    """The block's place, where it has one place with a box."""
    if len(block.prov) != 1 or block.prov[0].bbox is None:
        return None
    x0, y0, x1, y1 = block.prov[0].bbox
    return x0, y0, x1, y1


def line_height(block: Block) -> float:
    """Median height of the block's lines, in page units; 0 without lines."""
    return median([line.bbox[3] - line.bbox[1] for line in block.lines]) if block.lines else 0.0


def in_one_row(a: Box, b: Box) -> bool:
    """Whether two boxes share most of the lower one's height."""
    return overlap(a[1], a[3], b[1], b[3]) > 0.5 * min(a[3] - a[1], b[3] - b[1])


def plain(block: Block) -> bool:
    """Whether a block is a text of the body whose lines are known, all on one page and level."""
    return (
        block.label in ("text", "list_item", "reference")
        and block.content_layer == "body"
        and block.table is None
        and block.writing_mode == "horizontal_tb"
        and bool(block.lines)
        and box_of(block) is not None
    )


def with_lines(block: Block, lines: Sequence[Line], part: str, *, label: Label | None = None) -> Block:
    """A part of a block: these of its lines. `part` goes to the end of its id; empty for the part that keeps it."""
    text = joined([line.text for line in lines])
    known = [line.confidence for line in lines if line.confidence is not None]
    place = replace(block.prov[0], bbox=union([line.bbox for line in lines]), char_span=[0, len(text)])
    return replace(
        block,
        id=block.id + part,
        label=label or block.label,
        text=text,
        lines=list(lines),
        prov=[place],
        confidence=round(mean(known), 4) if known else block.confidence,
    )


def one_of(blocks: Sequence[Block], label: Label, text_of: Callable[[Sequence[Line]], str]) -> Block:
    """Blocks that belong together as one, with the first one's id; `text_of` makes its text of all lines."""
    lines = [line for block in blocks for line in block.lines]
    text = text_of(lines)
    known = [block.confidence for block in blocks if block.confidence is not None]
    bbox = union([place.bbox for block in blocks for place in block.prov if place.bbox is not None])
    return replace(
        blocks[0],
        label=label,
        text=text,
        lines=lines,
        prov=[replace(blocks[0].prov[0], bbox=bbox, char_span=[0, len(text)])],
        confidence=round(mean(known), 4) if known else None,
    )
