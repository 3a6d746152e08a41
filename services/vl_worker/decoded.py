"""Decoded page pictures, shared by the regions of a page.

The tasks of a page come at about the same time, and decoding its picture costs more than all that is done with it: so whoever wants
a page that is being decoded waits for that, and the pages used last are kept. What is dropped here stays valid for who still holds it.

A page is a block that the document child wrote, so it holds a handle as well as memory, and small ones are bounded by their number.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from shared.children.block import Block
from shared.documents.opener import Documents
from shared.objects.store import ObjectStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

AT_ONCE = 2
"""Pictures on their way through the document child: one is decoded there, the next is being fetched."""


class DecodedPages:
    """Least recently used pages, at most `most` of them and `most_bytes` of pixels, and always one. Of one event loop."""

    def __init__(self, store: ObjectStore, bucket: str, documents: Documents, most_bytes: int, most: int) -> None:
        self._store, self._bucket, self._documents = store, bucket, documents
        self._most_bytes, self._most = most_bytes, most
        self._pages: OrderedDict[str, asyncio.Task[Pixels]] = OrderedDict()
        self._places = asyncio.Semaphore(AT_ONCE)
        self.decoded = 0
        """Pictures decoded so far."""

    async def page(self, key: str) -> Pixels:
        """The picture stored under `key`, RGB, (height, width, 3) uint8, not to be written to. Raises as store and decoder do."""
        task = self._pages.get(key)
        if task is None:
            task = self._pages[key] = asyncio.create_task(self._decode(key))
            task.add_done_callback(lambda done: self._ended(key, done))
        self._pages.move_to_end(key)
        return await asyncio.shield(task)  # one region that is cancelled takes nothing from the others

    def close(self) -> None:
        """Forget all pages."""
        for task in self._pages.values():
            task.cancel()
        self._pages.clear()

    async def _decode(self, key: str) -> Pixels:
        async with self._places:
            stored = await self._store.get(self._bucket, key)
            with Block.of(stored) as jpeg:
                width, height, pixels = await self._documents.decode(jpeg)
        self.decoded += 1
        with pixels:
            array: Any = pixels.array((height, width, 3))
            return array  # type: ignore[no-any-return]

    def _ended(self, key: str, task: asyncio.Task[Pixels]) -> None:
        if task.cancelled() or task.exception() is not None:
            if self._pages.get(key) is task:
                del self._pages[key]
            return
        ready = {key: page.result().nbytes for key, page in self._pages.items() if page.done()}
        total = sum(ready.values())
        for oldest in list(ready)[:-1]:
            if total <= self._most_bytes and len(ready) <= self._most:
                break
            del self._pages[oldest]
            total -= ready.pop(oldest)
