"""Sources on disk: fetched once per worker, however many pages of a document arrive and however many of them at once.

A folder of this process's own, files by bucket, key and version or etag, least recently used go first, files in use never. A fetch that
several pages wait for is one fetch; a page that is cancelled while it waits cancels nothing for the others.

Nothing survives a restart: the folder goes with its process, and one that was killed leaves it to the next that starts beside it. A cache
that is taken over would have to be checked against the store first, and a worker that starts has other pages to lay out than the one before.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path

from shared.contracts.errors import Unavailable
from shared.contracts.records import SourceInfo
from shared.objects.scratch import Scratch
from shared.objects.store import ObjectStat, ObjectStore

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class _Entry:
    """A source on its way or on disk. `users` counts those who hold or await it."""

    def __init__(self, path: Path, fetch: asyncio.Task[int], expected: int) -> None:
        self.path = path
        self.fetch = fetch
        self.users = 0
        self._expected = expected

    @property
    def size(self) -> int:
        """Bytes on disk; while it is being fetched, those that are expected."""
        if not self.fetch.done():
            return self._expected
        return self.fetch.result() if not self.fetch.cancelled() and not self.fetch.exception() else 0


class Sources:
    """Disk cache of source objects.

    Invariant: the files that nobody uses, together with those in use, exceed `limit_bytes` only as far as those in use do.
    """

    def __init__(self, store: ObjectStore, folder: Path | None, limit_bytes: int) -> None:
        self._store = store
        self._limit = limit_bytes
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._scratch = Scratch("docfleet-sources", folder)
        self._folder = self._scratch.path
        self.fetched = 0
        """Objects fetched so far."""

    @contextlib.asynccontextmanager
    async def file(self, source: SourceInfo) -> AsyncIterator[Path]:
        """The source as a file that stays while the context lasts.

        Raises `source_missing`, `source_changed`, `Unavailable` as the store does, `Unavailable` too where the disk has no room; a failed
        fetch is forgotten. Room is made before the fetch begins, as far as the source's size is known.
        """
        name = _name(source)
        entry = self._entries.get(name)
        if entry is None:
            path = self._folder / name
            fetch = asyncio.create_task(self._fetch(source, path))
            entry = self._entries[name] = _Entry(path, fetch, source.size or 0)
        self._entries.move_to_end(name)
        entry.users += 1
        try:
            self._evict()
            await asyncio.shield(entry.fetch)
            self._evict()
            yield entry.path
        finally:
            entry.users -= 1
            self._let_go(name, entry)

    def _let_go(self, name: str, entry: _Entry) -> None:
        if entry.users == 0:
            if not entry.fetch.done():
                entry.fetch.cancel()  # nobody waits for it any more
            if entry.fetch.cancelled() or not entry.fetch.done() or entry.fetch.exception():
                self._forget(name, entry)
        elif entry.fetch.done() and (entry.fetch.cancelled() or entry.fetch.exception()):
            self._forget(name, entry)
        self._evict()

    async def _fetch(self, source: SourceInfo, path: Path) -> int:
        try:
            stat = await self._download(source, path)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            self._evict(0)  # others may have filled the disk: what nobody uses here is the first to go
            try:
                stat = await self._download(source, path)
            except OSError as again:
                if again.errno not in _NO_ROOM:
                    raise
                raise Unavailable("disk", "no room for a source; see layout.source_cache") from again
        self.fetched += 1
        return stat.size

    async def _download(self, source: SourceInfo, path: Path) -> ObjectStat:
        return await self._store.download(
            source.bucket, source.key, path, etag=source.etag, version_id=source.version_id
        )

    def _evict(self, limit: int | None = None) -> None:
        limit = self._limit if limit is None else limit
        total = sum(entry.size for entry in self._entries.values())
        for name, entry in list(self._entries.items()):
            if total <= limit:
                return
            if entry.users == 0 and entry.fetch.done():
                total -= entry.size
                self._forget(name, entry)

    def _forget(self, name: str, entry: _Entry) -> None:
        if self._entries.get(name) is entry:
            del self._entries[name]
            entry.path.unlink(missing_ok=True)

    async def close(self) -> None:
        """Cancel what is being fetched and remove the folder."""
        for entry in self._entries.values():
            entry.fetch.cancel()
        await asyncio.gather(*(entry.fetch for entry in self._entries.values()), return_exceptions=True)
        self._entries.clear()
        self._scratch.close()


def _name(source: SourceInfo) -> str:
    parts = (source.bucket, source.key, source.version_id or "", source.etag or "")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
