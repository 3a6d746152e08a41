"""Captions without a word that says so: small print right below a picture, no wider than it. (`Figure 3`, `图2` are told elsewhere.)"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.fonts import usual_size
from services.assembler.document.kinds.places import Box, box_of, line_height, plain
from shared.contracts.document import Block

SMALL = 0.94
"""Size of a caption by the usual one, at most."""
NEAR = 1.3
"""White between the picture and its caption, in line heights, at most."""
LINES = 3
"""Lines of a caption without a name, at most."""
BESIDE = 1.0
"""How far it may reach over the picture's sides, in line heights."""
APART = 0.5
"""White below a caption, in line heights, at least: what text goes on below is the beginning of that text."""


def below_pictures(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of a page in reading order, small print right below pictures labelled `caption`."""
    usual = usual_size(blocks)
    pictures = [box for block in blocks if block.label == "picture" and (box := box_of(block)) is not None]
    if not usual or not pictures:
        return list(blocks)
    named = [box for block in blocks if block.label == "caption" and (box := box_of(block)) is not None]
    return [
        replace(block, label="caption") if _is_caption(block, usual, pictures, named, blocks) else block
        for block in blocks
    ]


def _is_caption(
    block: Block, usual: float, pictures: Sequence[Box], named: Sequence[Box], blocks: Sequence[Block]
) -> bool:
    box = box_of(block)
    if box is None or block.label != "text" or not plain(block) or len(block.lines) > LINES:
        return False
    if (block.font_size or usual) > SMALL * usual or len(block.text) < 8:
        return False
    height = line_height(block)
    for picture in pictures:
        near = -0.5 * height <= box[1] - picture[3] <= NEAR * height
        within = picture[0] - BESIDE * height <= box[0] and box[2] <= picture[2] + BESIDE * height
        taken = any(abs(other[1] - picture[3]) <= 3 * height and _over(other, picture) for other in named)
        if near and within and not taken and not _goes_on(block, box, blocks, height):
            return True
    return False


def _goes_on(block: Block, box: Box, blocks: Sequence[Block], height: float) -> bool:
    """Whether text of about the same size follows closely below."""
    return any(
        other is not block
        and plain(other)
        and (at := box_of(other)) is not None
        and _over(at, box)
        and -0.5 * height <= at[1] - box[3] < APART * height
        and (other.font_size or 0.0) <= 1.05 * (block.font_size or 0.0)
        for other in blocks
    )


def _over(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0])
