"""An event loop in a thread, so that plain code can call what is asynchronous (object store, child processes)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines until `close`. Children started by them live as long as the thread does."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="docfleet-client", daemon=True)
        self._thread.start()

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine and return what it returns, or raise what it raises."""
        return self.begin(call).result()

    def begin(self, call: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine."""
        return asyncio.run_coroutine_threadsafe(call, self._loop)

    def close(self) -> None:
        """Cancel what is still running and end the thread. May be called again."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
