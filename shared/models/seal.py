"""The text of a seal: lines along an arc, unrolled to straight strips, and straight lines.

A line is straight when its outline fills most of the smallest rectangle around it; all others are taken for arcs of a ring.
Known limits: text is taken to run clockwise with its feet toward the centre, but for short arcs at the bottom; a strip that was unrolled the
wrong way is the right one turned by 180 degrees, so a reader that is not sure can try that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cv2
import msgspec
import numpy as np
import numpy.typing as npt

from shared.contracts.document import ModelRef
from shared.engines.engine import Engine
from shared.models.arcs import fitted, unrolled
from shared.models.contours import Map, Points, outlines
from shared.models.network import OpenModel
from shared.models.pictures import Normalise, Picture, resized

if TYPE_CHECKING:
    from shared.settings import Settings

NAME = "ppocrv4-seal-det-mobile"
SIDE = 640
"""Pixels of the longer side of a seal as the network sees it; it is enlarged to that where it is smaller."""
STRIP = 64
"""Height of the strips in px: more than the reader's 48, so that shrinking to it smoothes what unrolling interpolated."""
STRAIGHT = 0.7
"""Share of the smallest rectangle that a straight line fills (PaddleX's)."""


class SealLine(msgspec.Struct, frozen=True):
    """A line: `polygon` float32 `[n, 2]` in pixels of the picture given, `picture` uint8 RGB `(64, width, 3)` to be read left to right."""

    polygon: Points
    picture: Picture
    score: float
    """Mean probability of its pixels, 0..1."""
    curved: bool


class SealDetector:
    """Holds one network; `lines` may be called by many threads."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._model = OpenModel(NAME, engine, settings)
        self._normalise = Normalise(self._model.manifest.input)

    @property
    def ref(self) -> ModelRef:
        return self._model.manifest.ref()

    def warm(self) -> None:
        """Run once on a blank picture."""
        self.lines(np.full((64, 64, 3), 255, dtype=np.uint8))

    def lines(self, picture: Picture) -> list[SealLine]:
        """Lines of a seal: arcs by length, then straight ones top to bottom.

        `picture` is uint8 RGB `(height, width, 3)`, cropped to the seal; a little margin helps.
        """
        height, width = picture.shape[:2]
        scale = SIDE / max(height, width)
        small = resized(picture, max(1, round(width * scale)), max(1, round(height * scale)))
        planes = self._normalise.batch(small, SIDE, SIDE)
        probability = self._model.network.infer(planes)[0][0, 0, : small.shape[0], : small.shape[1]]
        found = self._found(np.ascontiguousarray(probability, dtype=np.float32), small)
        factor = np.array([width / small.shape[1], height / small.shape[0]], dtype=np.float32)
        lines = [msgspec.structs.replace(line, polygon=line.polygon * factor) for line in found]
        arcs = sorted((line for line in lines if line.curved), key=lambda line: -line.picture.shape[1])
        return arcs + sorted(
            (line for line in lines if not line.curved), key=lambda line: float(line.polygon[:, 1].min())
        )

    def _found(self, probability: Map, picture: Picture) -> list[SealLine]:
        constants = self._model.manifest.constants
        lines = []
        for contour in outlines(probability, constants["threshold"], 50):
            mask = np.zeros(probability.shape, dtype=np.uint8)
            cv2.fillPoly(mask, [contour], 1)
            area = int(mask.sum())
            centre, (wide, high), angle = cv2.minAreaRect(contour)
            score = float(cv2.mean(probability, mask)[0])
            if min(wide, high) < constants["min_side"] or score < constants["min_confidence"]:
                continue
            grow = area * constants["unclip"] / max(1.0, cv2.arcLength(contour, True))
            arc = fitted(_pixels(mask)) if area < STRAIGHT * wide * high else None
            if arc is None:
                rectangle = (centre, (wide + 2 * grow, high + 2 * grow), angle)
                lines.append(_straight(picture, rectangle, score))
            else:
                arc = arc.grown(grow)
                lines.append(SealLine(arc.outline(), unrolled(picture, arc, STRIP), score, True))
        return lines


def _pixels(mask: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """x, y of the pixels of a mask `[n, 2]`."""
    y, x = np.nonzero(mask)
    return np.stack([x, y], axis=1).astype(np.float64)


def _straight(
    picture: Picture, rectangle: tuple[tuple[float, float], tuple[float, float], float], score: float
) -> SealLine:
    """A line in a rotated rectangle, laid level: the long side is the direction of reading, left to right or else downward."""
    (x, y), (wide, high), degrees = rectangle
    turn = math.radians(degrees)
    if high > wide:
        wide, high, turn = high, wide, turn + math.pi / 2
    along, down = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    if along[0] < -1e-6 or (abs(along[0]) <= 1e-6 and along[1] < 0):
        along, down = -along, -down
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / 2
    quad = np.array([[x, y] + a * wide * along + d * high * down for a, d in signs], dtype=np.float32)
    width = max(1, round(wide * STRIP / max(1.0, high)))
    target = np.array([[0, 0], [width, 0], [width, STRIP], [0, STRIP]], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(quad, target)
    strip = cv2.warpPerspective(picture, matrix, (width, STRIP), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return SealLine(quad, np.asarray(strip, dtype=np.uint8), score, False)
