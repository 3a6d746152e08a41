"""The upright frame of a skewed page: turned about the page's middle, so that its text lines run level.

Layouts, readings and documents have boxes of the page as displayed. On a skewed scan such a box is the hull of a turned rectangle: lines of
500 points at 3 degrees are 26 points higher than they are, and columns reach into each other. Whoever asks what stands beside or below
what turns the boxes upright first, and back afterwards. Pure arithmetic; units are those of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEVEL = 0.004
"""Slope (dy by dx) up to which a page counts as level: 0.23 degrees, 2 points over the width of A4."""
STEEPEST = math.tan(math.radians(6.0))
"""Slope up to which a page counts as skewed: feeders and hands do not turn paper further, what is steeper is set so."""
SLENDER = 80.0
"""Times its height from which on a rectangle is too long to be a line of text: the box was no hull of one (a rule, a box that cuts its text
off) and keeps its size. Lines of 7 points across A4 have 70."""


class Upright:
    """A page of `width` x `height` whose lines fall by `slope` (dy by dx, y down), and the same page turned upright.

    With `room` the upright page is so much larger that all of the page lies on it (`width`, `height` are then its size); without, it has
    the page's own size and middle, and corners lie outside.
    """

    def __init__(self, slope: float, width: float, height: float, *, room: bool = False) -> None:
        angle = math.atan(slope)
        self._cos, self._sin = math.cos(angle), math.sin(angle)
        self._middle = width / 2, height / 2
        self.width, self.height = width, height
        if room:
            self.width = width * self._cos + height * abs(self._sin)
            self.height = height * self._cos + width * abs(self._sin)
        self._upright_middle = self.width / 2, self.height / 2

    def into(self, box: Sequence[float]) -> list[float]:
        """A box of the page, the hull of a rectangle that is turned with the text, as that rectangle is when upright."""
        wide, high = box[2] - box[0], box[3] - box[1]
        sin, square = abs(self._sin), self._cos**2 - self._sin**2
        width, height = (wide * self._cos - high * sin) / square, (high * self._cos - wide * sin) / square
        if min(width, height) * SLENDER < max(width, height):
            width, height = wide, high
        return self._around(*self._turned_middle(box), width, height)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point of the page on the upright page."""
        dx, dy = x - self._middle[0], y - self._middle[1]
        return (
            self._upright_middle[0] + self._cos * dx + self._sin * dy,
            self._upright_middle[1] - self._sin * dx + self._cos * dy,
        )

    def moved(self, box: Sequence[float]) -> list[float]:
        """A box of the page with its size, its middle where it is on the upright page."""
        x, y = self._turned_middle(box)
        return self._around(x, y, box[2] - box[0], box[3] - box[1])

    def back(self, box: Sequence[float]) -> list[float]:
        """The hull, on the page, of a box of the upright page."""
        wide, high = box[2] - box[0], box[3] - box[1]
        x, y = self._turned_back(box)
        sin = abs(self._sin)
        return self._around(x, y, wide * self._cos + high * sin, high * self._cos + wide * sin)

    def moved_back(self, box: Sequence[float]) -> list[float]:
        """A box of the upright page with its size, its middle where it is on the page."""
        x, y = self._turned_back(box)
        return self._around(x, y, box[2] - box[0], box[3] - box[1])

    def corners(self, box: Sequence[float]) -> list[list[float]]:
        """The corners, on the page, of a box of the upright page: `[[x, y], …]`, clockwise from the top left of the text."""
        x0, y0, x1, y1 = box
        return [list(self._point_back(x, y)) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]

    def _turned_middle(self, box: Sequence[float]) -> tuple[float, float]:
        return self.point((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)

    def _turned_back(self, box: Sequence[float]) -> tuple[float, float]:
        return self._point_back((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)

    def _point_back(self, x: float, y: float) -> tuple[float, float]:
        dx, dy = x - self._upright_middle[0], y - self._upright_middle[1]
        return self._middle[0] + self._cos * dx - self._sin * dy, self._middle[1] + self._sin * dx + self._cos * dy

    @staticmethod
    def _around(x: float, y: float, width: float, height: float) -> list[float]:
        return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
