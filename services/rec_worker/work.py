"""The lines of a region while they are being read, and how sure the reading is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from services.rec_worker.inference import Text
from services.rec_worker.read import LineCrop, LineFailed
from shared.contracts.layout import Region

Second = Literal["none", "direct", "seal"]
"""Which second look there is where the first reading is not sure."""


@dataclass
class Wanted:
    """A line to be read (or already text), and where it stands, in units of the page."""

    bbox: list[float]
    crop: LineCrop | None
    vertical: bool
    text: Text | LineFailed | None = None


@dataclass
class Work:
    """A region and its lines."""

    region: Region
    lines: list[Wanted] = field(default_factory=list)
    second: Second = "none"

    @property
    def direct(self) -> bool:
        """Whether the region was taken for one line, without detection."""
        return self.second == "direct"

    @property
    def characters(self) -> int:
        return sum(len(text.text) for text in self._texts())

    @property
    def confidence(self) -> float:
        """Mean over the characters, 0 where there are none."""
        return sum(text.confidence * len(text.text) for text in self._texts()) / max(1, self.characters)

    def better(self, other: Work) -> bool:
        """Whether `other`, a second look at the same region, reads it better.

        A direct region has one line, and both looks saw it: the surer one is right. On a seal one look may see lines that the other missed, and
        either may see lines where there are none: every character counts by how far its line is from a guess.
        """
        if self.direct:
            return other.confidence > self.confidence
        return other._gain() > self._gain()

    def _gain(self) -> float:
        return sum((text.confidence - 0.5) * len(text.text) for text in self._texts())

    def _texts(self) -> list[Text]:
        return [line.text for line in self.lines if isinstance(line.text, Text)]
