"""Files of this machine in the store, where the fleet finds them.

The key holds a hash of the content. So a file that is submitted again is the same object, and another file submitted under an id that
is taken replaces nothing: what the fleet has pinned stays readable, and the second submission is a conflict, as it is with objects.
"""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
import os
from pathlib import Path

from shared.contracts.records import SourceRef
from shared.objects.store import ObjectStore

HASH_CHARS = 16
"""Hex digits of sha256 in a key: two contents under one document id do not meet by chance."""


async def upload(store: ObjectStore, path: Path, document_id: str, bucket: str) -> SourceRef:
    """Put a file into a bucket, below the document's id. Raises `FileNotFoundError` for what is no file, `OSError`, `Unavailable`."""
    digest = await asyncio.to_thread(_sha256_of, path)
    key = f"{document_id}/{digest[:HASH_CHARS]}/{readable(path.name)}"
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    stat = await store.put_file(bucket, key, path, kind)
    return SourceRef(bucket=bucket, key=key, etag=stat.etag, size=stat.size)


def content_of(source: SourceRef) -> str:
    """What an uploaded file holds, as far as its key says it: equal for equal contents."""
    return source.key.split("/")[1]


def readable(name: str) -> str:
    """A file's name as text: bytes that are no UTF-8 are replaced, since records and keys are UTF-8."""
    return os.fsencode(name).decode("utf-8", "replace")


def _sha256_of(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(str(path))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
