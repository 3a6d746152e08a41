"""Red stamps: round or oval, a ring of red on paper, found by colour and shape; the layout network has no class for them.

Honest limits: black stamps and square ones are not found here, and a red logo in a ring is taken for a stamp.
Runs in the engine child (OpenCV).
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

RED_OVER = 45
"""Red channel minus the larger of green and blue, of 255, from which a pixel is red; blurred stamps on scans have 60 and more."""
HUE = 0.6
"""Difference of green and blue, by the red's lead over both, up to which it is red: not orange, not magenta."""
PINK_OVER, DARK = 20, 110
"""The same for the blurred edges of a stamp that is known to be there; a pixel whose brightest channel is below `DARK` is print."""
LEAST, MOST = 0.045, 0.4
"""Diameter as a share of the picture's long side: 13 mm to 12 cm on A4. Stamps are 3 to 5 cm, small ones 2 cm."""
SECTORS, FILLED = 24, 0.85
"""The ring is looked at in sectors; so many of them must hold red near the ellipse that the box defines."""
RING = (0.8, 1.06)
"""Radius, relative to that ellipse, between which the ring lies."""
CORNER = 0.02
"""Share of red outside the ellipse up to which it is a round thing; a red rectangle has about 0.2 there."""
SOLID = 0.55
"""Share of red inside from which it is a disc or a logo: stamps are strokes, with a third or less."""
PAPER = 150
"""Darkest channel, of 255, that half of what is not red inside has at least: a stamp stands on paper, a photo's reds don't."""


_MOST_APART = np.floor(np.arange(256) * HUE).astype(np.uint8)


def red(picture: NDArray[np.uint8], over: int = RED_OVER) -> NDArray[np.bool_]:
    """Which pixels of an RGB picture (height, width, 3) are red: bool (height, width)."""
    first, second, third = cv2.split(picture)
    lead = cv2.subtract(first, cv2.max(second, third))  # saturates at 0
    apart = cv2.absdiff(second, third)
    result: NDArray[np.bool_] = (lead > over) & (apart <= cv2.LUT(lead, _MOST_APART))
    return result


def washed(picture: NDArray[np.uint8], seals: list[list[float]]) -> NDArray[np.uint8]:
    """The picture with the red of its seals turned into paper, so that print under a stamp is seen as whole lines.

    `picture` is uint8 RGB (height, width, 3), `seals` are boxes in its pixels; the picture itself is left as it is.
    """
    if not seals:
        return picture
    clean = picture.copy()
    height, width = picture.shape[:2]
    for x0, y0, x1, y1 in seals:
        margin = int(0.05 * (x1 - x0)) + 2
        part = clean[
            max(0, int(y0) - margin) : min(height, int(y1) + margin),
            max(0, int(x0) - margin) : min(width, int(x1) + margin),
        ]
        if part.size:
            stained = cv2.dilate(red(part, PINK_OVER).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
            stained &= part.max(axis=2) > DARK
            part[stained] = np.percentile(part.reshape(-1, 3), 90, axis=0).astype(np.uint8)
    return clean


def find_seals(picture: NDArray[np.uint8]) -> list[list[float]]:
    """Boxes of stamps in pixels of an RGB picture, uint8 (height, width, 3); top to bottom."""
    mask = red(picture)
    if not mask.any():
        return []
    long_side = max(mask.shape)
    reach = max(3, round(long_side / 160))  # strokes of one stamp are nearer to each other than this
    joined = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((reach, reach), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    boxes = [
        [int(x), int(y), int(x + w), int(y + h)]
        for x, y, w, h, _ in stats[1:count]
        if LEAST * long_side <= min(w, h) and max(w, h) <= MOST * long_side and 0.5 <= w / h <= 2.0
    ]
    round_ones = [
        box for box in boxes if _is_ring(mask[box[1] : box[3], box[0] : box[2]]) and _on_paper(picture, mask, box)
    ]
    return [[float(v) for v in box] for box in sorted(round_ones, key=lambda b: (b[1], b[0]))]


def _is_ring(mask: NDArray[np.bool_]) -> bool:
    height, width = mask.shape
    ys, xs = np.nonzero(mask)
    dx = (xs + 0.5 - width / 2) / (width / 2)
    dy = (ys + 0.5 - height / 2) / (height / 2)
    radius = np.hypot(dx, dy)
    on_ring = (radius > RING[0]) & (radius < RING[1])
    sectors = np.unique(((np.arctan2(dy, dx)[on_ring] + np.pi) / (2 * np.pi) * SECTORS).astype(int) % SECTORS)
    outside = np.count_nonzero(radius >= RING[1] + 0.04) / max(1, len(radius))
    return bool(len(sectors) >= FILLED * SECTORS and outside <= CORNER)


def _on_paper(picture: NDArray[np.uint8], mask: NDArray[np.bool_], box: list[int]) -> bool:
    part, stained = picture[box[1] : box[3], box[0] : box[2]], mask[box[1] : box[3], box[0] : box[2]]
    if stained.mean() > SOLID:
        return False
    return float(np.median(part[~stained].min(axis=-1))) >= PAPER
