"""How far a scanned page is turned, before anything on it is known: the slope at which its ink falls into rows, or into columns.

Ink is summed along lines of a slope; at the right one the sums of text jump between lines and the white between them. Runs in the engine
child (OpenCV) on the page at a glance.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

LARGEST, COARSE, FINE = 5.5, 0.5, 0.1
"""Degrees: how far is looked, and the steps."""
POINTS = 20_000
"""Inked pixels that are looked at, chosen without a pattern (each eighth of a raster would make rows of its own), but always the same."""
LEAST_POINTS = 1_500
"""Fewer are no page: the picture of a line or two, whose slope says nothing of a page."""
AROUND, CONTRAST = 15, 30
"""Pixels across the neighbourhood whose mean is the ground, and grey levels below it, of 255, of ink."""
SHARPER, PEAK = 1.25, 1.25
"""Times the jumps at slope 0 that another slope must have, and again times those of most slopes: of pages without a direction (photos,
drawings) none has."""


def skew_of(glance: NDArray[np.uint8]) -> float:
    """Slope (dy by dx, y down) of the text lines of an RGB picture `[height, width, 3]` with a long side of some 800 pixels; 0 where it is
    level, or where nothing says how it is turned."""
    grey = cv2.cvtColor(glance, cv2.COLOR_RGB2GRAY)
    inked = cv2.subtract(cv2.blur(grey, (AROUND, AROUND), borderType=cv2.BORDER_REPLICATE), grey) > CONTRAST
    edge = max(grey.shape) // 40
    inked[:edge], inked[-edge:], inked[:, :edge], inked[:, -edge:] = False, False, False, False
    rows, columns = np.nonzero(inked)
    if len(rows) < LEAST_POINTS:
        return 0.0
    if len(rows) > POINTS:
        chosen = np.random.default_rng(0).choice(len(rows), POINTS, replace=False)
        rows, columns = rows[chosen], columns[chosen]
    x, y = columns.astype(np.float32), rows.astype(np.float32)
    best = max((_best(x, y, sign) for sign in (1.0, -1.0)), key=lambda found: found[1])
    return math.tan(math.radians(best[0])) if best[1] >= SHARPER and 0 < abs(best[0]) <= LARGEST else 0.0


def _best(x: NDArray[np.float32], y: NDArray[np.float32], sign: float) -> tuple[float, float]:
    """The angle in degrees at which ink is sharpest, in rows (`sign` 1) or in columns (-1), and by how much more so than at 0."""
    along, across = (x, y) if sign > 0 else (y, x)

    def sharpness(angle: float) -> float:
        at = across - np.float32(sign * math.tan(math.radians(angle))) * along
        sums = np.bincount((at - at.min()).astype(np.intp)).astype(np.float64)
        return float(np.square(np.diff(sums)).sum())

    angles = np.arange(-LARGEST, LARGEST + COARSE / 2, COARSE)
    coarse = [sharpness(angle) for angle in angles]
    near = angles[int(np.argmax(coarse))]
    best = max(np.arange(near - COARSE, near + COARSE + FINE / 2, FINE), key=sharpness)
    return round(float(best), 2), sharpness(float(best)) / max(1.0, sharpness(0.0), PEAK * float(np.median(coarse)))


def straightened(picture: NDArray[np.uint8], slope: float) -> NDArray[np.uint8]:
    """The picture turned about its middle so that lines of that slope run level; same size, its edges drawn out into the corners."""
    height, width = picture.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), math.degrees(math.atan(slope)), 1.0)
    return np.asarray(
        cv2.warpAffine(picture, turn, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    )
