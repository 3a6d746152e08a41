"""Tables of contents: an entry and the number of its page, which stand far apart in one row, are one line of text.

A row alone says nothing; four with numbers at one right edge do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.kinds.places import ROMAN, Box, box_of, in_one_row, line_height, one_of, plain
from shared.contracts.document import Block, Line

ROWS = 4
"""Rows that make a table of contents."""
ALIGNED = 0.8
"""Distance of right edges of its numbers, in line heights, at most."""
GAP = 2.0
"""White or dots between an entry and its number, in line heights, at least: nearer ones are one line already."""
_NUMBER = re.compile(rf"[\s.…·•]*(\d{{1,4}}|{ROMAN})\s*", re.I)
_LEADERS = re.compile(r"[\s.…·•_]*[.…·•_]{2,}[\s.…·•_]*$|…+\s*$")


def gathered(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order, entries of tables of contents with the number of their page; a picture over them is none."""
    rows = _rows(blocks)
    if len(rows) < ROWS:
        return list(blocks)
    numbers = {number.id for _, number in rows}
    merged = {entry.id: _entry(entry, number) for entry, number in rows}
    boxes = [box for one in merged.values() if (box := box_of(one)) is not None]
    return [
        merged.get(block.id, block)
        for block in blocks
        if block.id not in numbers and not (block.label == "picture" and _holds(block, boxes))
    ]


def _rows(blocks: Sequence[Block]) -> list[tuple[Block, Block]]:
    """Entries with their numbers, those that share a right edge with at least as many as make a table."""
    numbers = [b for b in blocks if plain(b) and len(b.lines) == 1 and _NUMBER.fullmatch(b.text)]
    entries = [b for b in blocks if plain(b) and len(b.lines) == 1 and not _NUMBER.fullmatch(b.text)]
    found = []
    for number in numbers:
        at = box_of(number)
        assert at is not None  # plain
        left = [
            (box[2], entry) for entry in entries if (box := box_of(entry)) and in_one_row(box, at) and box[2] <= at[0]
        ]
        if left:
            x, entry = max(left, key=lambda one: one[0])
            if at[0] - x >= GAP * line_height(entry):
                found.append((entry, number))
    nearest = {entry.id: number.id for entry, number in reversed(found)}
    found = [(entry, number) for entry, number in found if nearest[entry.id] == number.id]
    edges = [_right(number) for _, number in found]
    return [
        pair
        for pair, edge in zip(found, edges, strict=True)
        if sum(abs(edge - other) <= ALIGNED * line_height(pair[0]) for other in edges) >= ROWS
    ]


def _right(block: Block) -> float:
    box = box_of(block)
    return box[2] if box is not None else 0.0


def _entry(entry: Block, number: Block) -> Block:
    def text_of(lines: Sequence[Line]) -> str:
        page = _NUMBER.fullmatch(number.text)
        return f"{_LEADERS.sub('', entry.text).rstrip()} … {page[1] if page else number.text.strip()}"

    return replace(one_of([entry, number], "text", text_of), method=entry.method)


def _holds(picture: Block, rows: Sequence[Box]) -> bool:
    """Whether a picture's box holds a table's worth of entries: dots that lead the eye were taken for a drawing."""
    box = box_of(picture)
    if box is None or picture.text:
        return False
    return sum(box[0] <= (r[0] + r[2]) / 2 <= box[2] and box[1] <= (r[1] + r[3]) / 2 <= box[3] for r in rows) >= ROWS
