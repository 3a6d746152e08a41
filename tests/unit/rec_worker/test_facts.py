"""The busy share of the engine."""

from __future__ import annotations

import pytest

from services.rec_worker.batcher import Flush
from services.rec_worker.call import BatchFact
from services.rec_worker.facts import WINDOW_S, Busy

pytestmark = pytest.mark.unit


def fact(seconds: float) -> BatchFact:
    return BatchFact(bucket=64, items=1, room=1, documents=1, width=60, flush=Flush.idle, seconds=seconds)


def test_the_share_is_of_the_streams_and_of_the_last_half_minute() -> None:
    now = 100.0
    busy = Busy(2, clock=lambda: now)
    assert busy.share() == 0.0
    now = 110.0
    busy.add([fact(6), fact(4)])
    assert busy.share() == pytest.approx(0.5)
    now = 120.0
    busy.add([fact(20)])
    assert busy.share() == pytest.approx(0.75)
    now = 120.0 + WINDOW_S + 1
    assert busy.share() == 0.0
    now += 10.0
    busy.add([fact(20)])
    assert 0.0 < busy.share() <= 1.0
