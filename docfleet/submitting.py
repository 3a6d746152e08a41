"""Submitting any number of documents: looked up and uploaded a few at a time, produced without waiting for each, noted in a journal.

Memory is bounded, whatever the number: nothing is held but what is on its way, and, where a journal is read again or results are waited
for, some 100 bytes for each document. An object's document has the id that its own notification would give it, so submitting it
again does no harm; a file's document has a new id at each run, and the journal is what keeps it from being submitted twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from docfleet.checking import checked
from docfleet.sending import Sender
from docfleet.sources import Given
from docfleet.uploads import upload
from shared.contracts import ids
from shared.contracts.options import Options
from shared.contracts.records import DocumentSubmitted, SourceRef
from shared.objects.store import ObjectStore

AT_ONCE = 16
"""Documents that are looked up or uploaded together."""


_NO_LINE = re.compile("[\n\r\ud800-\udfff]")


class Journal:
    """A file that says which documents were submitted, a line each: id, tab, name. Lines are written when the broker has the record."""

    def __init__(self, path: Path) -> None:
        """Read what an earlier run noted, and go on behind it. Raises `OSError`."""
        self._known: set[bytes] = set()
        if path.exists():
            for _, name in self._lines(path):
                self._known.add(_short(name))
        self._file = path.open("a", encoding="utf-8", buffering=1)
        if path.stat().st_size and not _ends_with_newline(path):
            self._file.write("\n")  # a run that was killed in the middle of a line

    @staticmethod
    def _lines(path: Path) -> Iterator[tuple[str, str]]:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                document_id, tab, name = line.rstrip("\n").partition("\t")
                if tab and line.endswith("\n"):
                    yield document_id, name

    def __contains__(self, name: str) -> bool:
        return _short(_line(name)) in self._known

    def note(self, document_id: str, name: str) -> None:
        """A document is submitted."""
        self._file.write(f"{document_id}\t{_line(name)}\n")

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


class Progress(msgspec.Struct):
    """How far a submission is."""

    submitted: int = 0
    skipped: int = 0
    """In the journal already."""


async def submit(
    store: ObjectStore,
    sender: Sender,
    given: AsyncIterator[Given] | Iterator[Given],
    *,
    uploads: str,
    fields: dict[str, Any],
    journal: Journal | None = None,
    told: Callable[[DocumentSubmitted, str], None] = lambda submission, name: None,
) -> Progress:
    """Submit documents; `fields` are those of every envelope. `told` hears of each as it is handed to the producer.

    Files go to the bucket `uploads`. Raises `FileNotFoundError`, `source_missing`, `Unavailable`; what was submitted by then is in the journal.
    """
    progress = Progress()
    made = False
    async for batch in _batches(given, journal, progress):
        if not made and any(isinstance(one.source, Path) for one in batch):
            await store.ensure_bucket(uploads)
            made = True
        submissions = await asyncio.gather(*(_envelope(store, one, uploads, fields) for one in batch))
        for one, submission in zip(batch, submissions, strict=True):
            document_id = submission.document_id or ""
            note = _noting(journal, document_id, one.name)
            told(submission, one.name)
            sender.send("docs.incoming", document_id, submission, note)
            progress.submitted += 1
    return progress


def _noting(journal: Journal | None, document_id: str, name: str) -> Callable[[], None]:
    return (lambda: None) if journal is None else (lambda: journal.note(document_id, name))


async def _batches(
    given: AsyncIterator[Given] | Iterator[Given], journal: Journal | None, progress: Progress
) -> AsyncIterator[list[Given]]:
    batch: list[Given] = []
    async for one in _each(given):
        if journal is not None and one.name in journal:
            progress.skipped += 1
            continue
        batch.append(one)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


async def _each(given: AsyncIterator[Given] | Iterator[Given]) -> AsyncIterator[Given]:
    if isinstance(given, AsyncIterator):
        async for one in given:
            yield one
    else:
        for one in given:
            yield one


async def _envelope(store: ObjectStore, given: Given, uploads: str, fields: dict[str, Any]) -> DocumentSubmitted:
    own = {**fields, **given.fields}
    if "options" in given.fields:
        own["options"] = msgspec.structs.replace(fields.get("options", Options()), **given.fields["options"])
    if isinstance(given.source, Path):
        document_id = own.get("document_id") or uuid.uuid4().hex
        checked(DocumentSubmitted(**{**own, "source": SourceRef(bucket=uploads, key=document_id)}))
        place = await upload(store, given.source, document_id, uploads)
    else:
        place = given.source
        if place.etag is None and place.version_id is None:
            stat = await store.stat(place.bucket, place.key)
            place = msgspec.structs.replace(place, etag=stat.etag, size=stat.size)
        document_id = own.get("document_id") or ids.document_id_of_object(
            place.bucket, place.key, place.version_id or place.etag or ""
        )
    return checked(DocumentSubmitted(**{**own, "source": place, "document_id": document_id}))


def _line(name: str) -> str:
    """A name as a journal holds it: as it is, or as a JSON string where it would break the line or is no UTF-8."""
    return json.dumps(name) if _NO_LINE.search(name) else name


def _short(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=12).digest()


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"
