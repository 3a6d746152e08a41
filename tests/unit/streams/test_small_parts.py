"""Cancelled documents, waiting for what is away, verdicts about errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shared.children.errors import ChildDied, ChildStalled
from shared.contracts.errors import ErrorCode, Unavailable
from shared.streams.control import Cancelled
from shared.streams.offsets import OffsetTracker
from shared.streams.poison import convicted, verdict
from shared.streams.waiting import Away
from shared.streams.work import Assignment, Item, Polled
from shared.telemetry import tracing
from shared.telemetry.health import Health

pytestmark = pytest.mark.unit


def item() -> Item:
    tracker = OffsetTracker(0)
    tracker.add(0)
    tracker.start(0)
    return Item(Polled("docs.rec", 0, 0, None, b"", [], 0), Assignment("docs.rec", 0, 1, tracker), tracing.new())


def test_only_that_generation_is_cancelled_and_the_oldest_are_forgotten() -> None:
    known = Cancelled(limit=2)
    known.add(("a", 1))
    assert ("a", 1) in known
    assert ("a", 0) not in known
    known.add(("b", 0))
    known.add(("a", 1))
    known.add(("c", 0))
    assert ("b", 0) not in known
    assert ("a", 1) in known


def test_a_death_in_company_convicts_nobody() -> None:
    one = item()
    for _ in range(5):
        assert verdict(one, ChildDied("x")) is None
    assert one.assignment.tracker.suspect(0)
    assert one.assignment.tracker.deaths(0) == 0


def test_two_deaths_alone_convict_and_the_last_one_names_the_code() -> None:
    one = item()
    one.alone = True
    assert verdict(one, ChildDied("x")) is None
    assert convicted(one) is None
    error = verdict(one, ChildStalled("x"))
    assert error is not None
    assert error.code is ErrorCode.stalled
    after = convicted(one)
    assert after is not None
    assert after.code is ErrorCode.crashed


def test_a_bug_has_one_more_try() -> None:
    one = item()
    assert verdict(one, KeyError("x")) is None
    error = verdict(one, KeyError("x"))
    assert error is not None
    assert error.code is ErrorCode.internal
    assert "'x'" not in error.message


async def test_what_is_away_turns_readiness_and_the_first_back_wakes_the_others() -> None:
    health = Health()
    health.ready("stage", True)
    away = Away(health, seed=1)
    one, two = item(), item()
    assert not away
    for _ in range(6):  # pauses grow: the next may last up to 30 s
        two_waits = asyncio.create_task(away.wait(two, Unavailable("objects", "no answer")))
        await asyncio.sleep(0)
        two_waits.cancel()
    two_waits = asyncio.create_task(away.wait(two, Unavailable("objects", "no answer")))
    await away.wait(one, Unavailable("objects", "no answer"))
    assert away
    assert health.unready() == {"objects": "no answer"}
    away.over(one)
    assert not away, "what got through holds nobody back, however long the others take"
    assert health.unready() == {}
    await asyncio.wait_for(two_waits, 1)
    away.over(two)
    assert not away


async def two_that_wait(what: str) -> tuple[Health, Away, Item, Item, asyncio.Future[Any]]:
    """Two records that pause because `what` is away, and their pauses."""
    health = Health()
    health.ready("stage", True)
    away = Away(health, seed=1)
    one, two = item(), item()
    waits = [asyncio.create_task(away.wait(i, Unavailable(what, "no answer", longest_s=20))) for i in (one, two)]
    await asyncio.sleep(0)
    return health, away, one, two, asyncio.gather(*waits)


async def test_an_abandoned_record_brings_nothing_back() -> None:
    health, away, one, two, pauses = await two_that_wait("vl")
    away.over(one, through=False)
    assert away
    assert health.unready() == {"vl": "no answer"}
    away.over(two, through=False)
    assert not away
    await asyncio.wait_for(pauses, 2)


async def test_what_nobody_waits_for_any_more_is_not_away_where_a_record_waits_for_one_thing_after_the_other() -> None:
    """A worker whose clock is wrong is refused by the store first, then by the broker. It was never ready again."""
    health, away, one, two, pauses = await two_that_wait("objects")
    await away.wait(one, Unavailable("broker", "refused", longest_s=0.2))
    assert health.unready() == {"objects": "no answer", "broker": "refused"}
    await away.wait(two, Unavailable("broker", "refused", longest_s=0.2))
    assert health.unready() == {"broker": "refused"}
    await asyncio.wait_for(pauses, 2)
    away.over(one)
    away.over(two)
    assert health.unready() == {}


async def test_the_pause_is_no_longer_than_the_trouble_says() -> None:
    away = Away(Health(), seed=1)
    one = item()
    loop = asyncio.get_running_loop()
    for _ in range(8):
        began = loop.time()
        await away.wait(one, Unavailable("vl", "no answer", longest_s=0.2))
        assert loop.time() - began < 0.5
