"""Between a page and its picture: units of the page (points, or pixels of an image) on one side, pixels on the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from services.rec_worker.crops import Pixels, Quad, quad_of_box
from shared.contracts.errors import DocfleetError, ErrorCode

MARGIN = 0.15
"""Room around a region that is looked at for itself, in its height."""
MAX_MARGIN = 16.0
"""Most of that, in pixels."""


class Frame:
    """A page of `width` x `height` units and the picture that shows it (none where nothing is to be seen).

    The picture is of the whole page, or the part `box` (`[left, top, right, bottom]`, pixels) of one of the size `whole`. Pixels are those of
    the picture that is there.
    """

    def __init__(
        self,
        width: float,
        height: float,
        picture: Pixels | None,
        box: Sequence[int] | None = None,
        whole: tuple[int, int] | None = None,
    ) -> None:
        self._size = np.array([width, height], dtype=np.float64)
        self._picture = picture
        shown = (1, 1) if picture is None else whole or (picture.shape[1], picture.shape[0])
        self._scale = np.array(shown, dtype=np.float64) / self._size
        self._begin = np.array((0, 0) if box is None else box[:2], dtype=np.float64)

    @property
    def has_picture(self) -> bool:
        return self._picture is not None

    @property
    def pixels(self) -> Pixels:
        """The picture. Raises `DocfleetError(conflict)` where there is none."""
        if self._picture is None:
            raise DocfleetError(ErrorCode.conflict, "the layout asks for lines to be read, but the page has no picture")
        return self._picture

    def quad(self, bbox: Sequence[float]) -> Quad:
        """The corners, in pixels, of a box in units."""
        return np.asarray(quad_of_box(*bbox) * self._scale - self._begin, dtype=np.float32)

    def placed(self, corners: Sequence[float]) -> Quad:
        """Corners `[x0, y0, … y3]` in pixels of the whole page's picture, in those of this one."""
        return np.asarray(np.array(corners, dtype=np.float64).reshape(4, 2) - self._begin, dtype=np.float32)

    def inside(self, bbox: Sequence[float]) -> list[float]:
        """A box in units, cut off at the edges of the page."""
        (x0, y0), (x1, y1) = np.clip(np.array(bbox, dtype=np.float64).reshape(2, 2), 0.0, self._size).tolist()
        return [x0, y0, x1, y1]

    def box(self, points: npt.NDArray[np.floating]) -> list[float]:
        """The upright box, in units and inside the page, around points `(n, 2)` in pixels."""
        units = np.clip((points + self._begin) / self._scale, 0.0, self._size)
        return [*units.min(axis=0).tolist(), *units.max(axis=0).tolist()]

    def part(self, bbox: Sequence[float], *, margin: bool) -> tuple[Pixels, Quad]:
        """The pixels of a box in units, and the pixel `(2,)` of the picture at which they begin."""
        quad = self.quad(bbox)
        room = min(MAX_MARGIN, MARGIN * float(quad[2, 1] - quad[0, 1])) if margin else 0.0
        height, width = self.pixels.shape[:2]
        left = int(np.clip(quad[0, 0] - room, 0, width - 1))
        top = int(np.clip(quad[0, 1] - room, 0, height - 1))
        right = int(np.clip(np.ceil(quad[2, 0] + room), left + 1, width))
        bottom = int(np.clip(np.ceil(quad[2, 1] + room), top + 1, height))
        return np.ascontiguousarray(self.pixels[top:bottom, left:right]), np.array([left, top], dtype=np.float32)
