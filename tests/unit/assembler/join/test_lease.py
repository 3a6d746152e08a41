"""A join that slept through its session appends nothing more."""

from __future__ import annotations

import pytest

from services.assembler.join.lease import Lease

SESSION_S, HEARTBEAT_S = 6.0, 2.0


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def slept():
    return []


@pytest.fixture
def lease(clock, slept):
    return Lease(SESSION_S, HEARTBEAT_S, slept.append, clock=clock)


def test_a_process_that_is_awake_goes_on(clock, slept, lease):
    for _ in range(1_000):
        clock.now += SESSION_S - HEARTBEAT_S - 0.1
        lease.check()
        lease.look()
    assert slept == []


def test_an_append_after_a_long_sleep_ends_it(clock, slept, lease):
    clock.now += SESSION_S + 0.1
    lease.check()
    assert slept == [pytest.approx(SESSION_S + 0.1)]


def test_the_session_counts_from_the_last_heartbeat_which_may_lie_before_the_sleep(clock, slept, lease):
    clock.now += SESSION_S - HEARTBEAT_S + 0.1
    lease.check()
    assert slept == [pytest.approx(SESSION_S - HEARTBEAT_S + 0.1)]


def test_the_thread_that_wakes_first_does_not_hide_the_sleep(clock, slept, lease):
    clock.now += 2 * SESSION_S
    lease.look()
    assert slept == [pytest.approx(2 * SESSION_S)]
