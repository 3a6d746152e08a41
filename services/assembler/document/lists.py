"""Which paragraphs are list items: a bullet alone says so; a number only together with its neighbour in the count."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.text import Marker, marker
from shared.contracts.document import Block

_PLAIN = ("text", "list_item")


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
