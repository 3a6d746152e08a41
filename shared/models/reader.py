"""Reads text lines, one crop a line.

A crop is drawn 48 px high and padded to its own bucket (a multiple of the engine's step), never to its neighbour's width: what is read
does not depend on who shares the batch. Crops are drawn narrower than their height asks for; see the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shared.contracts.document import ModelRef
from shared.engines.engine import BatchProfile, Engine
from shared.models.ctc import Line, characters, decoded
from shared.models.network import OpenModel
from shared.models.pictures import Normalise, Picture, Planes, resized

if TYPE_CHECKING:
    from shared.settings import Settings

NAME = "ppocrv6-rec-small"
DRAFT = "ppocrv6-rec-tiny"
"""Reads as well where it is sure, at a fifth of the cost, and knows fewer characters."""
HEIGHT = 48
FRAME = 8
"""Pixels of width per frame of the output."""
SQUEEZE = 0.8
MAX_WIDTH = 3_200
"""Widest bucket, px. A wider line is cut at a gap by the caller, or it is squeezed into this."""


class Reader:
    """Holds one network; all methods may be called by many threads. Invariant: `classes` of the dictionary and the network agree."""

    height = HEIGHT
    max_width = MAX_WIDTH

    def __init__(self, engine: Engine, settings: Settings, name: str = NAME) -> None:
        self._model = OpenModel(name, engine, settings)
        entry = self._model.manifest
        self._normalise = Normalise(entry.input)
        self._table = characters(self._model.dictionary, entry.classes or 0)
        self.profile: BatchProfile = engine.profile

    @property
    def ref(self) -> ModelRef:
        return self._model.manifest.ref()

    @property
    def characters(self) -> list[str]:
        """What it can write."""
        return self._table

    def width_of(self, crop_width: int, crop_height: int, squeeze: float = SQUEEZE) -> int:
        """The bucket (padded width, px) of a crop of this size."""
        return self.width_of_drawn(drawn_width(crop_width, crop_height, squeeze))

    def width_of_drawn(self, width: int) -> int:
        """The bucket of a crop that is drawn already, `width` px wide."""
        return min(MAX_WIDTH, self.profile.bucket(width))

    def prepare(self, crop: Picture, bucket_width: int, squeeze: float = SQUEEZE) -> Planes:
        """A crop (uint8 RGB `(height, width, 3)`, text left to right) as the network takes it: float32 `(3, 48, bucket_width)`.

        The same `squeeze` as for `width_of`; a crop too wide for the bucket is squeezed into it.
        """
        height, width = crop.shape[:2]
        drawn = min(bucket_width, drawn_width(width, height, squeeze))
        planes = np.zeros((3, HEIGHT, bucket_width), dtype=np.float32)
        self._normalise.into(resized(crop, drawn, HEIGHT), planes)
        return planes

    def read(self, crops: Sequence[Planes], bucket_width: int) -> list[Line]:
        """Text and confidences of each prepared crop, in order; all of one bucket.

        The engine's profile decides how many go into one call.
        """
        texts: list[Line] = []
        start = 0
        for size in self.profile.split(len(crops), bucket_width):
            batch = np.stack(crops[start : start + size])
            probability, index = self._model.network.infer(batch)
            texts += [
                decoded(i, p, self._table) for i, p in zip(index[..., 0].copy(), probability[..., 0], strict=True)
            ]
            start += size
        return texts

    def warm(self) -> None:
        """Run the narrowest and a middle bucket once; the rest is compiled when it comes."""
        for width in (self.profile.width_step, 640):
            self.read([np.zeros((3, HEIGHT, width), dtype=np.float32)], width)


def drawn_width(crop_width: int, crop_height: int, squeeze: float = SQUEEZE) -> int:
    """Width in px of a crop drawn 48 px high, at least one frame."""
    return max(FRAME, round(crop_width * HEIGHT / max(1, crop_height) * squeeze))
