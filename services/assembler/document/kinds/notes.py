"""Footnotes: small print at the foot of a column, of which the first one begins with a mark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.boxes import overlap
from services.assembler.document.fonts import usual_size
from services.assembler.document.kinds.places import box_of, line_height, plain, with_lines
from shared.contracts.document import Block

SMALL = 0.94
"""Size of a note by the usual one, at most: set ones have 0.75 to 0.9, measured lines are off by a twentieth."""
FROM = 0.4
"""How far down the page the first note may begin, as a share of its height: a page full of notes has a few lines of text."""
LEAST_TEXT = 120
"""Characters of larger text above, at least."""
_MARK = re.compile(
    r"\s*(?:(?P<number>\d{1,3})(?![\d.．,、)）\]:：年月日%°])|[*＊†‡§¶]{1,3}(?!\*)[)）]?|[\u2460-\u2473]|[\[(（]\d{1,2}[\])）])\s*[^\W\d_]"
)


def noted(blocks: Sequence[Block], height: float) -> list[Block]:
    """Blocks in reading order, the notes at the foot of their columns labelled, and read after all columns; `height` is the page's."""
    usual = usual_size(blocks)
    if not usual:
        return list(blocks)
    small = {i for i, block in enumerate(blocks) if _may_be(block) and (block.font_size or usual) <= SMALL * usual}
    foot = {i for i in small if _from_top(blocks[i]) >= FROM * height and _ends_column(i, small, blocks)}
    several = {i: parts for i in foot if len(parts := _parted(blocks[i])) > 1}
    if several:
        apart = noted([part for i, block in enumerate(blocks) for part in several.get(i, [block])], height)
        names = {part.id for parts in several.values() for part in parts}
        if all(block.label == "footnote" for block in apart if block.id in names):
            return apart
    notes = {i for i in foot if _MARK.match(blocks[i].text)}
    notes |= {i for i in foot - notes if any(_is_rest(blocks[i], blocks[note]) for note in notes)}
    text = sum(len(b.text) for i, b in enumerate(blocks) if b.label in ("text", "list_item") and i not in foot)
    if not _in_order([blocks[i] for i in sorted(notes)]) or text < LEAST_TEXT:
        return list(blocks)
    rest = [block for i, block in enumerate(blocks) if i not in notes]
    end = max((i for i, block in enumerate(rest) if block.content_layer == "body"), default=-1) + 1
    return [*rest[:end], *(replace(blocks[i], label="footnote") for i in sorted(notes)), *rest[end:]]


def _parted(block: Block) -> list[Block]:
    """Notes that the layout boxed as one text, each by itself: lines of which each begins with the next number."""
    begins, last = [0], _number(block.lines[0].text) if block.lines else None
    for index, line in enumerate(block.lines[1:], 1):
        if last is not None and _number(line.text) == last + 1:
            begins.append(index)
            last += 1
    if len(begins) == 1:
        return [block]
    ends = [*begins[1:], len(block.lines)]
    return [
        with_lines(block, block.lines[begin:end], f".n{n}" if n else "")
        for n, (begin, end) in enumerate(zip(begins, ends, strict=True))
    ]


def _number(text: str) -> int | None:
    found = _MARK.match(text)
    return int(found["number"]) if found is not None and found["number"] is not None else None


def _may_be(block: Block) -> bool:
    return plain(block) and block.label != "reference"


def _from_top(block: Block) -> float:
    box = box_of(block)
    return box[1] if box is not None else 0.0


def _ends_column(index: int, small: set[int], blocks: Sequence[Block]) -> bool:
    """Whether nothing of the body but small print stands below a block, in its column."""
    box = box_of(blocks[index])
    return box is not None and not any(
        other.content_layer == "body"
        and other.label != "footnote"
        and i not in small
        and (at := box_of(other)) is not None
        and at[1] >= box[3] - 0.5 * (box[3] - box[1])
        and overlap(box[0], box[2], at[0], at[2]) > 0
        for i, other in enumerate(blocks)
        if i != index
    )


def _is_rest(block: Block, note: Block) -> bool:
    """Whether a block without a mark goes on a note: right below it."""
    box, above = box_of(block), box_of(note)
    if box is None or above is None or overlap(box[0], box[2], above[0], above[2]) <= 0:
        return False
    return -0.5 * line_height(block) <= box[1] - above[3] <= line_height(block)


def _in_order(notes: Sequence[Block]) -> bool:
    """Whether numbers of notes grow, by one or a little more, within each column."""
    last: tuple[float, int] | None = None
    for note in notes:
        found, box = _MARK.match(note.text), box_of(note)
        if found is None or found["number"] is None or box is None:
            continue
        number = int(found["number"])
        if last is not None and box[1] > last[0] and not last[1] < number <= last[1] + 3:
            return False
        last = box[1], number
    return True
