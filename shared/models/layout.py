"""Page layout: where paragraphs, titles, tables, pictures and the rest stand.

PicoDet gives, for each cell of four grids (8, 16, 32, 64 px), a score per class and, for each of the four sides of a box, a distribution
over 8 distances (in grid steps); the expected distance from the cell's centre is the side. Overlapping boxes of one class are thinned.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from shared.contracts.document import Label, ModelRef
from shared.engines.engine import Array, Engine
from shared.models.network import OpenModel
from shared.models.pictures import Normalise, Picture, shrunk

if TYPE_CHECKING:
    from shared.settings import Settings

NAME = "layout-cdla"
STRIDES = (8, 16, 32, 64)


class LayoutBox(msgspec.Struct, frozen=True, kw_only=True):
    """Something on the page. `bbox` is `[x0, y0, x1, y1]` in pixels of the picture given, inside it; `score` 0..1."""

    label: Label
    raw_label: str
    bbox: list[float]
    score: float


class LayoutModel:
    """Holds one network; `detect` may be called by many threads."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._model = OpenModel(NAME, engine, settings)
        self._min = max(settings.layout.min_confidence, 0.05)
        entry = self._model.manifest
        self._normalise = Normalise(entry.input)
        self._height, self._width = (int(size or 0) for size in entry.input.shape[2:])
        self._centres = [_centres(self._height, self._width, stride) for stride in STRIDES]

    @property
    def ref(self) -> ModelRef:
        return self._model.manifest.ref()

    def warm(self) -> None:
        """Run once, so that the first page is as fast as the others."""
        self.detect(np.full((self._height, self._width, 3), 255, dtype=np.uint8))

    def detect(self, picture: Picture) -> list[LayoutBox]:
        """Boxes of a page, best first. `picture` is uint8 RGB `(height, width, 3)`, any size; it is stretched to the network's 608 x 800."""
        height, width = picture.shape[:2]
        planes = self._normalise.batch(shrunk(picture, self._width, self._height), self._height, self._width)
        outputs = self._model.network.infer(planes)
        boxes, scores, classes = self._decode(outputs)
        boxes *= np.array([width / self._width, height / self._height] * 2, dtype=np.float32)
        np.clip(boxes, 0, [width, height, width, height], out=boxes)
        labels = self._model.manifest.labels
        found = [
            LayoutBox(
                label=labels[index].label,
                raw_label=labels[index].raw,
                bbox=[float(value) for value in box],
                score=float(score),
            )
            for box, score, index in zip(boxes, scores, classes, strict=True)
            if box[2] - box[0] >= 1 and box[3] - box[1] >= 1
        ]
        return sorted(found, key=lambda box: -box.score)

    def _decode(
        self, outputs: list[Array]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.intp]]:
        """Boxes in network pixels, scores and classes, thinned. The first half of `outputs` is scores `[1, cells, classes]`, the second distances."""
        constants = self._model.manifest.constants
        half = len(outputs) // 2
        boxes, scores = [], []
        for centres, stride, score, distance in zip(
            self._centres, STRIDES, outputs[:half], outputs[half:], strict=True
        ):
            best = score[0].max(axis=1)
            kept = np.flatnonzero(best > self._min)
            kept = kept[np.argsort(-best[kept], kind="stable")][: int(constants["nms_candidates"])]
            scores.append(score[0][kept])
            boxes.append(centres[kept] + _sides(distance[0][kept]) * stride)
        return thin(
            np.concatenate(boxes), np.concatenate(scores), self._min, constants["nms_iou"], int(constants["keep"])
        )


def _centres(height: int, width: int, stride: int) -> npt.NDArray[np.float32]:
    """`[cells, 4]`: the centre of each cell, as x, y, x, y, row by row."""
    rows, columns = math.ceil(height / stride), math.ceil(width / stride)
    y, x = np.mgrid[0:rows, 0:columns]
    centre = np.stack([x.reshape(-1), y.reshape(-1)], axis=1) + 0.5
    return np.asarray(np.tile(centre, 2) * stride, dtype=np.float32)


def _sides(distribution: Array) -> npt.NDArray[np.float32]:
    """`[n, 4]` signed distances (left and top negative) in grid steps, from logits `[n, 4 * bins]`."""
    logits = distribution.reshape(len(distribution), 4, distribution.shape[1] // 4).astype(np.float32)
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    expected = (weights * np.arange(logits.shape[2])).sum(axis=2) / weights.sum(axis=2)
    return np.asarray(expected * np.array([-1, -1, 1, 1]), dtype=np.float32)


def thin(
    boxes: npt.NDArray[np.float32], scores: npt.NDArray[np.float32], least: float, iou: float, keep: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.intp]]:
    """Per class: of boxes `[n, 4]` with scores `[n, classes]` above `least`, best first, those that overlap no better one by more than `iou`.

    Returns `(boxes [m, 4], scores [m], classes [m])`, at most `keep` of a class.
    """
    picked: list[tuple[int, int]] = []
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for kind in range(scores.shape[1]):
        order = np.flatnonzero(scores[:, kind] > least)
        order = order[np.argsort(-scores[order, kind], kind="stable")]
        taken = 0
        while len(order) and taken < keep:
            first, order = order[0], order[1:]
            picked.append((int(first), kind))
            taken += 1
            low = np.maximum(boxes[first, :2], boxes[order, :2])
            high = np.minimum(boxes[first, 2:], boxes[order, 2:])
            inner = np.clip(high - low, 0, None).prod(axis=1)
            union = areas[first] + areas[order] - inner
            order = order[inner <= iou * np.maximum(union, 1e-6)]
    rows = np.array([row for row, _ in picked], dtype=np.intp)
    kinds = np.array([kind for _, kind in picked], dtype=np.intp)
    return boxes[rows].copy(), scores[rows, kinds], kinds
