"""The object store as the stages see it: outputs are written once, and whoever loses the race goes on from what is stored.

Calls are coroutines; implementations do blocking I/O on their own threads. Errors are typed:
`DocfleetError(source_missing)` when an object is not there, `DocfleetError(source_changed)` when it is not the one that
was pinned by etag, `Unavailable("objects", …)` when the store itself does not answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import msgspec

from shared.contracts.errors import DocfleetError, ErrorCode

LISTED = 1_000
"""Objects that a listing hands over at once: S3's own page."""


class ObjectStat(msgspec.Struct, frozen=True, kw_only=True):
    """What a store says of an object. `etag` without quotes; `last_modified` in seconds since the epoch."""

    key: str
    size: int
    etag: str
    version_id: str | None = None
    last_modified: float = 0.0


class ObjectStore(Protocol):
    """Objects of several buckets. Keys never start with `/` and have no `..` part."""

    async def stat(self, bucket: str, key: str, *, version_id: str | None = None) -> ObjectStat:
        """Size and etag of an object. Raises `source_missing`, `Unavailable`."""
        ...

    async def get(self, bucket: str, key: str, *, etag: str | None = None, version_id: str | None = None) -> bytes:
        """The whole object. Raises `source_missing`, `source_changed` (when `etag` is given and differs), `Unavailable`."""
        ...

    async def download(
        self, bucket: str, key: str, target: Path, *, etag: str | None = None, version_id: str | None = None
    ) -> ObjectStat:
        """Stream an object into a file, whole or not at all. Raises like `get`."""
        ...

    async def put_once(self, bucket: str, key: str, data: bytes, content_type: str = "application/json") -> bytes:
        """Write an object that does not exist yet and return what is stored: `data`, or what was there before."""
        ...

    async def put(
        self, bucket: str, key: str, data: bytes, content_type: str = "application/octet-stream"
    ) -> ObjectStat:
        """Write or replace an object: for sources, never for outputs."""
        ...

    async def put_file(
        self, bucket: str, key: str, path: Path, content_type: str = "application/octet-stream"
    ) -> ObjectStat:
        """Write or replace an object from a file."""
        ...

    async def exists(self, bucket: str, key: str) -> bool:
        """Whether the object is there. Raises `Unavailable`."""
        ...

    async def remove(self, bucket: str, key: str) -> None:
        """Remove an object; not an error when it is not there."""
        ...

    async def list(self, bucket: str, prefix: str = "") -> list[ObjectStat]:
        """Objects below a prefix, by key."""
        ...

    def walk(self, bucket: str, prefix: str = "") -> AsyncIterator[ObjectStat]:
        """The same one by one, in any order and without holding them all: for a bucket of millions. Raises like `list`."""
        ...

    async def ensure_bucket(self, bucket: str) -> None:
        """Create the bucket where it does not exist."""
        ...

    async def close(self) -> None:
        """Let connections and threads go."""
        ...


async def optional(store: ObjectStore, bucket: str, key: str) -> bytes | None:
    """An object, or none where it is not there. Raises `Unavailable`."""
    try:
        return await store.get(bucket, key)
    except DocfleetError as error:
        if error.code is ErrorCode.source_missing:
            return None
        raise
