"""The runner as the consumer's thread sees it: every call becomes one on the event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol

from shared.streams.rebalance import Start
from shared.streams.work import Commit, Place, Polled


class Resident(Protocol):
    """Who lives on the event loop (the runner)."""

    def arrived(self, records: Iterable[Polled]) -> None: ...
    def assigned(self, starts: list[Start]) -> None: ...
    def lost(self, places: list[Place]) -> None: ...
    def committed(self, commits: list[Commit], ok: bool) -> None: ...
    def broker(self, ok: bool, why: str) -> None: ...
    def broken(self, error: BaseException) -> None: ...
    def turned(self) -> None: ...
    def drain(self, places: list[Place]) -> Coroutine[Any, Any, list[Commit]]: ...


class Bridge:
    """`shared.streams.poller.Listener` for a resident of an event loop. Calls keep their order."""

    def __init__(self, resident: Resident, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._resident = resident
        self.arrived = self.post(resident.arrived)
        self.assigned = self.post(resident.assigned)
        self.lost = self.post(resident.lost)
        self.committed = self.post(resident.committed)
        self.broker = self.post(resident.broker)
        self.broken = self.post(resident.broken)
        self.turned = resident.turned
        """The one call that is made as it is, on the consumer's thread."""

    def post(self, function: Callable[..., None]) -> Callable[..., None]:
        """A function that any thread may call: it runs on the event loop, soon."""

        def call(*arguments: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nothing of this process matters any more
                self._loop.call_soon_threadsafe(function, *arguments)

        return call

    def drain(self, places: list[Place]) -> list[Commit]:
        """Runs on the event loop; the calling thread waits for it. Nothing where the loop is closed: this process is over."""
        draining = self._resident.drain(places)
        try:
            return asyncio.run_coroutine_threadsafe(draining, self._loop).result()
        except RuntimeError:
            if not self._loop.is_closed():
                raise
            draining.close()
            return []
