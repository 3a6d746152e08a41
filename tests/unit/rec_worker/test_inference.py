"""Streams, batches and failures of the engine's side, with a reader whose answers are known."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from services.rec_worker.batcher import Flush
from services.rec_worker.inference import Inference, Text
from shared.engines.engine import BatchProfile

pytestmark = pytest.mark.unit

PROFILE = BatchProfile(width_step=64, batches=((640, 4),), max_items=8, max_cost=3200, linger_ms=20.0)


def crop(value: int, width: int = 60) -> npt.NDArray[np.uint8]:
    return np.full((48, width, 3), value, dtype=np.uint8)


class ByValue:
    """Reads a crop's first pixel; value 13 is the poison, and takes its batch down."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[int], int]] = []
        self.gate = threading.Event()
        self.gate.set()

    def read(self, crops: Sequence[npt.NDArray[np.uint8]], bucket: int) -> list[tuple[str, float]]:
        self.gate.wait(10)
        values = [int(pixels[0, 0, 0]) for pixels in crops]
        self.batches.append((values, bucket))
        if 13 in values:
            raise ValueError("poison")
        return [(str(value), 0.9) for value in values]


@pytest.fixture
def reader() -> ByValue:
    return ByValue()


@pytest.fixture
def inference(reader: ByValue) -> Iterator[Inference]:
    inference = Inference(reader, PROFILE, streams=1)
    yield inference
    reader.gate.set()
    inference.close()


def test_crops_of_three_documents_share_a_batch(reader: ByValue, inference: Inference) -> None:
    with inference.cutting():
        futures = [inference.submit(crop(value), document=f"document {value}") for value in (1, 2, 3, 4)]
        assert [future.result(5) for future in futures] == [Text(str(value), 0.9) for value in (1, 2, 3, 4)]
    (fact,) = inference.facts()
    assert (fact.documents, fact.items, fact.room, fact.flush, fact.width) == (4, 4, 4, Flush.full, 240)
    assert reader.batches == [([1, 2, 3, 4], 64)]
    assert inference.facts() == [], "each fact is given once"


def test_only_the_poison_crop_fails(reader: ByValue, inference: Inference) -> None:
    with inference.cutting():
        futures = [inference.submit(crop(value), document="d") for value in (1, 13, 3, 4)]
        assert [future.result(5) if number != 1 else None for number, future in enumerate(futures)] == [
            Text("1", 0.9),
            None,
            Text("3", 0.9),
            Text("4", 0.9),
        ]
        with pytest.raises(ValueError, match="poison"):
            futures[1].result(5)
    assert [values for values, _ in reader.batches] == [[1, 13, 3, 4], [1], [13], [3], [4]]
    assert [fact.failed for fact in inference.facts()] == [True, False, True, False, False]


def test_a_lone_crop_does_not_linger_when_nothing_is_coming(inference: Inference) -> None:
    assert inference.submit(crop(7), document="d").result(5) == Text("7", 0.9)
    assert [fact.flush for fact in inference.facts()] == [Flush.idle]


def test_it_lingers_while_another_page_is_coming(inference: Inference) -> None:
    with inference.cutting(coming=1):
        pass
    assert inference.submit(crop(7), document="d").result(5) == Text("7", 0.9)
    assert [fact.flush for fact in inference.facts()] == [Flush.linger]


def test_close_reads_what_waits(reader: ByValue) -> None:
    inference = Inference(reader, PROFILE, streams=2, linger_s=60.0)
    with inference.cutting():
        futures = [inference.submit(crop(value, width), document="d") for value, width in ((1, 60), (2, 300), (3, 60))]
        inference.close()
    assert [future.result(0).text for future in futures] == ["1", "2", "3"]
    assert isinstance(inference.submit(crop(1), document="d").exception(0), RuntimeError)


def test_many_threads_get_their_own_texts(reader: ByValue) -> None:
    inference = Inference(reader, PROFILE, streams=3)
    wrong: list[int] = []

    def call(owner: int) -> None:
        with inference.cutting():
            values = [(owner * 37 + number) % 256 for number in range(40)]
            values = [value for value in values if value != 13]
            futures = [inference.submit(crop(value, 20 + value * 3), document=str(owner)) for value in values]
        wrong.extend(
            value for value, future in zip(values, futures, strict=True) if future.result(20).text != str(value)
        )

    threads = [threading.Thread(target=call, args=(owner,)) for owner in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    inference.close()
    assert wrong == []


def test_a_crop_of_the_first_lane_waits_for_no_more_than_the_batch_of_each_stream() -> None:
    """Bulk in flight is one batch a stream, however many bulk crops wait."""
    order: list[int] = []
    entered, go_on = threading.Semaphore(0), threading.Semaphore(0)

    class Slow:
        def read(self, crops: Sequence[npt.NDArray[np.uint8]], bucket: int) -> list[tuple[str, float]]:
            entered.release()
            go_on.acquire()
            order.extend(int(pixels[0, 0, 0]) for pixels in crops)
            return [("x", 1.0)] * len(crops)

    inference = Inference(Slow(), PROFILE, streams=2, linger_s=0.0)
    try:
        bulk = [inference.submit(crop(1), document="b", lane="bulk") for _ in range(40)]
        for _ in range(2):
            assert entered.acquire(timeout=10)
        first = inference.submit(crop(2), document="f")
        go_on.release(100)
        first.result(timeout=10)
        for each in bulk:
            each.result(timeout=10)
    finally:
        go_on.release(100)
        inference.close()
    assert order.index(2) < 3 * 4 + 1, "after the two batches that were in the engine, and at most in the next"
