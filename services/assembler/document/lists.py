"""Which paragraphs are list items, and how deep: a bullet alone says so, a number only with its neighbour in the count; depth is indentation."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.text import Marker, marker
from shared.contracts.document import Block

_PLAIN = ("text", "list_item")
SET_IN = 0.5
"""Indentation of an inner item, in line heights."""
DEEPEST = 8


def marked(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order, those of text that are list items labelled so; the marker stays in the text."""
    marks = [marker(block.text) if block.label in _PLAIN and block.table is None else None for block in blocks]
    return [
        replace(block, label="list_item") if mark is not None and _is_item(index, marks, blocks) else block
        for index, (block, mark) in enumerate(zip(blocks, marks, strict=True))
    ]


def _is_item(index: int, marks: Sequence[Marker | None], blocks: Sequence[Block]) -> bool:
    mark = marks[index]
    if mark is None:
        return False
    if mark.number is None or blocks[index].label == "list_item":
        return True
    # An item may have one paragraph without a marker before the next one.
    for step in (-1, 1):
        for place in (index + step, index + 2 * step):
            other = marks[place] if 0 <= place < len(marks) else None
            if other is not None and other.style == mark.style and other.number == mark.number + step:
                return True
    return False


def nested(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of the document in order, list items that have no level yet with theirs: 0, or one more than the item they are set in below.

    A list goes on past paragraphs that are set in as its items are, and over pages; in a new column it begins again.
    """
    out: list[Block] = []
    open_items: list[float] = []
    last: Block | None = None
    for block in blocks:
        box = block.prov[0].bbox if block.prov else None
        if block.content_layer != "body" or box is None or block.label in ("footnote", "picture", "seal", "caption"):
            out.append(block)
            continue
        slack = SET_IN * _line(block)
        if block.label != "list_item":
            if open_items and box[0] <= open_items[0] + slack:
                open_items = []
            out.append(block)
            continue
        if last is not None and _in_new_column(last, box, block.prov[0].page_no):
            open_items = []
        while open_items and box[0] < open_items[-1] + slack:
            open_items.pop()
        out.append(block if block.level is not None else replace(block, level=min(DEEPEST, len(open_items))))
        open_items.append(box[0])
        last = block
    return out


def _in_new_column(last: Block, box: Sequence[float], page_no: int) -> bool:
    before = last.prov[-1]
    return before.page_no == page_no and before.bbox is not None and box[3] <= before.bbox[1]


def _line(block: Block) -> float:
    heights = [line.bbox[3] - line.bbox[1] for line in block.lines]
    return min(heights, default=12.0)
