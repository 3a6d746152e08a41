"""closed, open, half-open."""

from __future__ import annotations

import pytest

from services.vl_worker.breaker import Breaker, State

pytestmark = pytest.mark.unit


def test_failures_in_a_row_open_it_and_a_success_between_does_not():
    breaker = Breaker(3, 4.0)
    for _ in range(5):
        breaker.failed("x")
        breaker.failed("x")
        breaker.succeeded()
    assert breaker.state is State.closed
    for _ in range(3):
        breaker.failed("gone")
    assert breaker.state is State.open
    assert breaker.why == "gone"


def test_a_late_success_does_not_close_it_and_a_probe_does():
    breaker = Breaker(1, 4.0)
    breaker.failed("x")
    breaker.succeeded()
    assert breaker.state is State.open
    breaker.probing()
    assert breaker.state is State.half_open
    breaker.probed("still away")
    assert breaker.state is State.open
    assert breaker.why == "still away"
    breaker.probing()
    breaker.probed(None)
    assert breaker.state is State.closed
    assert breaker.why == ""


def test_pauses_double_up_to_the_longest_and_start_anew_after_it_closed():
    breaker = Breaker(1, 4.0, seed=1)
    pauses = [breaker.pause() for _ in range(6)]
    for pause, full in zip(pauses, [0.5, 1, 2, 4, 4, 4], strict=True):
        assert 0.75 * full <= pause <= full
    breaker.probed(None)
    assert breaker.pause() <= 0.5
