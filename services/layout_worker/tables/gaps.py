"""Wide white in a detected line: one line for several cells is one thing only where the cells stand near each other.

Looked for in the picture, where white is white; the detector closes gaps of less than a letter or two. Only tables are cut there: in
running text a wide blank is nothing. Runs in the engine child (OpenCV).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median

import cv2
import numpy as np
from numpy.typing import NDArray

WIDE = 0.33
"""White between two letters, in heights of the detector's box (about 1.4 ems), from which they stand in two cells: blanks have 0.2."""
LETTER, APART = 0.7, 2.5
"""Heights of the widest letter, and times the usual white between letters that stand apart, one by one, from which these are in two cells: print
of fixed width, as on receipts, has 0.2 heights between letters, 0.46 beside an `i` or a full stop, and 0.7 at a blank."""
LONG = 2.0
"""Heights of the shortest line that may hold two cells."""
LEAST, RULE = 0.05, 0.15
"""Heights of the narrowest ink that is a text, and of one that may be a rule between two cells: that goes from edge to edge."""
HEIGHT = 24
"""Pixels of height at which a line is looked at."""
CORE = 0.12
"""Share of its height at the upper and the lower edge that is not looked at: rules and neighbours reach in there."""
DARK = 0.35
"""Share of the way from paper to the darkest ink from which a pixel is ink."""
FAINT = 40
"""Grey levels between paper and ink below which there is nothing to be told apart."""
MARGIN = 0.12
"""Heights of white that stay with the letters on either side."""


def find_gaps(grey: NDArray[np.uint8], quad: list[float]) -> list[list[float]]:
    """Wide white within a line of a grey picture (height, width), `[begin, end]` as shares of its length; `quad` is `[x0, y0, … y3]`."""
    width = math.hypot(quad[2] - quad[0], quad[3] - quad[1])
    height = math.hypot(quad[6] - quad[0], quad[7] - quad[1])
    if height < 4 or width < LONG * height:
        return []
    factor = HEIGHT / height
    columns = max(1, round(width * factor))
    corners = np.array(quad, dtype=np.float32).reshape(4, 2)
    wanted = np.array([[0, 0], [columns, 0], [columns, HEIGHT]], dtype=np.float32)
    line = cv2.warpAffine(
        grey, cv2.getAffineTransform(corners[:3], wanted), (columns, HEIGHT), borderMode=cv2.BORDER_REPLICATE
    )
    core = line[round(CORE * HEIGHT) : HEIGHT - round(CORE * HEIGHT)]
    darkest, paper = percentiles(core, 2, 75)
    if paper - darkest < FAINT:
        return []
    ink = core < paper - DARK * (paper - darkest)
    texts = [run for run in _runs(np.flatnonzero(ink.any(axis=0))) if _is_text(ink, *run)]
    margin, wide = MARGIN * HEIGHT, _wide(texts)
    return [
        [round((left[1] + margin) / columns, 4), round((right[0] - margin) / columns, 4)]
        for left, right in itertools.pairwise(texts)
        if right[0] - left[1] >= wide
    ]


def _wide(texts: Sequence[tuple[int, int]]) -> float:
    """Columns of white from which two texts of a line stand in two cells."""
    usual = [gap for a, b in itertools.pairwise(texts) if (gap := b[0] - a[1]) < WIDE * HEIGHT]
    if not usual or median(end - begin for begin, end in texts) > LETTER * HEIGHT:
        return WIDE * HEIGHT
    return max(WIDE * HEIGHT, APART * median(usual))


def percentiles(grey: NDArray[np.uint8], *shares: float) -> list[float]:
    """`np.percentile` of pixels (not none), interpolated as there; by their histogram, which takes a tenth of the time."""
    below = np.cumsum(np.bincount(grey.reshape(-1), minlength=256))
    found = []
    for share in shares:
        place = (grey.size - 1) * share / 100
        low, high = np.searchsorted(below, [math.floor(place), math.ceil(place)], side="right")
        found.append(float(low + (high - low) * (place - math.floor(place))))
    return found


def _is_text(ink: NDArray[np.bool_], begin: int, end: int) -> bool:
    if end - begin < LEAST * HEIGHT:
        return False
    return end - begin >= RULE * HEIGHT or not bool(ink[:, begin:end].any(axis=1).all())


def _runs(places: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Half-open runs of places, those of a letter and its neighbour as one: nearer than a tenth of a height."""
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > HEIGHT // 10)
    starts, ends = places[[0, *(breaks + 1)]], places[[*breaks, len(places) - 1]]
    return [(int(start), int(end) + 1) for start, end in zip(starts, ends, strict=True)]
