"""The text of a seal: lines along an arc, unrolled to straight strips, and straight lines.

A line is straight when its pixels fill most of the smallest rectangle around them; all others are taken for arcs of a ring. Lines that touch in the
network's map (the ring of a company seal ends at the line inside it) are taken apart first (`parting`).
Known limits: text is taken to run clockwise with its feet toward the centre, but for short arcs at the bottom; a strip that was unrolled the
wrong way is the right one turned by 180 degrees, so a reader that is not sure can try that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import cv2
import msgspec
import numpy as np
import numpy.typing as npt

from shared.contracts.document import ModelRef
from shared.engines.engine import Engine
from shared.models.arcs import Arc, fitted, unrolled
from shared.models.contours import Map, Points
from shared.models.network import OpenModel
from shared.models.parting import blobs, parted
from shared.models.pictures import Normalise, Picture, resized

if TYPE_CHECKING:
    from shared.settings import Settings

NAME = "ppocrv4-seal-det-mobile"
SIDE = 512
"""Pixels of the longer side of a seal as the network sees it; it is enlarged to that where it is smaller. Of 142 characters of eight seals 129 are
read, 130 with 640 px at 1.6 times the cost, 123 with 480 px."""
STRIP = 64
"""Height of the strips in px: more than the reader's 48, so that shrinking to it smoothes what unrolling interpolated."""
STRAIGHT = 0.7
"""Share of the smallest rectangle that a straight line fills (PaddleX's)."""
CLEAR = 0.75
"""Share of its rectangle or arc from which a blob is surely one line. Lone arcs fill 0.8 and more, an arc with a straight line at its ends 0.6."""


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
        mask = (probability > constants["threshold"]).astype(np.uint8)
        lines = []
        for shape in shapes(mask, constants["min_side"]):
            score = float(cv2.mean(probability, shape.mask)[0])
            if score < constants["min_confidence"]:
                continue
            contours, _ = cv2.findContours(shape.mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
            length = sum(cv2.arcLength(contour, True) for contour in contours)
            grow = int(shape.mask.sum()) * constants["unclip"] / max(1.0, length)
            if shape.arc is None:
                centre, (wide, high), angle = shape.rectangle
                lines.append(_straight(picture, (centre, (wide + 2 * grow, high + 2 * grow), angle), score))
            else:
                arc = shape.arc.grown(grow)
                lines.append(SealLine(arc.outline(), unrolled(picture, arc, STRIP), score, True))
        return lines


class Shape(NamedTuple):
    """A line in the map: its pixels (0 or 1), the smallest rectangle around them, and the arc where it is one."""

    mask: npt.NDArray[np.uint8]
    rectangle: tuple[tuple[float, float], tuple[float, float], float]
    arc: Arc | None
    fit: float
    """Share of the rectangle, or of the arc, that the pixels fill."""


def shapes(mask: npt.NDArray[np.uint8], least_side: float) -> list[Shape]:
    """The lines in a mask of text (0 or 1), touching ones apart. Narrower than `least_side` px is nothing."""
    found = []
    for blob in blobs(mask, int(least_side**2)):
        whole = _shape(blob)
        parts = [_shape(part) for part in parted(blob)] if whole.fit < CLEAR else []
        # A cut must explain the blob better; an arc that is merely uneven stays whole.
        better = len(parts) > 1 and min(part.fit for part in parts) > whole.fit
        found += parts if better else [whole]
    return [shape for shape in found if min(shape.rectangle[1]) >= least_side]


def _shape(mask: npt.NDArray[np.uint8]) -> Shape:
    count = cv2.countNonZero(mask)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    centre, (wide, high), angle = cv2.minAreaRect(np.concatenate(contours))
    rectangle = ((float(centre[0]), float(centre[1])), (float(wide), float(high)), float(angle))
    filled = count / max(1.0, (wide + 1) * (high + 1))
    arc = fitted(mask) if filled < STRAIGHT else None
    return Shape(mask, rectangle, arc, filled if arc is None else min(1.0, count / max(1.0, arc.area)))


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
