"""Who of two lanes goes next, where both wait."""

from __future__ import annotations

import asyncio

import pytest

from shared.children.places import Places
from shared.children.preference import BULK_EVERY, bulk_places, current_lane, in_lane
from shared.contracts.options import Lane

pytestmark = pytest.mark.unit


class Room:
    """Pages that hold a place until they are let go."""

    def __init__(self, total: int, bulk: int | None = None) -> None:
        self.places = Places(total, bulk)
        self.inside: list[str] = []
        self.order: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, name: str, lane: Lane | None) -> None:
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._stay(name, lane))
        await asyncio.sleep(0)

    async def go(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks[name]
        await asyncio.sleep(0)

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await asyncio.gather(self._tasks[name], return_exceptions=True)
        await asyncio.sleep(0)

    async def _stay(self, name: str, lane: Lane | None) -> None:
        async with self.places.hold(lane):
            self.inside.append(name)
            self.order.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.inside.remove(name)


async def test_bulk_leaves_places_and_the_first_lane_finds_one_at_once() -> None:
    room = Room(8, bulk_places(8))
    for number in range(10):
        await room.come(f"b{number}", "bulk")
    assert room.inside == [f"b{number}" for number in range(6)]
    await room.come("f", "first")
    assert "f" in room.inside


async def test_the_first_lane_goes_before_bulk_that_waits_longer() -> None:
    room = Room(1)
    await room.come("b0", "bulk")
    for name, lane in (("b1", "bulk"), ("b2", "bulk"), ("f1", "first"), ("f2", "first")):
        await room.come(name, lane)  # type: ignore[arg-type]
    for name in ("b0", "f1", "f2", "b1", "b2"):
        assert room.inside == [name]
        await room.go(name)
    assert room.inside == []


async def test_one_that_gives_up_leaves_no_place_taken() -> None:
    room = Room(1)
    for name in ("a", "b", "c"):
        await room.come(name, "first")
    await room.cancel("b")  # while it waited
    await room.cancel("a")  # while it held the place
    assert room.inside == ["c"]
    await room.go("c")
    await room.come("d", "bulk")
    assert room.inside == ["d"]
    await room.go("d")


async def test_one_cancelled_in_the_moment_of_its_turn_gives_the_place_on() -> None:
    room = Room(1)
    await room.come("a", "first")
    await room.come("b", "first")
    await room.come("c", "bulk")
    room._ends["a"].set()
    await asyncio.sleep(0)  # a is gone and b has its turn, but did not run yet
    assert room.order == ["a"]
    await room.cancel("b")
    assert room.order == ["a", "c"]
    await room.go("c")


async def test_bulk_has_every_fifth_turn_however_many_of_the_first_lane_wait() -> None:
    room = Room(1)
    await room.come("f", "first")
    for number in range(3 * BULK_EVERY):
        await room.come(f"f{number}", "first")
    for number in range(3):
        await room.come(f"b{number}", "bulk")
    for _ in range(2 * BULK_EVERY):
        await room.go(room.inside[0])
    assert [name[0] for name in room.order[1:]].count("b") == 2


async def test_bulk_may_have_every_place_where_nothing_is_said() -> None:
    room = Room(2)
    for name in ("b0", "b1", "b2"):
        await room.come(name, "bulk")
    assert room.inside == ["b0", "b1"]


async def test_the_lane_is_that_of_the_work_unless_it_is_given() -> None:
    room = Room(1)
    await room.come("a", None)
    with in_lane("bulk"):
        assert current_lane() == "bulk"
        await room.come("patient", None)
    assert current_lane() == "first"
    await room.come("short", None)
    await room.go("a")
    assert room.inside == ["short"]
