"""The part of a page's picture that somebody will look at, where that is little of it: one seal on a page of native text.

Such a part is cut from the picture of the whole page on whole blocks of 8 x 8 pixels, JPEG's own grid, so that it holds the pixels which
the whole picture would have there, before and after encoding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCK = 8
"""Pixels of a JPEG block's side (ITU-T T.81, A.1)."""
MARGIN = 24
"""Pixels around what is wanted: readers look at regions with up to 16 pixels of their surroundings."""
MOST = 0.5
"""Share of the page from which the whole is drawn: less is saved than another shape of picture costs to think about."""


def part_of(boxes: Sequence[Sequence[float]], page: tuple[float, float], picture: tuple[int, int]) -> list[int] | None:
    """`[left, top, right, bottom]` in pixels of a picture (width, height) of the whole `page` (width, height in units) that holds these
    boxes, in units, with room around them; none where there are no boxes, or the part is not much less than all of it."""
    if not boxes:
        return None
    across, down = picture[0] / page[0], picture[1] / page[1]
    left = _down(min(box[0] for box in boxes) * across - MARGIN)
    top = _down(min(box[1] for box in boxes) * down - MARGIN)
    right = min(picture[0], _up(max(box[2] for box in boxes) * across + MARGIN))
    bottom = min(picture[1], _up(max(box[3] for box in boxes) * down + MARGIN))
    if left >= right or top >= bottom or (right - left) * (bottom - top) > MOST * picture[0] * picture[1]:
        return None
    return [left, top, right, bottom]


def _down(value: float) -> int:
    return max(0, math.floor(value / BLOCK) * BLOCK)


def _up(value: float) -> int:
    return max(0, math.ceil(value / BLOCK) * BLOCK)
