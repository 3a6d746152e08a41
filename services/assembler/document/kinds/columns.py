"""Headings of vertical text: the layout network does not know them, so their size alone tells them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from shared.contracts.document import Block

LARGER = 1.25
"""Times the usual width of a column from which a column is a heading."""
LONGEST = 30
"""Characters of a heading, at most."""
FEW = 5
"""Columns of a page below which nothing is usual on it."""
_ENDS = ("。", "、", "，", "！", "？", "；", "：")


def headed(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of a page in reading order, single vertical lines in larger type labelled `section_header`."""
    widths = [line.bbox[2] - line.bbox[0] for block in blocks if _is_vertical(block) for line in block.lines]
    if len(widths) < FEW:
        return list(blocks)
    usual = median(widths)
    return [replace(block, label="section_header") if _is_heading(block, usual) else block for block in blocks]


def _is_vertical(block: Block) -> bool:
    return block.label == "text" and block.content_layer == "body" and block.writing_mode == "vertical_rl"


def _is_heading(block: Block, usual: float) -> bool:
    if not _is_vertical(block) or len(block.lines) != 1 or not 2 <= len(block.text) <= LONGEST:
        return False
    box = block.lines[0].bbox
    return box[2] - box[0] >= LARGER * usual and not block.text.rstrip().endswith(_ENDS)
