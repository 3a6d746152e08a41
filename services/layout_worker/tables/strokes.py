"""Ruling lines in a picture, so that scanned tables have their drawn grid too. Runs in the engine child (OpenCV).

The picture is turned upright by the slope of the page's text lines, at half the picture's resolution; then runs of ink that are long across,
or long down, are rules. Letters are neither: their strokes are shorter than `LEAST_ACROSS` and `LEAST_DOWN` and touch no rule.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from services.layout_worker.found import Strokes
from shared.models.pictures import brightest_of

LEAST_ACROSS, LEAST_DOWN = 1 / 45, 1 / 90
"""Length of the shortest rule as a share of the page's long side: 19 pt and 9.4 pt of A4. A rule goes on through all columns it is drawn
for, so the first is no limit for cells; the second is less than a row and more than a capital of 12 pt."""
MARGIN = 0.02
"""Share of the box's size that is looked at around it."""
AROUND, DARKER = 15, 14
"""Pixels of the halved picture around a pixel, and grey levels below their mean, from which it is ink: a hairline of a 200 dpi scan has 40."""
LEVEL = 0.0005
"""Slope below which nothing is turned: half a pixel over a table."""
STEEPEST = math.tan(math.radians(6.0))
"""Slope of the lines of a skewed page, at most."""
LONG = 5.0
"""Times its height from which on a line's slope means something."""
ENOUGH = 1_000
"""Pixels of all long lines together from which on they say how the page is turned."""
THICK = 6
"""Pixels of the halved picture: thicker runs are bars and pictures."""
NARROW = THICK
"""Pixels of the halved picture over which it is lighter on both sides of a rule. White letters on a dark ground stand 8 from its edge."""
SMALL = 1_200
"""Pixels of a picture's long side up to which it is looked at as it is."""
SOLID = 0.8
"""Share of a run's columns that have ink from which it is drawn through: leaders of dots have 0.6 to 0.7, rules of generated scans 1.0."""
MOST = 2_000
"""Rules of one picture: more is a map or a photo."""


def find_strokes(picture: NDArray[np.uint8], box: list[float], slope: float) -> Strokes | None:
    """Rules in and around a box of an RGB picture (height, width, 3) whose lines fall by `slope`; none where there are not
    two across."""
    height, width = picture.shape[:2]
    dx, dy = MARGIN * (box[2] - box[0]) + 8, MARGIN * (box[3] - box[1]) + 8
    x0, y0 = max(0, int(box[0] - dx)), max(0, int(box[1] - dy))
    x1, y1 = min(width, int(box[2] + dx) + 1), min(height, int(box[3] + dy) + 1)
    if min(x1 - x0, y1 - y0) < 32:
        return None
    factor = 2 if max(height, width) > SMALL else 1
    part = picture[y0:y1, x0:x1]
    if factor == 2:
        part = cv2.resize(part, (max(1, (x1 - x0) // 2), max(1, (y1 - y0) // 2)), interpolation=cv2.INTER_AREA)
    # By its brightest channel a coloured ground is light, so that a rule on it, or at its edge, stands out.
    greys = [np.asarray(cv2.cvtColor(part, cv2.COLOR_RGB2GRAY), dtype=np.uint8), brightest_of(part)]
    inks = [_darker(cv2.subtract(cv2.blur(grey, (AROUND, AROUND)), grey)) for grey in greys]
    ink = _turned(inks[0], slope)
    long_side = max(height, width) / factor
    across = _runs(_turned(_hollow(greys, inks, (1, NARROW)), slope), (max(12, round(LEAST_ACROSS * long_side)), 1))
    down = _runs(_turned(_hollow(greys, inks, (NARROW, 1)), slope), (1, max(8, round(LEAST_DOWN * long_side))))
    if len(across) < 2 or len(across) + len(down) > MOST:
        return None
    dotted = [not _is_solid(ink, run) for run in across]
    return Strokes(
        bbox=[float(x0), float(y0), float(x1), float(y1)],
        slope=slope if abs(slope) > LEVEL else 0.0,
        across=[_placed(run, factor, x0, y0) for run, broken in zip(across, dotted, strict=True) if not broken],
        down=[_placed(run, factor, x0, y0) for run in down],
        dots=[_placed(run, factor, x0, y0) for run, broken in zip(across, dotted, strict=True) if broken],
    )


def _turned(ink: NDArray[np.uint8], slope: float) -> NDArray[np.uint8]:
    """Upright."""
    if abs(slope) <= LEVEL:
        return ink
    height, width = ink.shape
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), math.degrees(math.atan(slope)), 1.0)
    return np.asarray(cv2.warpAffine(ink, turn, (width, height), flags=cv2.INTER_NEAREST))


def _darker(by: cv2.typing.MatLike) -> NDArray[np.uint8]:
    """1 where it is darker `by` more than `DARKER`."""
    return np.asarray(cv2.threshold(by, DARKER, 1, cv2.THRESH_BINARY)[1], dtype=np.uint8)


def _hollow(greys: list[NDArray[np.uint8]], inks: list[NDArray[np.uint8]], size: tuple[int, int]) -> NDArray[np.uint8]:
    """1 where one of the pictures has ink that is darker than both sides within `size` pixels (across, down).

    A rule is, also at the edge of a dark ground, whose own edge is ink too.
    """
    kernel = np.ones(size[::-1], np.uint8)
    found = [
        cv2.min(ink, _darker(cv2.morphologyEx(grey, cv2.MORPH_BLACKHAT, kernel)))
        for grey, ink in zip(greys, inks, strict=True)
    ]
    return np.asarray(cv2.max(*found))


def _is_solid(ink: NDArray[np.uint8], run: tuple[int, int, int, int]) -> bool:
    x, y, width, height = run
    return float(ink[y : y + height, x : x + width].any(axis=0).mean()) >= SOLID


def _placed(run: tuple[int, int, int, int], factor: int, left: int, top: int) -> list[float]:
    x, y, width, height = run
    return [
        float(left + factor * v) if i % 2 == 0 else float(top + factor * v)
        for i, v in enumerate((x, y, x + width, y + height))
    ]


def _runs(ink: NDArray[np.uint8], kernel: tuple[int, int]) -> list[tuple[int, int, int, int]]:
    """Boxes (x, y, width, height) of what is at least as long as the kernel. A rule may waver by a pixel and have gaps of two."""
    across = kernel[0] > 1
    thicker = cv2.dilate(ink, np.ones((2, 3) if across else (3, 2), np.uint8))
    opened = cv2.morphologyEx(thicker, cv2.MORPH_OPEN, np.ones(kernel[::-1], np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(opened, connectivity=8)
    return sorted((int(x), int(y), int(w), int(h)) for x, y, w, h, _ in stats[1:count] if (h if across else w) <= THICK)


def slope_of(quads: list[list[float]], by_ink: float = 0.0) -> float:
    """Fall, dy by dx, of the upper edges of long lines, quads `[x0, y0, … y3]`: the median by squares of their lengths, as corners are whole
    pixels and 60 of them say nothing of half a degree. `by_ink` where they are less than `ENOUGH` pixels; 0 beyond `STEEPEST`."""
    long = sorted(
        ((quad[3] - quad[1]) / (quad[2] - quad[0]), quad[2] - quad[0])
        for quad in quads
        if quad[2] - quad[0] > LONG * max(1.0, math.hypot(quad[6] - quad[0], quad[7] - quad[1]))
    )
    slope = by_ink
    if sum(length for _, length in long) >= ENOUGH:
        weights = np.cumsum([length**2 for _, length in long])
        slope = long[int(np.searchsorted(weights, 0.5 * weights[-1]))][0]
    return round(slope, 5) if abs(slope) <= STEEPEST else 0.0
