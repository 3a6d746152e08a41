"""Items of lists, whole and by themselves: their hanging lines come to them, what stands left of their marker goes.

Lines of an item hang: they begin right of its marker. Which blocks are items is for `lists` to say, by markers; here only what geometry says of
blocks that begin with one, and bullets that a reader set close to the first word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.kinds.places import box_of, in_one_row, line_height, one_of, plain, with_lines
from services.assembler.document.text import joined, marker
from shared.contracts.document import Block, Line

HANGS = (0.5, 4.5)
"""How far right of its marker an item's text hangs, in line heights, from and to."""
LEFT = 0.7
"""How far left of its marker a line of an item begins, in line heights, from which it is none of it."""
CLOSE = 0.7
"""White between lines of an item, in line heights, at most."""
_CLOSE_BULLET = re.compile(r"(?P<bullet>[*·•–—-])(?=[^\W\d_])")


def itemised(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order, items with all of their lines and no others; `list_item` where close bullets follow each other."""
    parted = [part for block in blocks for part in _parted(block)]
    out: list[Block] = []
    for block in parted:
        if out and _hangs(block, out[-1]):
            out[-1] = one_of([out[-1], block], out[-1].label, _text)
        else:
            out.append(block)
    return _bulleted(out)


def _parted(block: Block) -> list[Block]:
    """An item without the lines that begin left of its marker: these are the next paragraph."""
    if not plain(block) or len(block.lines) < 2 or not _begins(block.text):
        return [block]
    first, height = block.lines[0].bbox[0], line_height(block)
    for index, line in enumerate(block.lines[1:], 1):
        if first - line.bbox[0] > LEFT * height and not _same_row(block.lines[index - 1], line):
            # The rest begins left of the marker and stays there; a line that only sticks out is an accident of its box.
            if all(first - other.bbox[0] > LEFT * height for other in block.lines[index:]):
                return [
                    with_lines(block, block.lines[:index], ""),
                    with_lines(block, block.lines[index:], ".i", label="text"),
                ]
            break
    return [block]


def _hangs(block: Block, item: Block) -> bool:
    """Whether a block is the rest of an item: right below it, right of its marker, without a marker of its own."""
    if not (plain(block) and plain(item) and _begins(item.text)) or _begins(block.text):
        return False
    if block.id.partition("/")[0] != item.id.partition("/")[0]:
        return False
    box, above = box_of(block), box_of(item)
    if box is None or above is None:
        return False
    height = min(line_height(block), line_height(item))
    inset = min(line.bbox[0] for line in block.lines) - item.lines[0].bbox[0]
    near = -0.5 * height <= box[1] - item.lines[-1].bbox[3] <= CLOSE * height
    return HANGS[0] * height <= inset <= HANGS[1] * height and near and _lies_at_its_text(block, item, height)


def _lies_at_its_text(block: Block, item: Block, height: float) -> bool:
    """Whether the block begins where the item's own further lines do, as far as it has any."""
    further = [line.bbox[0] for line in item.lines[1:] if line.bbox[0] > item.lines[0].bbox[0] + HANGS[0] * height]
    return not further or abs(min(line.bbox[0] for line in block.lines) - min(further)) <= 0.6 * height


def _bulleted(blocks: Sequence[Block]) -> list[Block]:
    """Blocks that begin with the same bullet, close to the first word, labelled where two such follow each other."""
    bullets = [_bullet(block) for block in blocks]
    out = []
    for index, block in enumerate(blocks):
        beside = [bullets[i] for i in (index - 1, index + 1) if 0 <= i < len(blocks)]
        item = bullets[index] is not None and bullets[index] in beside
        out.append(replace(block, label="list_item") if item else block)
    return out


def _bullet(block: Block) -> str | None:
    if not plain(block) or block.label == "reference":
        return None
    found = _CLOSE_BULLET.match(block.text)
    if found is not None:
        return found["bullet"]
    mark = marker(block.text)
    return mark.text if mark is not None and mark.number is None else None


def _begins(text: str) -> bool:
    return marker(text) is not None or _CLOSE_BULLET.match(text) is not None


def _same_row(a: Line, b: Line) -> bool:
    return in_one_row((a.bbox[0], a.bbox[1], a.bbox[2], a.bbox[3]), (b.bbox[0], b.bbox[1], b.bbox[2], b.bbox[3]))


def _text(lines: Sequence[Line]) -> str:
    return joined([line.text for line in lines])
