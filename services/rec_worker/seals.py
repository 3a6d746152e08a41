"""The text of a seal: its curved lines, unrolled so that they can be read like any other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from services.rec_worker.crops import Pixels
from shared.contracts.document import ModelRef
from shared.engines.engine import Engine
from shared.settings import Settings


class SealLine(NamedTuple):
    """A line of a seal."""

    picture: Pixels
    """Unrolled: text left to right."""
    polygon: npt.NDArray[np.float32]
    """Around the line where it stands: (n, 2), pixels of the picture given."""


class SealLines:
    """Finds the lines of a seal and unrolls them; may be called by many threads."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        from shared.models.seal import SealDetector

        self._detector = SealDetector(engine, settings)

    @property
    def ref(self) -> ModelRef:
        return self._detector.ref
