"""From the page as MuPDF runs it without rotation to the page as displayed.

MuPDF has already applied CropBox ∩ MediaBox, UserUnit and the flip to a top-left origin; what is left is the rotation. Its own
rotation matrix forgets UserUnit, so the three turns are written out here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shared.contracts.document import rounded


class Frame:
    """The displayed page: `width` and `height` in points after a clockwise `rotation` of 0, 90, 180 or 270 degrees."""

    def __init__(self, unrotated_width: float, unrotated_height: float, rotation: int) -> None:
        self.unrotated = (unrotated_width, unrotated_height)
        self.rotation = rotation % 360
        turned = self.rotation in (90, 270)
        self.width = rounded(unrotated_height if turned else unrotated_width)
        self.height = rounded(unrotated_width if turned else unrotated_height)

    def box(self, unrotated: Sequence[float]) -> list[float]:
        """A box as displayed, with its corners in order, not clipped, two decimals."""
        x0, y0, x1, y1 = unrotated
        w, h = self.unrotated
        if self.rotation == 90:
            x0, y0, x1, y1 = h - y1, x0, h - y0, x1
        elif self.rotation == 180:
            x0, y0, x1, y1 = w - x1, h - y1, w - x0, h - y0
        elif self.rotation == 270:
            x0, y0, x1, y1 = y0, w - x1, y1, w - x0
        if x0 > x1 or y0 > y1:
            x0, y0, x1, y1 = min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
        return [rounded(x0), rounded(y0), rounded(x1), rounded(y1)]

    def clipped(self, box: Sequence[float]) -> list[float]:
        """The part of a displayed box that lies on the page; an empty box at the edge where nothing does."""
        x0, y0, x1, y1 = box
        return [
            min(max(x0, 0.0), self.width),
            min(max(y0, 0.0), self.height),
            min(max(x1, 0.0), self.width),
            min(max(y1, 0.0), self.height),
        ]

    def angle(self, direction: Sequence[float]) -> float:
        """Degrees clockwise of a writing direction (unit vector, y down) on the displayed page, in (-180, 180]."""
        degrees = math.degrees(math.atan2(direction[1], direction[0])) + self.rotation
        degrees = (degrees + 180.0) % 360.0 - 180.0
        return 180.0 if degrees == -180.0 else rounded(degrees)
