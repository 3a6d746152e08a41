"""The text of a seal: its curved lines unrolled, so that they can be read like any other.

A ring can be unrolled two ways, and which one is upright is not known before it is read: where the first is not read surely
the other is tried, as with lines that run along the side of a page.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from services.rec_worker.crops import Pixels
from services.rec_worker.read import LineCrop
from shared.contracts.document import ModelRef
from shared.models.seal import SealLine

SPECKLE = 1 / 200
"""Radius of the blur, in longest sides, that closes the speckles of worn stamps in black-and-white scans and leaves their letters."""


class Seals(Protocol):
    """Finds and unrolls the lines of a seal; `shared.models.seal.SealDetector`."""

    @property
    def ref(self) -> ModelRef: ...
    def lines(self, picture: Pixels) -> list[SealLine]: ...


class Unrolled(NamedTuple):
    """A line of a seal, straight."""

    polygon: npt.NDArray[np.float32]
    """Around the line where it stands, (n, 2), pixels of the picture given."""
    crop: LineCrop


def lines_of(seals: Seals, picture: Pixels) -> list[Unrolled]:
    """The lines of a seal (RGB, cropped to it with a little margin), by the height of their middles.

    That is how they are read: the name along the upper ring, what stands inside, the number along the lower ring.
    """
    found = sorted(seals.lines(picture), key=lambda line: float(line.polygon[:, 1].mean()))
    return [Unrolled(line.polygon, LineCrop(line.picture, (0, 2), squeezed=False)) for line in found]


def smoothed(picture: Pixels) -> Pixels:
    """The picture of a seal as the eye sees it from further away."""
    radius = SPECKLE * max(picture.shape[:2])
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), max(0.3, radius)), dtype=np.uint8)
