"""Documents that somebody waits for, and what the store says of those that nothing is published of.

A document's end is published once. So whoever submits one again that has ended hears nothing, nor does whoever submits another file
under an id that is taken: ingest answers neither, because an answer would be about somebody else's document. The store knows: `done/`
says that a document ended, its envelope says whose the id is. It is asked now and then, for a few documents at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

from docfleet.background import Background
from shared.contracts.codec import decode, sha256
from shared.contracts.document import ParsedDocument
from shared.contracts.errors import DocfleetError
from shared.contracts.layout import DoneMark
from shared.contracts.places import same_place, taken
from shared.contracts.records import (
    MAX_PARSED_ERRORS,
    DocumentParsed,
    DocumentSubmitted,
    ObjectRef,
    SourceInfo,
    SourceRef,
)
from shared.objects import keys
from shared.objects.store import ObjectStore, optional

LOOK_S = 5.0
"""Seconds between two looks into the store, and before the first one."""
LOOKED = 100
"""Documents of one look, those that were looked at longest ago."""


@dataclass
class _Asked:
    generation: int
    source: SourceRef
    mark: DoneMark | None = None
    """Its end, seen by an earlier look: the record may have been on its way then."""


@dataclass(frozen=True)
class Found:
    """What a look found: how a document ended before, or the `conflict` that it will have no result."""

    document_id: str
    mark: DoneMark | None = None
    conflict: DocfleetError | None = None


class Waiting:
    """Not for use by several threads at once."""

    def __init__(self, background: Background, store: ObjectStore, bucket: str) -> None:
        self._background, self._store, self._bucket = background, store, bucket
        self._asked: dict[str, _Asked] = {}
        self._looked_at = time.monotonic()

    def __contains__(self, document_id: str) -> bool:
        return document_id in self._asked

    def __len__(self) -> int:
        return len(self._asked)

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked)

    def add(self, document_id: str, generation: int, source: SourceRef) -> None:
        """Wait for the end of this generation, or of a higher one: that ends this one too."""
        if not self._asked:
            self._looked_at = time.monotonic()
        self._asked[document_id] = _Asked(generation, source)

    def discard(self, document_id: str) -> None:
        """Wait no more."""
        self._asked.pop(document_id, None)

    def means(self, document_id: str, generation: int) -> bool:
        """Whether a record is about something that is waited for: an earlier attempt is not."""
        asked = self._asked.get(document_id)
        return asked is not None and generation >= asked.generation

    def look(self) -> list[Found]:
        """Ask the store, once in `LOOK_S`; an end counts when two looks have seen it. Raises `Unavailable`."""
        if time.monotonic() - self._looked_at < LOOK_S:
            return []
        chosen = list(self._asked.items())[:LOOKED]
        found = self._background.run(self._all(chosen))
        for document_id, asked in chosen:
            del self._asked[document_id]
            self._asked[document_id] = asked  # to the end of the line
        self._looked_at = time.monotonic()
        return [one for one in found if one is not None]

    async def _all(self, chosen: list[tuple[str, _Asked]]) -> list[Found | None]:
        return await asyncio.gather(*(self._one(document_id, asked) for document_id, asked in chosen))

    async def _one(self, document_id: str, asked: _Asked) -> Found | None:
        kept = await optional(self._store, self._bucket, keys.envelope(document_id, asked.generation))
        if kept is not None and not same_place(decode(kept, DocumentSubmitted).source, asked.source):
            return Found(document_id, conflict=taken(document_id, asked.generation))
        stored = await optional(self._store, self._bucket, keys.done(document_id))
        mark = decode(stored, DoneMark) if stored is not None else None
        if mark is None or mark.generation < asked.generation:
            return None
        before, asked.mark = asked.mark, mark
        return Found(document_id, mark=mark) if before is not None else None

    def record(self, mark: DoneMark) -> DocumentParsed:
        """The end of a document as far as the store has it: without times, and without the errors of one that has no result."""
        return self._background.run(self._record(mark, self._asked[mark.document_id].source))

    async def _record(self, mark: DoneMark, source: SourceRef) -> DocumentParsed:
        key = keys.document(mark.document_id, mark.generation)
        data = await optional(self._store, self._bucket, key)
        if data is None:
            info = SourceInfo(
                bucket=source.bucket, key=source.key, version_id=source.version_id, etag=source.etag, size=source.size
            )
            return DocumentParsed(
                document_id=mark.document_id, generation=mark.generation, status=mark.status, source=info
            )
        document = await asyncio.to_thread(decode, data, ParsedDocument)
        uri = document.markdown.uri
        return DocumentParsed(
            document_id=mark.document_id,
            generation=mark.generation,
            status=mark.status,
            source=document.source,
            result=ObjectRef(bucket=self._bucket, key=key, sha256=sha256(data), bytes=len(data)),
            markdown=ObjectRef(bucket=self._bucket, key=uri) if uri is not None else None,
            totals=document.totals,
            errors=document.errors[:MAX_PARSED_ERRORS],
            errors_total=len(document.errors),
            warnings_total=len(document.warnings),
        )
