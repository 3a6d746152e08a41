"""Pixels of text lines: cut from the page, set upright, scaled to the model's height, split where they are too wide.

All pictures are uint8 RGB of shape (height, width, 3). A quad is float32 of shape (4, 2): the corners of a line in pixels
of the page picture, clockwise from the top left of the text.
"""

from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
Quad = npt.NDArray[np.float32]

TALL = 1.5
"""A line this much higher than wide runs down the page and is turned; the ratio PP-OCR was trained with."""

MAX_WIDTH = 1920
"""Pixels at the model's height beyond which a line is split. A4 at 10 pt is about 1,450 squeezed; more than this is rare, and
each new width is another input shape the engine keeps memory for."""

WIDEST = 5 * MAX_WIDTH
"""A line of 200 to 250 characters. What is longer for its height is a rule that was taken for text, and must not cost a page's work."""

FLAT = 8
"""Grey levels of 255. Paper without noise has 0 to 3 after JPEG; the faintest print that is legible on it has 20 and more; noisy paper has
more than this too and is read, which costs time and no text."""

_STRAIGHT = 0.75
"""Pixels a corner may stand off its upright box for a line to be cut without resampling."""
_SHRINK = 2.0
"""From this factor on, shrinking averages instead of interpolating (interpolation would skip pixels)."""
_BLANK = 0.2
"""A column is blank when its contrast is below this share of the line's contrast."""
_WORD_GAP = 0.14
"""Blank columns this wide (in line heights, squeezed) stand between words and not between letters."""
_SHORTEST = 0.6
"""Least width of a piece, in `max_width`: between this and 1 there is nearly always a gap between words."""
_LAST_TWO = 1.7
"""A rest of up to this many `max_width` is cut near its middle, so that no sliver is left."""


def quad_of_box(x0: float, y0: float, x1: float, y1: float) -> Quad:
    """The corners of an upright box."""
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=np.float32)


def sides(quad: Quad) -> tuple[float, float]:
    """Width and height of a quad along its own axes, the longer of opposite sides each, in pixels."""
    top, right, bottom, left = (float(np.linalg.norm(quad[i] - quad[(i + 1) % 4])) for i in range(4))
    return max(top, bottom), max(left, right)


def is_tall(quad: Quad) -> bool:
    """Whether the text runs down (or up) the page."""
    width, height = sides(quad)
    return height >= TALL * max(width, 1.0)


def cut(picture: Pixels, quad: Quad) -> Pixels:
    """The pixels of a quad, upright, at their natural size (at least 1x1). What lies outside the page is its edge repeated."""
    page_height, page_width = picture.shape[:2]
    left, top = np.min(quad, axis=0)
    right, bottom = np.max(quad, axis=0)
    box = quad_of_box(float(left), float(top), float(right), float(bottom))
    if float(np.abs(quad - box).max()) <= _STRAIGHT:
        x0 = int(np.clip(round(float(left)), 0, page_width - 1))
        y0 = int(np.clip(round(float(top)), 0, page_height - 1))
        x1 = int(np.clip(round(float(right)), x0 + 1, page_width))
        y1 = int(np.clip(round(float(bottom)), y0 + 1, page_height))
        return np.ascontiguousarray(picture[y0:y1, x0:x1])
    natural_width, natural_height = sides(quad)
    width, height = max(1, round(natural_width)), max(1, round(natural_height))
    # Only the neighbourhood is handed over: OpenCV's warp can't address pictures of more than 32,767 pixels a side.
    x0, y0 = max(0, int(left) - 2), max(0, int(top) - 2)
    x1, y1 = min(page_width, int(right) + 3), min(page_height, int(bottom) + 3)
    if x1 <= x0 or y1 <= y0:
        return np.ascontiguousarray(picture[:1, :1])
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    source = np.asarray(quad - np.array([x0, y0], dtype=np.float32), dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(source, target)
    warped = cv2.warpPerspective(
        picture[y0:y1, x0:x1], matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.ascontiguousarray(warped, dtype=np.uint8)


def turn(crop: Pixels, quarters: int) -> Pixels:
    """Turned counter-clockwise by quarters: 1 sets text upright that runs down the page, 3 text that runs up."""
    return np.ascontiguousarray(np.rot90(crop, quarters))


def scaled(crop: Pixels, height: int, squeeze: float) -> Pixels:
    """The crop at the model's height, its width the natural one times `squeeze`, between 1 pixel and `WIDEST`."""
    width = min(WIDEST, max(1, round(crop.shape[1] * height / crop.shape[0] * squeeze)))
    shrunk = crop.shape[0] >= height * _SHRINK
    resized = cv2.resize(crop, (width, height), interpolation=cv2.INTER_AREA if shrunk else cv2.INTER_LINEAR)
    return np.ascontiguousarray(resized, dtype=np.uint8)


def is_blank(crop: Pixels) -> bool:
    """Whether there is no ink: nowhere in the crop does a channel differ by more than `FLAT` from itself elsewhere."""
    # Nearly every crop has ink, and a sixteenth of its pixels shows it.
    return _is_flat(crop[::4, ::4]) and _is_flat(crop)


def _is_flat(crop: Pixels) -> bool:
    flat = crop.reshape(-1, 3)
    return bool((flat.max(axis=0).astype(np.int16) - flat.min(axis=0) <= FLAT).all())


def pieces(crop: Pixels, max_width: int = MAX_WIDTH) -> list[tuple[Pixels, bool]]:
    """A scaled crop in pieces of at most `max_width` columns, cut at blank columns, each with "a word gap follows".

    Where no column is blank in the range, the one with the least contrast is taken; nothing is left out or shown twice.
    """
    height, width = crop.shape[:2]
    if width <= max_width:
        return [(crop, False)]
    contrast = _contrast(crop)
    cuts: list[int] = [0]
    gaps: list[bool] = []
    while (rest := width - cuts[-1]) > max_width:
        if rest <= _LAST_TWO * max_width:
            low, high = max(rest - max_width, int(0.3 * rest)), min(max_width, int(0.7 * rest))
        else:
            low, high = int(_SHORTEST * max_width), max_width
        column, gap = _gap(contrast, cuts[-1] + max(1, low), cuts[-1] + max(1, high))
        cuts.append(column)
        gaps.append(gap >= _WORD_GAP * height)
    cuts.append(width)
    return [
        (np.ascontiguousarray(crop[:, left:right]), follows)
        for (left, right), follows in zip(pairwise(cuts), [*gaps, False], strict=True)
    ]


def _contrast(crop: Pixels) -> npt.NDArray[np.float32]:
    """Per column the range of brightness, 0..1 of the whole crop's."""
    grey = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY).astype(np.float32)
    by_column = grey.max(axis=0) - grey.min(axis=0)
    return np.asarray(by_column / max(1.0, float(by_column.max())), dtype=np.float32)


def _gap(contrast: npt.NDArray[np.float32], low: int, high: int) -> tuple[int, int]:
    """Column in `[low, high]` to cut at, and the width of the blank run around it (0 where there is none)."""
    blank = contrast[low : high + 1] < _BLANK
    edges = np.flatnonzero(np.diff(np.concatenate(([0], blank.astype(np.int8), [0]))))
    runs = edges.reshape(-1, 2)
    if len(runs) == 0:
        return low + int(np.argmin(contrast[low : high + 1])), 0
    start, end = max(runs.tolist(), key=lambda run: (run[1] - run[0], run[1]))
    return low + (start + end) // 2, end - start
