"""Who goes to the engine child next."""

from __future__ import annotations

import asyncio

import pytest

from services.rec_worker.places import Places
from shared.contracts.options import Lane

pytestmark = pytest.mark.unit


class Room:
    """Pages that hold a place until they are let go."""

    def __init__(self, total: int) -> None:
        self.places = Places(total)
        self.inside: list[str] = []
        self.order: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, name: str, lane: Lane) -> None:
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

    async def _stay(self, name: str, lane: Lane) -> None:
        async with self.places.hold(lane):
            self.inside.append(name)
            self.order.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.inside.remove(name)


async def test_bulk_leaves_places_and_the_first_lane_finds_one_at_once() -> None:
    room = Room(8)
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
