"""Reading a few lines of a picture to see whether they say what a text layer claims. Runs in the engine child."""

from __future__ import annotations

import unicodedata
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from services.layout_worker.found import Sample
from shared.contracts.document import ModelRef
from shared.engines.engine import Engine
from shared.models.reader import Reader

if TYPE_CHECKING:
    from shared.settings import Settings

SURE = 0.6
"""Confidence of a reading below which it says nothing about the layer: blurred or tiny print."""
KNOWN = 0.7
"""Share of a sample's letters in the recogniser's dictionary from which a comparison means something. It knows no Cyrillic, Arabic or
Hangul, and reads such lines as Latin or Chinese letters of like shape, quite surely."""
LEAST = 2
"""Letters and digits of a sample, below which a comparison says nothing."""
BLANK_CONTRAST = 24
"""Range of grey values, of 255, below which there is nothing to read at a place: text that is claimed there is not seen."""
_EDGE = 2


class SampleReader:
    """Holds the recogniser; may be called by many threads."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._reader = Reader(engine, settings)
        self._known = frozenset(self._reader.characters)

    @property
    def ref(self) -> ModelRef:
        return self._reader.ref

    def similarity(self, picture: NDArray[np.uint8], sample: Sample) -> float | None:
        """How like its reading a sample is, 0..1; none where the reading or the comparison means nothing.

        `picture` is uint8 RGB `(height, width, 3)`.
        """
        claimed = _plain(sample.text)
        letters = [char for char in claimed if char.isalpha()]
        if len(claimed) < LEAST or sum(char in self._known for char in letters) < KNOWN * len(letters):
            return None
        crop = _cut(picture, sample)
        if crop.size == 0:
            return None
        if int(crop.max()) - int(crop.min()) < BLANK_CONTRAST:
            return 0.0
        height, width = crop.shape[:2]
        bucket = self._reader.width_of(width, height)
        (line,) = self._reader.read([self._reader.prepare(crop, bucket)], bucket)
        if line.confidence < SURE:
            return None
        return SequenceMatcher(None, claimed, _plain(line.text), autojunk=False).ratio()


def _cut(picture: NDArray[np.uint8], sample: Sample) -> NDArray[np.uint8]:
    """The line, set upright."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = (round(v) for v in sample.bbox)
    part = picture[max(0, y0 - _EDGE) : min(height, y1 + _EDGE), max(0, x0 - _EDGE) : min(width, x1 + _EDGE)]
    return np.ascontiguousarray(np.rot90(part, round(sample.angle / 90) % 4))


def _plain(text: str) -> str:
    """What matters of a text: letters and digits, compatibility forms as one, small. Dot leaders and commas tell nobody apart."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())
