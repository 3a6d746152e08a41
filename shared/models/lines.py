"""Where the text lines of a picture are: once per page, whatever stands on it.

The page is drawn at most 960 px long (4 times less work than at full size, with the same text in the end), padded to one of a few fixed
sizes (an engine's memory grows with every new shape). Small print shows in the answer: where the median box is lower than 11 px there,
the page is looked at again at 1536 px. A picture much higher than wide (a receipt) is looked at in pieces that
overlap; a wide one is not, for its lines would be cut.
"""

from __future__ import annotations

import itertools
import math

import cv2
import msgspec
import numpy as np

from shared.contracts.document import ModelRef
from shared.engines.engine import Engine
from shared.models.contours import Map, Points, mean_inside, outlines
from shared.models.network import OpenModel
from shared.models.pictures import Normalise, Picture, resized
from shared.settings import Settings

NAME = "ppocrv6-det-small"
SIDE = 960
"""Longest side looked at first. Measured on scanned A4: errors as with 2000 px (0.17 to 0.20 %), 736 px gives 0.60 %."""
LARGE_SIDE = 1_536
SMALL_PRINT = 11.0
"""Median height of boxes, in pixels of the map, below which the page is looked at again at `LARGE_SIDE`. Measured on generated A4 pages:
6 pt gives boxes of 10.3 px and 1.9 % of errors, 0.4 % at the second look; 7 pt gives 12.9 px and nothing to gain."""
MAX_ASPECT = 2.5
"""Pictures higher than this times their width are cut in pieces: A4 is 1.4, and a piece at this ratio still gets 384 px of width."""
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
        lines, scale = self._once(picture, side or SIDE)
        if side is None and scale < 1 and lines and _median_height(lines) * scale < SMALL_PRINT:
            lines, _ = self._once(picture, LARGE_SIDE)
        return lines

    def _once(self, picture: Picture, side: int) -> tuple[list[DetectedLine], float]:
        """Lines in picture pixels, and the scale at which they were looked for. Small pictures are never enlarged."""
        height, width = picture.shape[:2]
        scale = min(1.0, side / max(height, width))
        small = resized(picture, max(1, round(width * scale)), max(1, round(height * scale)))
        planes = self._normalise.batch(small, *padded_size(small.shape[0], small.shape[1], side))
        probability = self._model.network.infer(planes)[0][0, 0, : small.shape[0], : small.shape[1]]
        factor = np.array([width / small.shape[1], height / small.shape[0]], dtype=np.float32)
        found = boxes(np.ascontiguousarray(probability, dtype=np.float32), self._model.manifest.constants)
        return [DetectedLine(upright(quad * factor), score) for quad, score in found], scale

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


def boxes(probability: Map, constants: dict[str, float]) -> list[tuple[Points, float]]:
    """Rotated boxes `[4, 2]` in map pixels, and their mean probability."""
    found = []
    for contour in outlines(probability, constants["threshold"], int(constants["max_lines"])):
        if len(contour) < 3:
            continue
        centre, (wide, high), angle = cv2.minAreaRect(contour)
        if min(wide, high) < constants["min_side"]:
            continue
        score = mean_inside(probability, np.asarray(cv2.boxPoints((centre, (wide, high), angle)), dtype=np.float32))
        if score < constants["min_confidence"]:
            continue
        # The network is trained on shrunken text; a rectangle grown on all sides by this is what growing its outline gives.
        grow = wide * high * constants["unclip"] / (2 * (wide + high))
        grown = (wide + 2 * grow, high + 2 * grow)
        if min(grown) < constants["min_side"] + 2:
            continue
        found.append((np.asarray(cv2.boxPoints((centre, grown, angle)), dtype=np.float32), score))
    return found


def upright(quad: Points) -> Points:
    """The corners clockwise from the one that is top left as displayed."""
    centre = quad.mean(axis=0)
    order = np.argsort(np.arctan2(quad[:, 1] - centre[1], quad[:, 0] - centre[0]))
    ordered = quad[order]
    return np.asarray(np.roll(ordered, -int(ordered.sum(axis=1).argmin()), axis=0), dtype=np.float32)


def _median_height(lines: list[DetectedLine]) -> float:
    """Median of the short sides of the boxes."""
    return float(
        np.median(
            [min(np.linalg.norm(q[1] - q[0]), np.linalg.norm(q[3] - q[0])) for q in (line.quad for line in lines)]
        )
    )
