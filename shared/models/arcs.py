"""Text along an arc: the ring it runs in, found from its pixels, and the ring unrolled to a straight strip.

The rings of seals are circles or upright ellipses. An ellipse is handled as a circle seen squeezed: `ratio` is its height over its width.
Angles are those of pictures: 0 to the right, growing clockwise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from shared.models.contours import Points
from shared.models.pictures import Picture

FULL = 2 * math.pi
ELLIPSE_FROM = 0.5 * FULL
"""Least sweep from which an ellipse is fitted; less of a ring does not say how squeezed it is."""
BOTTOM_SWEEP = 0.45 * FULL
"""A shorter arc at the bottom is written left to right with its feet outward (as registration numbers are)."""
LEAST = 0.55
"""Share of the arc that its pixels must fill; a straight line fills a third of the arc around it."""
_BINS = 360
_ROUNDS = 4
_ENOUGH = 4_000
"""Pixels from which the middle of a ring is found: eleven in each direction."""


class Arc(NamedTuple):
    """Part of a ring, in picture pixels."""

    x: float
    y: float
    ratio: float
    inner: float
    outer: float
    start: float
    sweep: float
    """From `start` clockwise, at most a full turn."""

    @property
    def area(self) -> float:
        """Square pixels."""
        return self.sweep * (self.outer**2 - self.inner**2) / 2 * self.ratio

    def grown(self, by: float) -> Arc:
        """Larger by a number of pixels on each side."""
        turn = by / max(1.0, (self.inner + self.outer) / 2)
        sweep = min(FULL, self.sweep + 2 * turn)
        inner, outer = max(1.0, self.inner - by), self.outer + by
        return self._replace(inner=inner, outer=outer, start=self.start - (sweep - self.sweep) / 2, sweep=sweep)

    def points(self, radius: float | npt.NDArray[np.float64], angle: npt.NDArray[np.float64]) -> Points:
        """Picture coordinates `[..., 2]` of polar ones."""
        x, y = self.x + radius * np.cos(angle), self.y + radius * np.sin(angle) * self.ratio
        return np.stack([x, y], axis=-1).astype(np.float32)

    def outline(self) -> Points:
        """`[n, 2]`, clockwise: along the outer side, back along the inner one."""
        angles = self.start + np.linspace(0, self.sweep, max(4, round(self.sweep * 12)))
        return np.concatenate([self.points(self.outer, angles), self.points(self.inner, angles[::-1])])


def fitted(mask: npt.NDArray[np.uint8]) -> Arc | None:
    """The arc that the pixels of a curved line (1 in a mask of 0 and 1) fill; none when they lie on no ring (a straight line, a blot)."""
    rows, columns = np.nonzero(mask)
    points = np.stack([columns, rows], axis=1).astype(np.float64)
    some = points[:: max(1, len(points) // _ENOUGH)]
    x, y = _circle(points)
    for _ in range(_ROUNDS):
        x, y = _circle(_middle(some, x, y, 1.0))
    arc = _polar(points, x, y, 1.0)
    if arc is not None and arc.sweep >= ELLIPSE_FROM:
        ratio = 1.0
        for _ in range(_ROUNDS):
            x, y, ratio = _ellipse(_middle(some, x, y, ratio))
            if not 0.4 <= ratio <= 2.5:
                return arc
        squeezed = _polar(points, x, y, ratio)
        # The thinner ring is the better explanation.
        if squeezed is not None and squeezed.outer - squeezed.inner < 0.9 * (arc.outer - arc.inner):
            arc = squeezed
    return arc


def _middle(points: npt.NDArray[np.float64], x: float, y: float, ratio: float) -> npt.NDArray[np.float64]:
    """The middle of the ring in each direction from a centre: a fit to these is not drawn aside by the ring's thickness."""
    dx, dy = points[:, 0] - x, (points[:, 1] - y) / ratio
    radius = np.hypot(dx, dy)
    angle = np.arctan2(dy, dx)
    bins = (angle % FULL / FULL * _BINS).astype(int) % _BINS
    inner, outer = np.full(_BINS, np.inf), np.zeros(_BINS)
    np.minimum.at(inner, bins, radius)
    np.maximum.at(outer, bins, radius)
    filled = np.flatnonzero(outer)
    thick = outer[filled] - inner[filled]
    filled = filled[thick >= 0.7 * np.median(thick)]  # not the slanted ends
    turn = (filled + 0.5) / _BINS * FULL
    middle = (inner[filled] + outer[filled]) / 2
    return np.stack([x + middle * np.cos(turn), y + middle * np.sin(turn) * ratio], axis=1)


def unrolled(picture: Picture, arc: Arc, height: int) -> Picture:
    """The ring as a straight strip `height` px high (uint8 RGB), to be read left to right."""
    thick = arc.outer - arc.inner
    middle = (arc.inner + arc.outer) / 2 * (1 + arc.ratio) / 2
    width = max(1, round(arc.sweep * middle * height / (thick * (1 + arc.ratio) / 2)))
    angles = arc.start + (np.arange(width) + 0.5) / width * arc.sweep
    radii = arc.outer - (np.arange(height) + 0.5) / height * thick
    if arc.sweep <= BOTTOM_SWEEP and abs(_turned(arc.start + arc.sweep / 2 - math.pi / 2)) < math.pi / 3:
        angles, radii = angles[::-1], radii[::-1]
    grid = arc.points(radii[:, None], angles[None, :])
    strip = cv2.remap(
        picture,
        np.ascontiguousarray(grid[..., 0]),
        np.ascontiguousarray(grid[..., 1]),
        cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(strip, dtype=np.uint8)


def _circle(points: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Centre of the circle nearest to the points (Kåsa's linear fit)."""
    mean = points.mean(axis=0)
    x, y = (points - mean).T
    system = np.stack([x, y, np.ones_like(x)], axis=1)
    (a, b, _), *_ = np.linalg.lstsq(system, x * x + y * y, rcond=None)
    return float(mean[0] + a / 2), float(mean[1] + b / 2)


def _ellipse(points: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Centre and ratio of the upright ellipse nearest to the points; ratio 0 when the fit is no ellipse."""
    mean = points.mean(axis=0)
    x, y = (points - mean).T
    system = np.stack([y * y, x, y, np.ones_like(x)], axis=1)
    (a, b, c, _), *_ = np.linalg.lstsq(system, -x * x, rcond=None)
    if a <= 0:
        return 0.0, 0.0, 0.0
    return float(mean[0] - b / 2), float(mean[1] - c / (2 * a)), float(1 / math.sqrt(a))


def _polar(points: npt.NDArray[np.float64], x: float, y: float, ratio: float) -> Arc | None:
    dx, dy = points[:, 0] - x, (points[:, 1] - y) / ratio
    radius = np.hypot(dx, dy)
    inner, outer = (float(value) for value in np.percentile(radius, [1, 99]))
    if inner < 0.25 * outer or inner < 1:
        return None
    filled = np.bincount(((np.arctan2(dy, dx) % FULL) / FULL * _BINS).astype(int) % _BINS, minlength=_BINS) > 0
    start, length = _longest_gap(filled)
    sweep = FULL * (_BINS - length) / _BINS
    arc = Arc(x, y, ratio, inner, outer, FULL * (start + length) / _BINS, sweep)
    return arc if len(points) >= LEAST * arc.area else None


def _longest_gap(filled: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """First bin and length of the longest run of empty bins of a ring."""
    if filled.all():
        return len(filled) // 4, 0  # a closed ring is opened at the bottom
    first = int(np.flatnonzero(filled)[0])
    best, length, run = 0, 0, 0
    for offset, full in enumerate(np.roll(filled, -first).tolist()):
        run = 0 if full else run + 1
        if run > length:
            best, length = first + offset - run + 1, run
    return best, length


def _turned(angle: float) -> float:
    """The same angle in -pi..pi."""
    return (angle + math.pi) % FULL - math.pi
