"""Where there is ink on a page, coarsely: what no region and no line covers is looked for on this map. Runs in the engine child (OpenCV).

Ink is what differs from the ground around it, not from the page's: shadows of photographed pages and coloured panels are no ink, and
light text on a dark bar is.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

CELL = 4
"""Pixels of the glance across a cell: 4.2 pt of A4, half a line of text."""
INK = 60
"""Grey levels, of 255, between ink and the page's ground: above scanner noise and yellowed paper, below pencil."""
AROUND = 41
"""Pixels across the neighbourhood whose mean is the ground: two lines of text."""
CONTRAST = 40
"""Grey levels, of 255, by which ink differs from it: above noise of scanners and JPEG, below pencil."""
DARK = 100
"""Grey level of the ground below which ink may be lighter than it. Paper beside a dark picture has a mean above it, half being paper."""
RULE, THIN = 24, 4
"""Pixels: a run of ink this long and thinner than that is a ruling line, which nobody reads."""
BAR, BAR_DARK, BAR_SHARE = 2.0, 150, 0.45
"""Length by width, grey level and share of pixels below it, from which something long at the page's edge may be a shadow and no text."""
STROKES, STROKE_CONTRAST = 1.5, 25.0
"""Changes between ink and ground along a line, for each of its widths, and grey levels between the two, from which it is text on dim paper: print
and handwriting of the corpus have 4.5 and more changes at 50 levels, and a shadow has none."""
FRAME, LEFT, LARGE = 0.5, 0.01, 32
"""Share of a side from which a run of ink that comes in from outside is a rule, share of a box with other ink from which it holds text, and
pixels of a side below which the paper around a letter is too narrow to tell."""
EDGE = 0.02
"""Share of a side that is left out: shadows of a scanner's lid and of a book's edge."""


def ink_of(darkest: NDArray[np.uint8]) -> float:
    """Share of pixels, 0..1, that differ from the page's ground by more than `INK`. The ground is the median grey; `darkest_of` a picture."""
    counts = cv2.calcHist([darkest], [0], None, [256], [0, 256]).reshape(-1).astype(np.float64)
    ground = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    return float(counts[np.abs(np.arange(256) - ground) > INK].sum() / counts.sum())


def ink_map(darkest: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Inked pixels of each `CELL` x `CELL` cell (0..16) of a picture (`darkest_of` it), without ruling lines; uint8 `(rows, columns)`.

    Cells that are cut off at the far edges are left out. OpenCV throughout: every page pays for this.
    """
    around = cv2.blur(darkest, (AROUND, AROUND), borderType=cv2.BORDER_REPLICATE)
    inked = _over(cv2.subtract(around, darkest), CONTRAST)
    if int(around.min()) < DARK:
        dark = cv2.threshold(around, DARK - 1, 1, cv2.THRESH_BINARY_INV)[1]
        inked = cv2.max(inked, cv2.min(_over(cv2.subtract(darkest, around), CONTRAST), dark))
    inked = cv2.subtract(inked, cv2.max(_rules(inked, (1, RULE), (THIN, RULE)), _rules(inked, (RULE, 1), (RULE, THIN))))
    rows, columns = inked.shape[0] // CELL, inked.shape[1] // CELL
    if not rows or not columns:
        return np.zeros((rows, columns), dtype=np.uint8)
    whole = cv2.multiply(inked[: rows * CELL, : columns * CELL], CELL * CELL)  # so that the mean of a cell is its count
    return np.asarray(cv2.resize(whole, (columns, rows), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _over(values: cv2.typing.MatLike, level: int) -> cv2.typing.MatLike:
    return cv2.threshold(values, level, 1, cv2.THRESH_BINARY)[1]


def inked_part(glance: NDArray[np.uint8], inked: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The part of the picture that holds its ink; all of it where there is none."""
    dense = inked >= 2
    y, x = (round(EDGE * size) for size in dense.shape)
    dense = dense[y : dense.shape[0] - y, x : dense.shape[1] - x]
    rows, columns = np.flatnonzero(dense.sum(axis=1) >= 2), np.flatnonzero(dense.sum(axis=0) >= 2)
    if not len(rows) or not len(columns):
        return glance
    top, bottom = (rows[0] + y) * CELL, (rows[-1] + y + 1) * CELL
    left, right = (columns[0] + x) * CELL, (columns[-1] + x + 1) * CELL
    return glance[top:bottom, left:right]


def _rules(inked: NDArray[np.uint8], long: tuple[int, int], thick: tuple[int, int]) -> NDArray[np.uint8]:
    """Runs as long as the kernel (height, width) `long` that are thinner than `thick`."""
    runs = cv2.morphologyEx(inked, cv2.MORPH_OPEN, np.ones(long, np.uint8))
    return np.asarray(cv2.subtract(runs, cv2.morphologyEx(inked, cv2.MORPH_OPEN, np.ones(thick, np.uint8))))


def is_bar(picture: NDArray[np.uint8], quad: NDArray[np.float32]) -> bool:
    """Whether a "line" (four corners `[4, 2]` in pixels of an RGB picture) at the picture's edge is the shadow of a book or a lid: much
    longer than wide, mostly dark, and without strokes. Columns of characters are less than half ink, but all of a photograph can be dim."""
    height, width = picture.shape[:2]
    low, high = _around(quad)
    across, down = high - low
    if max(across, down) < BAR * max(1, min(across, down)):
        return False
    near = EDGE * max(height, width)
    if low[0] > near and low[1] > near and high[0] < width - near and high[1] < height - near:
        return False
    part = picture[max(0, low[1]) : high[1], max(0, low[0]) : high[0]].max(axis=2)
    return bool(part.size) and float(np.mean(part < BAR_DARK)) > BAR_SHARE and not _has_strokes(part)


def is_frame(picture: NDArray[np.uint8], quad: NDArray[np.float32]) -> bool:
    """Whether a "line" (as for `is_bar`) about as wide as it is high holds nothing but rules that come in from outside: the corner of a table.

    The detector leaves paper around letters, so that no stroke of a text reaches the edge of its box.
    """
    low, high = _around(quad)
    part = picture[max(0, low[1]) : high[1], max(0, low[0]) : high[0]]
    down, across = part.shape[:2]
    if min(across, down) < LARGE or max(across, down) > BAR * min(across, down):
        return False
    grey = cv2.cvtColor(part, cv2.COLOR_RGB2GRAY)
    ink = _over(cv2.subtract(np.full_like(grey, int(np.median(grey))), grey), CONTRAST)
    edge = np.ones(ink.shape, dtype=bool)
    edge[2:-2, 2:-2] = False
    rules = np.zeros_like(ink)
    for kernel in ((1, round(FRAME * across)), (round(FRAME * down), 1)):
        runs = cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones(kernel, np.uint8))
        _, labels = cv2.connectedComponents(runs, connectivity=8)
        rules |= np.isin(labels, labels[edge & (runs > 0)]).astype(np.uint8)
    if not rules.any():
        return False
    around = cv2.dilate(rules, np.ones((5, 5), np.uint8))
    return float(np.mean((ink > 0) & (around == 0))) < LEFT


def _around(quad: NDArray[np.float32]) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Whole pixels (x, y) of the upper left and the lower right corner of the upright box around four corners."""
    return np.floor(quad.min(axis=0)).astype(int), np.ceil(quad.max(axis=0)).astype(int)


def _has_strokes(part: NDArray[np.uint8]) -> bool:
    """Whether a line (grey, across or down) changes between two levels as often as text does. Its middle tells: its edges may be paper."""
    along = cv2.GaussianBlur(part if part.shape[1] >= part.shape[0] else np.ascontiguousarray(part.T), (3, 3), 0)
    height, width = along.shape
    middle = along[height // 4 : max(height // 4 + 1, height - height // 4)]
    _, two = cv2.threshold(middle, 0, 1, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    if not 0 < int(two.sum()) < two.size:
        return False
    contrast = float(middle[two == 1].mean()) - float(middle[two == 0].mean())
    changes = float(np.mean(np.count_nonzero(np.diff(two, axis=1), axis=1)))
    return contrast >= STROKE_CONTRAST and changes >= STROKES * width / height
