"""Boxes to tick: a line that begins with one is one, with the words behind it.

Squares are drawn, but readers have seen them in text and read them as signs. A square that is read as the character 口 counts beside a sure one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.kinds.places import box_of, line_height, plain, with_lines
from shared.contracts.document import Block, Line

_BOX = re.compile(r"\s*(?:[☐☑☒□▢◻❏❑❒]|\[[ xX✓]?\])\s*\w")
_LIKE_BOX = re.compile(r"\s*[口囗]\s*\w")
LONGEST = 60
"""Characters of a line that begins with 口, or has no box among lines that have one, at most: choices are short, sentences are not."""
ALIGNED, NEAR = 0.5, 1.2
"""Distance of left edges, and white between lines, of choices one below the other, in line heights, at most."""
_ENDS = (".", "。", ":", "：", "?", "？", "!", "！", ";", "；")


def ticked(blocks: Sequence[Block]) -> list[Block]:
    """Blocks with every line that begins with a box a `checkbox` of its own; the lines that follow it up to the next box are its words."""
    sure = any(plain(block) and any(_BOX.match(line.text) for line in block.lines) for block in blocks)
    if not sure:
        return list(blocks)
    parted = [part for block in blocks for part in (_parted(block) if plain(block) else [block])]
    out: list[Block] = []
    run: list[Block] = []
    for block in parted:
        if run and not _goes_on(run[-1], block):
            out += _choices(run)
            run = []
        run.append(block)
    return out + _choices(run)


def _goes_on(above: Block, below: Block) -> bool:
    """Whether a short line stands right below another one, at the same left edge."""
    a, b = box_of(above), box_of(below)
    if a is None or b is None or not (_is_short(above) and _is_short(below)):
        return False
    height = line_height(above)
    return abs(a[0] - b[0]) <= ALIGNED * height and -0.5 * height <= b[1] - a[3] <= NEAR * height


def _is_short(block: Block) -> bool:
    short = len(block.lines) == 1 and len(block.text) <= LONGEST and not block.text.rstrip().endswith(_ENDS)
    return short and (plain(block) or block.label == "checkbox")


def _choices(run: Sequence[Block]) -> list[Block]:
    """Lines one below the other, most of which have a box: the boxes of the others were not read."""
    boxes = sum(block.label == "checkbox" for block in run)
    if boxes < 2 or 2 * boxes < len(run):
        return list(run)
    return [replace(block, label="checkbox") for block in run]


def _parted(block: Block) -> list[Block]:
    runs: list[tuple[bool, list[Line]]] = []
    for line in block.lines:
        box = _begins_with_box(line.text)
        below = bool(runs) and runs[-1][0] and line.bbox[0] <= runs[-1][1][0].bbox[0] + ALIGNED * line_height(block)
        if box or not runs or below:  # words that go on a choice hang right of its box
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
