"""The draft reads all crops; the reader those of which the draft is not sure, each in its own bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from services.rec_worker.cascade import Cascade
from shared.contracts.document import ModelRef
from shared.models.ctc import Line

pytestmark = pytest.mark.unit


class Scripted:
    """A reader that says of a crop what is scripted for its first pixel."""

    def __init__(self, name: str, says: dict[int, Line]) -> None:
        self.ref = ModelRef(stage="reader", name=name, version="1", sha256=name * 8)
        self._says = says
        self.read_crops: list[list[int]] = []
        self.warmed = False

    def prepare(self, crop: Any, bucket_width: int, squeeze: float) -> Any:
        assert squeeze == 1.0
        return crop

    def read(self, crops: Sequence[Any], bucket_width: int) -> list[Line]:
        assert bucket_width == 64
        self.read_crops.append([int(crop[0, 0, 0]) for crop in crops])
        return [self._says[int(crop[0, 0, 0])] for crop in crops]

    def warm(self) -> None:
        self.warmed = True


def crops(count: int) -> list[np.ndarray]:
    return [np.full((48, 60, 3), number, dtype=np.uint8) for number in range(count)]


def cascade(drafted: list[Line], floor: float = 0.6) -> tuple[Cascade, Scripted, Scripted]:
    reader = Scripted("large", {number: Line(f"large {number}", 0.99, 0.9) for number in range(len(drafted))})
    draft = Scripted("small", dict(enumerate(drafted)))
    return Cascade(reader, draft, floor), reader, draft  # type: ignore[arg-type]


def test_only_what_the_draft_is_not_sure_of_is_read_again() -> None:
    sure, weak = Line("sure", 0.95, 0.6), Line("one weak letter in many", 0.97, 0.59)
    both, reader, draft = cascade([sure, weak, sure, Line("", 0.0, 0.0)])
    assert both.read(crops(4), 64) == [("sure", 0.95), ("large 1", 0.99), ("sure", 0.95), ("large 3", 0.99)]
    assert draft.read_crops == [[0, 1, 2, 3]]
    assert reader.read_crops == [[1, 3]]


def test_the_reader_is_not_asked_for_nothing() -> None:
    both, reader, _ = cascade([Line("sure", 0.95, 0.9)])
    assert both.read(crops(1), 64) == [("sure", 0.95)]
    assert reader.read_crops == []


def test_without_a_draft_the_reader_reads_alone_under_its_own_name() -> None:
    reader = Scripted("large", {0: Line("large", 0.9, 0.1)})
    alone = Cascade(reader, None, 0.0)  # type: ignore[arg-type]
    assert alone.read(crops(1), 64) == [("large", 0.9)]
    assert alone.ref == reader.ref


def test_the_pair_is_a_model_of_its_own() -> None:
    """Caches and results must tell it from either, and from the pair with another floor."""
    both, reader, draft = cascade([])
    other, _, _ = cascade([], 0.7)
    assert both.ref.name == "small+large"
    assert len({(ref.name, ref.version, ref.sha256) for ref in (both.ref, other.ref, reader.ref, draft.ref)}) == 4


def test_both_are_warmed() -> None:
    both, reader, draft = cascade([])
    both.warm()
    assert reader.warmed
    assert draft.warmed
