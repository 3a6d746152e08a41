"""Black stamps on scans, found by shape: a circle of ink with writing inside, on the same paper inside and outside.

Black has no colour to go by, so only what is plain is taken: round, closed, of a stamp's size. Oval and square black stamps are not found, nor are
those that lie over print. Charts and drawings have circles too: there is ink outside or nothing inside, and pages with text of their own are
not looked at at all. Runs in the engine child (OpenCV).
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from services.layout_worker.engine.seals import LEAST, MOST
from shared.models.pictures import brightest_of

SIDE = 400
"""Pixels of the long side on which circles are looked for; 12 ms a page, a quarter of what 800 px take."""
ROUND = 0.8
"""How perfect a circle is, 0..1 (OpenCV's measure), to be looked at more closely."""
EDGE = 200.0
"""Gradient from which a pixel is an edge, in the units of OpenCV's Scharr filter; a faint ring on white paper has 400."""
SECTORS, CLOSED = 36, 0.9
"""Ink on the circle in so many of its sectors: worn stamps have gaps."""
BAND = 0.1
"""How far from the circle its ring may lie, relative to its radius."""
INK = 40
"""Grey levels below the paper from which a pixel is ink; a thin ring on a picture this small is grey."""
WRITING = (0.03, 0.4)
"""Share of ink inside: three short words have a tenth. A letter O, a wheel or a ring of a binder has nothing there, a disc all."""
OUTSIDE = 0.25
"""Share of ink around it, up to a quarter of its radius away."""
ALIKE = 40
"""Grey levels between the paper inside and outside; a traffic sign or a button differs more."""


def find_rings(picture: NDArray[np.uint8]) -> list[list[float]]:
    """Boxes of black stamps in pixels of an RGB picture, uint8 (height, width, 3); top to bottom."""
    height, width = picture.shape[:2]
    scale = min(1.0, SIDE / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    grey = brightest_of(
        np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA))
    )  # coloured ink is paper here
    long_side = max(size)
    circles = cv2.HoughCircles(
        cv2.GaussianBlur(grey, (3, 3), 0),
        cv2.HOUGH_GRADIENT_ALT,
        1.5,
        minDist=LEAST * long_side,
        param1=EDGE,
        param2=ROUND,
        minRadius=math.ceil(LEAST * long_side / 2),
        maxRadius=int(MOST * long_side / 2),
    )
    if circles is None:
        return []
    found = [circle[:3].tolist() for circle in circles.reshape(-1, circles.shape[-1])]
    boxes = [
        [
            max(0.0, (x - r) / scale),
            max(0.0, (y - r) / scale),
            min(width, (x + r) / scale),
            min(height, (y + r) / scale),
        ]
        for x, y, r in found
        if is_stamp(grey, x, y, r)
    ]
    return sorted(boxes, key=lambda box: (box[1], box[0]))


def is_stamp(grey: NDArray[np.uint8], x: float, y: float, radius: float) -> bool:
    """Whether a circle in a grey picture is a ring of ink around writing."""
    reach = math.ceil(1.25 * radius)
    left, top = round(x) - reach, round(y) - reach
    if left < 0 or top < 0 or left + 2 * reach >= grey.shape[1] or top + 2 * reach >= grey.shape[0]:
        return False
    part = grey[top : top + 2 * reach + 1, left : left + 2 * reach + 1].astype(np.int16)
    rows, columns = np.mgrid[0 : part.shape[0], 0 : part.shape[1]]
    dx, dy = columns - (x - left), rows - (y - top)
    distance = np.hypot(dx, dy) / radius
    inside, outside = distance < 1 - 1.5 * BAND, (distance > 1 + 1.5 * BAND) & (distance < 1.25)
    paper_in, paper_out = (float(np.percentile(part[where], 90)) for where in (inside, outside))
    if abs(paper_in - paper_out) > ALIKE:
        return False
    ink = part < min(paper_in, paper_out) - INK
    on_ring = ink & (np.abs(distance - 1) <= BAND)
    sector = ((np.arctan2(dy, dx) + math.pi) / (2 * math.pi) * SECTORS).astype(int) % SECTORS
    closed = len(np.unique(sector[on_ring])) >= CLOSED * SECTORS
    return bool(closed and WRITING[0] <= ink[inside].mean() <= WRITING[1] and ink[outside].mean() <= OUTSIDE)
