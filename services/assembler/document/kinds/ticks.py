"""Boxes to tick: a line that begins with one is one, with the words behind it.

Squares are drawn, but readers have seen them in text and read them as signs. A square that is read as the character 口 counts beside a sure one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.assembler.document.kinds.places import plain, with_lines
from shared.contracts.document import Block, Line

_BOX = re.compile(r"\s*(?:[☐☑☒□▢◻❏❑❒]|\[[ xX✓]?\])\s*\w")
_LIKE_BOX = re.compile(r"\s*[口囗]\s*\w")
LONGEST = 60
"""Characters of a line that begins with 口, at most: choices are short, sentences that begin so are not."""


def ticked(blocks: Sequence[Block]) -> list[Block]:
    """Blocks with every line that begins with a box a `checkbox` of its own; the lines that follow it up to the next box are its words."""
    sure = any(plain(block) and any(_BOX.match(line.text) for line in block.lines) for block in blocks)
    return [part for block in blocks for part in (_parted(block) if sure and plain(block) else [block])]


def _parted(block: Block) -> list[Block]:
    runs: list[tuple[bool, list[Line]]] = []
    for line in block.lines:
        box = _begins_with_box(line.text)
        if box or not runs:
            runs.append((box, [line]))
        else:
            runs[-1][1].append(line)
    if not any(box for box, _ in runs):
        return [block]
    return [
        with_lines(block, lines, f".t{part}" if part else "", label="checkbox" if box else None)
        for part, (box, lines) in enumerate(runs)
    ]


def _begins_with_box(text: str) -> bool:
    return _BOX.match(text) is not None or (len(text) <= LONGEST and _LIKE_BOX.match(text) is not None)
