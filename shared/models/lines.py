"""Where the text lines of a picture are: once per page, whatever stands on it.

The page is drawn at most 960 px long (4 times less work than at full size, with the same text in the end), padded to one of a few fixed
sizes (an engine's memory grows with every new shape). Small print shows in the answer: where lines are thin there,
the page is looked at again at 1536 px. A picture much higher than wide (a receipt) is looked at in pieces that
overlap; a wide one is not, for its lines would be cut.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import cv2
import msgspec
import numpy as np

from shared.contracts.document import ModelRef
from shared.engines.engine import Engine
from shared.models.contours import Map, Points, inside, outlines
from shared.models.network import OpenModel
from shared.models.pictures import Normalise, Picture, shrunk

if TYPE_CHECKING:
    from shared.settings import Settings

NAME = "ppocrv6-det-small"
SIDE = 960
"""Longest side looked at first. Measured on scanned A4: errors as with 2000 px (0.17 to 0.20 %), 736 px gives 0.60 %."""
LARGE_SIDE = 1_536
SMALL_PRINT = 3.9
"""Median thickness of lines in the map below which the page is looked at again at `LARGE_SIDE`. Thickness is probability summed over a line, by
its length; heights of boxes are whole pixels and too coarse. Measured on generated A4 pages, clean and noisy, zh and en: 5 and 6 pt give
3.63 to 3.81, 7 pt 3.96 to 4.20, 8 pt 4.24 to 4.36; the second look takes 6 pt from 1.9 % of errors to 0.4 %, and 7 pt nowhere."""
MAX_ASPECT = 2.5
"""Pictures higher than this times their width are cut in pieces: A4 is 1.4, and a piece at this ratio still gets 384 px of width."""
HUGE = 0.3
"""Share of the picture from which a box must show ink."""
INK = 24
"""Grey levels, of 255, between ink and paper after smoothing; scanner noise stays below 10."""
LEAST_INK = 0.02
"""Share of a box that is ink; lines of text have 0.1 and more."""
_STEP = 32


class DetectedLine(msgspec.Struct, frozen=True):
    """A text line: `quad` is float32 `[4, 2]` (x, y in pixels of the picture given), clockwise from the top left of the text; `score` 0..1."""

    quad: Points
    score: float


class LineDetector:
    """Holds one network; `detect` may be called by many threads."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._model = OpenModel(NAME, engine, settings)
        self._normalise = Normalise(self._model.manifest.input)

    @property
    def ref(self) -> ModelRef:
        return self._model.manifest.ref()

    def warm(self) -> None:
        """Run the two shapes of upright and lying A4 pages once."""
        for width, height in ((SIDE, 704), (704, SIDE)):
            self.detect(np.full((height, width, 3), 255, dtype=np.uint8))

    def detect(self, picture: Picture, side: int | None = None) -> list[DetectedLine]:
        """Lines of a picture (uint8 RGB `(height, width, 3)`), top to bottom; `side` forces the longest side looked at.

        Quads may reach a few pixels over the edge of the picture.
        """
        height, width = picture.shape[:2]
        if min(height, width) < 3:
            return []
        if height > max(SIDE, MAX_ASPECT * width):
            lines = self._in_pieces(picture, side)
        else:
            lines = self._whole(picture, side)
        return sorted(lines, key=lambda line: (float(line.quad[:, 1].min()), float(line.quad[:, 0].min())))

    def _whole(self, picture: Picture, side: int | None) -> list[DetectedLine]:
        lines, thickness = self._once(picture, side or SIDE)
        if side is None and max(picture.shape[:2]) > SIDE and lines and thickness < SMALL_PRINT:
            lines, _ = self._once(picture, LARGE_SIDE)
        return lines

    def _once(self, picture: Picture, side: int) -> tuple[list[DetectedLine], float]:
        """Lines in picture pixels, and their median thickness in the map. Small pictures are never enlarged."""
        height, width = picture.shape[:2]
        scale = min(1.0, side / max(height, width))
        small = shrunk(picture, max(1, round(width * scale)), max(1, round(height * scale)))
        planes = self._normalise.batch(small, *padded_size(small.shape[0], small.shape[1], side))
        probability = self._model.network.infer(planes)[0][0, 0, : small.shape[0], : small.shape[1]]
        factor = np.array([width / small.shape[1], height / small.shape[0]], dtype=np.float32)
        found = boxes(np.ascontiguousarray(probability, dtype=np.float32), self._model.manifest.constants)
        found = [box for box in found if not is_empty_paper(small, box.quad)]
        lines = [DetectedLine(upright(box.quad * factor), box.score) for box in found]
        return lines, float(np.median([box.thickness for box in found])) if found else 0.0

    def _in_pieces(self, picture: Picture, side: int | None) -> list[DetectedLine]:
        lines: list[DetectedLine] = []
        for start, end, low, high in windows(*picture.shape[:2]):
            for line in self._whole(picture[start:end], side):
                quad = line.quad + np.array([0, start], dtype=np.float32)
                if low <= float(quad[:, 1].mean()) < high:
                    lines.append(DetectedLine(quad, line.score))
        return lines


def padded_size(height: int, width: int, side: int) -> tuple[int, int]:
    """Height and width of the network's input for a picture that fits in `side` x `side`: one of five values each, multiples of 32.

    One of them is made for the short side of A4 (0.71 of the long one).
    """
    return _padded(height, side), _padded(width, side)


def _padded(size: int, side: int) -> int:
    steps = (0.1, 0.25, 0.5, 0.71, 1.0)
    return next(padded for part in steps if (padded := math.ceil(side * part / _STEP) * _STEP) >= size)


def windows(height: int, width: int) -> list[tuple[int, int, float, float]]:
    """Pieces of a high picture, as rows `(start, end, from, to)`; a line whose centre lies in `[from, to)` is this piece's.

    Pieces overlap by an eighth of their length or more; what they own tiles the whole.
    """
    length = min(height, max(int(width * MAX_ASPECT), SIDE // 2))
    count = math.ceil((height - length) / (length * 7 / 8)) + 1
    starts = [round(index * (height - length) / max(1, count - 1)) for index in range(count)]
    borders = [-math.inf, *((a + length + b) / 2 for a, b in itertools.pairwise(starts)), math.inf]
    return [(start, start + length, borders[i], borders[i + 1]) for i, start in enumerate(starts)]


class Box(NamedTuple):
    """A line in the map: a rotated rectangle `[4, 2]`, its mean probability, and how thick it is."""

    quad: Points
    score: float
    thickness: float


def boxes(probability: Map, constants: dict[str, float]) -> list[Box]:
    """Lines of a probability map, with the constants of the manifest."""
    found = []
    for contour in outlines(probability, constants["threshold"], int(constants["max_lines"])):
        if len(contour) < 3:
            continue
        centre, (wide, high), angle = cv2.minAreaRect(contour)
        if min(wide, high) < constants["min_side"]:
            continue
        rectangle = np.asarray(cv2.boxPoints((centre, (wide, high), angle)), dtype=np.float32)
        score, _ = inside(probability, rectangle)
        if score < constants["min_confidence"]:
            continue
        # The network is trained on shrunken text; a rectangle grown on all sides by this is what growing its outline gives.
        grow = wide * high * constants["unclip"] / (2 * (wide + high))
        grown = (wide + 2 * grow, high + 2 * grow)
        if min(grown) < constants["min_side"] + 2:
            continue
        quad = np.asarray(cv2.boxPoints((centre, grown, angle)), dtype=np.float32)
        _, mass = inside(probability, np.asarray(contour, dtype=np.float32))
        found.append(Box(quad, score, mass / (max(wide, high) + 1)))
    return found


def is_empty_paper(picture: Picture, quad: Points) -> bool:
    """Whether a box as large as the page holds no ink: on blank paper the network is fairly sure (0.5 to 0.86) that all of it is text."""
    height, width = picture.shape[:2]
    low = np.clip(quad.min(axis=0), 0, [width, height]).astype(int)
    high = np.clip(np.ceil(quad.max(axis=0)), 0, [width, height]).astype(int)
    if (high - low).prod() < HUGE * width * height:
        return False
    grey = cv2.blur(cv2.cvtColor(picture[low[1] : high[1], low[0] : high[0]], cv2.COLOR_RGB2GRAY), (3, 3)).astype(
        np.int16
    )
    return float(np.mean(np.abs(grey - int(np.median(grey))) > INK)) < LEAST_INK


def upright(quad: Points) -> Points:
    """The corners clockwise from the one that is top left as displayed."""
    centre = quad.mean(axis=0)
    order = np.argsort(np.arctan2(quad[:, 1] - centre[1], quad[:, 0] - centre[0]))
    ordered = quad[order]
    return np.asarray(np.roll(ordered, -int(ordered.sum(axis=1).argmin()), axis=0), dtype=np.float32)
