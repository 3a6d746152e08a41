"""The frame of text that is turned on its page: the page turned about its middle until that text is upright.

Text stands on its side (stamps in margins, heads of narrow columns, tables across a page), on its head, or goes across a page (watermarks).
What is beside, below or before what means something only in its own frame. Pure arithmetic; units are those of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shared.contracts.upright import STEEPEST

_SNAP = math.degrees(math.atan(STEEPEST))
LINE_HEIGHT = 1.2
"""Times the size of its type that a line is high, where only the hull around a slanted one is known: usual ascent and descent together."""


def angle_of(degrees: float) -> float:
    """Whole degrees 0..359 of text that is turned clockwise by `degrees`; a few off a side of the page (6, as for scans) count as that side."""
    side = 90.0 * round(degrees / 90.0)
    turned = side if abs(degrees - side) <= _SNAP else round(degrees)
    return float(turned % 360)


class Turned:
    """A page of `width` x `height` with text turned clockwise by `angle` degrees, and the page on which that text is upright.

    The upright page has the size `width` x `height` of this object: large enough for all of the page; both have one middle.
    """

    def __init__(self, angle: float, width: float, height: float) -> None:
        self.angle = angle
        self.square = angle % 90 == 0
        """Whether the text runs along a side of the page, so that boxes turn into boxes."""
        radians = math.radians(angle)
        self._cos, self._sin = round(math.cos(radians), 12), round(math.sin(radians), 12)
        self._middle = width / 2, height / 2
        self.width = width * abs(self._cos) + height * abs(self._sin)
        self.height = height * abs(self._cos) + width * abs(self._sin)

    def into(self, box: Sequence[float], thick: float = 0.0) -> list[float]:
        """A box of the page on the upright page. That of slanted text is the hull of a line that is `thick` across; its box is that line's."""
        dx, dy = (box[0] + box[2]) / 2 - self._middle[0], (box[1] + box[3]) / 2 - self._middle[1]
        x, y = self._cos * dx + self._sin * dy + self.width / 2, self._cos * dy - self._sin * dx + self.height / 2
        long, high = self._size(box[2] - box[0], box[3] - box[1], thick)
        return [x - long / 2, y - high / 2, x + long / 2, y + high / 2]

    def back(self, box: Sequence[float]) -> list[float]:
        """The hull, on the page, of a box of the upright page."""
        dx, dy = (box[0] + box[2] - self.width) / 2, (box[1] + box[3] - self.height) / 2
        x, y = self._cos * dx - self._sin * dy + self._middle[0], self._sin * dx + self._cos * dy + self._middle[1]
        long, high = box[2] - box[0], box[3] - box[1]
        wide, tall = (
            long * abs(self._cos) + high * abs(self._sin),
            high * abs(self._cos) + long * abs(self._sin),
        )
        return [x - wide / 2, y - tall / 2, x + wide / 2, y + tall / 2]

    def _size(self, wide: float, tall: float, thick: float) -> tuple[float, float]:
        cos, sin = abs(self._cos), abs(self._sin)
        if self.square:
            return (wide, tall) if cos else (tall, wide)
        high = min(thick, wide / sin, tall / cos)
        return ((wide - high * sin) / cos if cos >= sin else (tall - high * cos) / sin), high
