"""Who may hand a page to the engine child next.

The child reads a few pages at once and its batcher prefers the first lane, but only among the crops it has. So pages wait here, the first
lane before bulk, and bulk pages never take the last places: a page of the first lane has its crops in the batcher as soon as it is decoded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.contracts.options import Lane
from shared.streams.lanes import bulk_places


class Places:
    """At most `total` holders, of which `bulk_places(total)` of the bulk lane. Of one event loop.

    Bulk is not starved by the first lane for good: admission to the worker gives it its share.
    """

    def __init__(self, total: int) -> None:
        self._limits: dict[Lane, int] = {"first": total, "bulk": bulk_places(total)}
        self._total = total
        self._held: dict[Lane, int] = {"first": 0, "bulk": 0}
        self._waiting: dict[Lane, deque[asyncio.Future[None]]] = {"first": deque(), "bulk": deque()}

    @asynccontextmanager
    async def hold(self, lane: Lane) -> AsyncIterator[None]:
        """Wait for a place and hold it."""
        if self._waiting[lane] or not self._free(lane):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[lane].append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # it was this one's turn already: give the place on
                    self._held[lane] -= 1
                    self._hand_out()
                raise
        else:
            self._held[lane] += 1
        try:
            yield
        finally:
            self._held[lane] -= 1
            self._hand_out()

    def _free(self, lane: Lane) -> bool:
        return sum(self._held.values()) < self._total and self._held[lane] < self._limits[lane]

    def _hand_out(self) -> None:
        lanes: tuple[Lane, ...] = ("first", "bulk")
        for lane in lanes:
            while self._waiting[lane] and self._free(lane):
                turn = self._waiting[lane].popleft()
                if not turn.done():
                    self._held[lane] += 1
                    turn.set_result(None)
