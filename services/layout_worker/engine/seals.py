"""Red stamps, found by colour and shape: rings, round or oval, and squares full of strokes. The layout network has no class for them.

Honest limits: black stamps are the affair of `rings`, a red logo in a ring is taken for a stamp, and so is a red square full of strokes.
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
MOST_OF_DETAIL = 0.98
"""The same where the picture is too small to be a page: a photograph of the stamp itself."""
SECTORS, FILLED = 24, 0.85
"""The ring is looked at in sectors; so many of them must hold red near the ellipse that the box defines."""
RING = (0.8, 1.06)
"""Radius, relative to that ellipse, between which the ring lies."""
CORNER = 0.02
"""Share of red outside the ellipse up to which it is a round thing; a red rectangle has about 0.2 there."""
SOLID = 0.55
"""Share of red inside from which it is a disc or a logo: stamps are strokes, with a third or less."""
SQUARE, TURNED = 1.35, 20.0
"""Of a square stamp: one side by the other at most, and degrees by which it may be turned."""
FILL = (0.2, 0.93)
"""Share of ink in it: a frame with thin characters has a quarter, a solid square with thin characters left out nine tenths."""
SIDE, DRAWN = 0.12, 0.8
"""How deep into it its sides are looked for, and how much of each must be there."""
CHANGES = 4.8
"""Changes between ink and paper along a line across it, on average: four characters have 5.7 and more, two letters of a logo up to 4.5."""
PAPER = 150
"""Darkest channel, of 255, that half of what is not red inside has at least: a stamp stands on paper, a photo's reds don't."""
DIM, EVEN = 90, 30
"""The same for paper in the shade, which is told from other things by its evenness: half of it is within so many levels."""


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


def find_seals(picture: NDArray[np.uint8], *, detail: bool = False) -> list[list[float]]:
    """Boxes of stamps in pixels of an RGB picture, uint8 (height, width, 3); top to bottom. `detail`: the picture may show little else."""
    mask = red(picture)
    if not mask.any():
        return []
    long_side = max(mask.shape)
    reach = max(3, round(long_side / 160))  # strokes of one stamp are nearer to each other than this
    joined = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((reach, reach), np.uint8))
    left, top, wide, high = cv2.boundingRect(
        joined
    )  # most of a page is not red, and labelling all of it costs as much as the rest
    count, _, stats, _ = cv2.connectedComponentsWithStats(joined[top : top + high, left : left + wide], connectivity=8)
    most = (MOST_OF_DETAIL if detail else MOST) * long_side
    found = []
    for index in range(1, count):
        x, y, w, h = (int(value) + begin for value, begin in zip(stats[index, :4], (left, top, 0, 0), strict=True))
        if not (LEAST * long_side <= min(w, h) and max(w, h) <= most and 0.5 <= w / h <= 2.0):
            continue
        box = [x, y, x + w, y + h]
        part = mask[y : y + h, x : x + w]
        if (_is_ring(part) and _on_paper(picture, mask, box)) or _is_square(part):
            found.append(box)
    return [[float(v) for v in box] for box in sorted(found, key=lambda b: (b[1], b[0]))]


def _is_square(mask: NDArray[np.bool_]) -> bool:
    """Whether red ink is a square stamp: a frame or a solid square, turned a little at most, that strokes of characters fill.

    A frame alone, a box with a sign, a logo with two letters and a red cell of a table have far fewer changes between ink and paper.
    """
    points = cv2.findNonZero(mask.astype(np.uint8))
    if points is None:
        return False
    centre, (wide, high), angle = cv2.minAreaRect(points)
    if min(wide, high) < 12 or max(wide, high) > SQUARE * min(wide, high):
        return False
    angle = (angle + 45) % 90 - 45  # of the side that is nearest to flat
    if abs(angle) > TURNED:
        return False
    size = (int(mask.shape[1]), int(mask.shape[0]))
    upright = cv2.warpAffine(mask.astype(np.uint8), cv2.getRotationMatrix2D(centre, angle, 1.0), size)
    rows, columns = np.flatnonzero(upright.any(axis=1)), np.flatnonzero(upright.any(axis=0))
    face = upright[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    if not FILL[0] <= float(face.mean()) <= FILL[1] or not _has_sides(face):
        return False
    edge_y, edge_x = round(0.15 * face.shape[0]), round(0.15 * face.shape[1])
    inner = face[edge_y : face.shape[0] - edge_y, edge_x : face.shape[1] - edge_x].astype(np.int8)
    if inner.size == 0:
        return False
    across = np.count_nonzero(np.diff(inner, axis=1), axis=1)
    down = np.count_nonzero(np.diff(inner, axis=0), axis=0)
    return bool(min(np.mean(across), np.mean(down)) >= CHANGES)


def _has_sides(face: NDArray[np.uint8]) -> bool:
    """Whether ink goes along all four sides, as far as wear lets it."""
    depth = max(2, round(SIDE * min(face.shape)))
    sides = (
        face[:depth].any(axis=0),
        face[-depth:].any(axis=0),
        face[:, :depth].any(axis=1),
        face[:, -depth:].any(axis=1),
    )
    return all(float(side.mean()) >= DRAWN for side in sides)


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
    # The blurred edge of the ink is not ground, as far as there is other ground.
    near = cv2.dilate(stained.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    ground = part[~near if np.count_nonzero(~near) > 0.1 * near.size else ~stained].min(axis=-1)
    low, level, high = np.percentile(ground, [25, 50, 75])
    return bool(level >= PAPER or (level >= DIM and high - low <= EVEN))
