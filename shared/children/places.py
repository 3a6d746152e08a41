"""A semaphore that knows the two lanes: who of the first lane waits goes before bulk that waits longer.

A stage admits records of both lanes at once, and where they wait again for something scarce (a child process takes one call at a time)
a plain queue would put a short document behind all that were admitted of a long one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.children.preference import Preference, current_lane
from shared.contracts.options import Lane

_LANES: tuple[Lane, ...] = ("first", "bulk")


class Places:
    """At most `total` holders, of which `bulk` (all, unless given) of the bulk lane. Of one event loop."""

    def __init__(self, total: int, bulk: int | None = None) -> None:
        self._total = total
        self._bulk = total if bulk is None else bulk
        self._held: dict[Lane, int] = {"first": 0, "bulk": 0}
        self._waiting: dict[Lane, deque[asyncio.Future[None]]] = {"first": deque(), "bulk": deque()}
        self._preference = Preference()

    @asynccontextmanager
    async def hold(self, lane: Lane | None = None) -> AsyncIterator[None]:
        """Wait for a place and hold it. The lane is that of the record that is being worked on, unless given."""
        lane = lane or current_lane()
        await self.take(lane)
        try:
            yield
        finally:
            self.give_back(lane)

    async def take(self, lane: Lane) -> None:
        """Wait for a place, which `give_back` with the same lane frees."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[lane].append(turn)
        self._hand_out()
        if turn.done():
            return
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was this one's turn already: give the place on
                self.give_back(lane)
            raise

    def give_back(self, lane: Lane) -> None:
        """Free a place."""
        self._held[lane] -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while sum(self._held.values()) < self._total:
            waiting = {lane: self._somebody(lane) for lane in _LANES}
            lane = self._preference.choose(waiting, self._held["bulk"], self._bulk)
            if lane is None:
                return
            self._preference.taken(lane, waiting["bulk"])
            self._held[lane] += 1
            self._waiting[lane].popleft().set_result(None)

    def _somebody(self, lane: Lane) -> bool:
        """Whether anybody of a lane waits; who gave up is forgotten."""
        queue = self._waiting[lane]
        while queue and queue[0].done():
            queue.popleft()
        return bool(queue)
