"""Whether an `om` answers as its ONNX file does: pictures go through all models, and each network is asked twice, on the CPU and on the NPU.

What is compared is what the networks give for the inputs of these pictures, not text: a difference shows where it arises. An NPU computes in half
precision, so answers differ a little. The tolerances are not measured on a card yet; the runbook asks for figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from shared.engines.engine import Array, Engine, Network, TensorInfo
from shared.settings import Settings

MEAN = 0.005
"""Mean difference of real numbers (probabilities, mostly) that passes."""
EQUAL = 0.98
"""Share of whole numbers (classes) that must be the same."""
MOST_LINES = 64


class Difference(msgspec.Struct, kw_only=True):
    """One output of one network, over all calls."""

    model: str
    output: str
    whole: bool
    """Whole numbers are counted equal or not; real ones subtracted."""
    calls: int = 0
    values: int = 0
    total: float = 0.0
    largest: float = 0.0
    """Of real numbers: sum and largest of absolute differences. Of whole ones: how many differ."""
    beyond: list[str] = []
    """Pictures of which it does not pass."""

    @property
    def mean(self) -> float:
        """Mean absolute difference, or the share that differs."""
        return self.total / max(1, self.values)

    @property
    def passes(self) -> bool:
        return self.calls > 0 and self.mean <= (1 - EQUAL if self.whole else MEAN)

    def add(self, one: Array, other: Array) -> None:
        """Count a pair of answers; of different shapes nothing is equal."""
        self.calls += 1
        self.values += one.size
        if one.shape != other.shape:
            self.total += one.size
            self.largest = float("inf")
        elif self.whole:
            self.total += int(np.count_nonzero(one != other))
        else:
            apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
            self.total += float(apart.sum())
            self.largest = max(self.largest, float(apart.max(initial=0.0)))

    def join(self, other: Difference, picture: str) -> None:
        """Add what one picture gave."""
        self.calls += other.calls
        self.values += other.values
        self.total += other.total
        self.largest = max(self.largest, other.largest)
        if other.calls and not other.passes:
            self.beyond.append(picture)


class _Both:
    """A network that is asked twice and answers as the first."""

    def __init__(self, first: Network, second: Network, model: str) -> None:
        self._first, self._second = first, second
        self._model = model
        self.inputs: list[TensorInfo] = first.inputs
        self.outputs: list[TensorInfo] = first.outputs
        self.differences = self.fresh()

    def fresh(self) -> list[Difference]:
        """One for each output, with nothing in it; `differences` are counted in these from now on."""
        self.differences = [
            Difference(model=self._model, output=one.name, whole=np.dtype(one.dtype).kind in "iu")
            for one in self._first.outputs
        ]
        return self.differences

    def infer(self, *arrays: Array) -> list[Array]:
        answers = self._first.infer(*arrays)
        for difference, one, other in zip(self.differences, answers, self._second.infer(*arrays), strict=True):
            difference.add(one, other)
        return answers


class _BothEngines:
    """Loads each network on two engines; shapes are those of the second one's profile."""

    name = "both"

    def __init__(self, first: Engine, second: Engine) -> None:
        self._first, self._second = first, second
        self.version, self.precision, self.streams = first.version, first.precision, first.streams
        self.profile = second.profile
        self.networks: list[_Both] = []

    def load(self, path: Path) -> Network:
        model = path.parent.name.rsplit("-", 2)[0]  # without version and hash
        both = _Both(self._first.load(path), self._second.load(path), model)
        self.networks.append(both)
        return both


class Comparison:
    """All models on both engines, opened once, and what pictures of pages gave so far."""

    def __init__(self, first: Engine, second: Engine, settings: Settings) -> None:
        """Raises `DocfleetError(model_unavailable)` for a model that is not installed, or not built."""
        from shared.models.layout import LayoutModel
        from shared.models.lines import LineDetector
        from shared.models.orientation import OrientationModel
        from shared.models.reader import DRAFT, Reader
        from shared.models.seal import SealDetector
        from shared.models.table import TableStructure

        engines = _BothEngines(first, second)
        self._layout = LayoutModel(engines, settings)
        self._orientation = OrientationModel(engines, settings)
        self._lines = LineDetector(engines, settings)
        self._readers = [Reader(engines, settings), Reader(engines, settings, DRAFT)]
        self._table = TableStructure(engines, settings)
        self._seals = SealDetector(engines, settings)
        self._networks = engines.networks
        self._sums = [both.fresh() for both in self._networks]

    @property
    def differences(self) -> list[Difference]:
        """Of each output of each network, over all pictures."""
        return [difference for sums in self._sums for difference in sums]

    def add(self, picture: Path) -> None:
        """Read a picture (PNG, JPEG) with all models on both engines. Raises `ValueError` for what is no picture."""
        import cv2

        pixels = cv2.imread(str(picture))
        if pixels is None:
            raise ValueError(f"{picture} is not a picture that can be read")
        found = [both.fresh() for both in self._networks]
        self._read(np.ascontiguousarray(pixels[:, :, ::-1]))
        for sums, ones in zip(self._sums, found, strict=True):
            for total, one in zip(sums, ones, strict=True):
                total.join(one, picture.name)

    def _read(self, page: np.ndarray) -> None:
        self._layout.detect(page)
        self._orientation.angle(page)
        crops = list(_crops(page, [line.quad for line in self._lines.detect(page)]))
        for reader in self._readers:
            for crop in crops:
                width = reader.width_of(crop.shape[1], crop.shape[0])
                reader.read([reader.prepare(crop, width)], width)
        self._table.read(page)
        self._seals.lines(page)


def _crops(page: np.ndarray, quads: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """Upright boxes around lines, the first `MOST_LINES`."""
    height, width = page.shape[:2]
    for quad in quads[:MOST_LINES]:
        x0, y0 = np.clip(quad.min(axis=0), 0, [width - 1, height - 1]).astype(int)
        x1, y1 = np.clip(np.ceil(quad.max(axis=0)), 1, [width, height]).astype(int)
        if x1 > x0 and y1 > y0:
            yield np.ascontiguousarray(page[y0:y1, x0:x1])
