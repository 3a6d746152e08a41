"""One run of `docfleet parse`: files in, results on disk, with no more documents under way than the embedded broker can hold.

The broker drops silently what exceeds 5 MB a partition. A document has at most `join.window` (128) pages out, a page is one record
on each work topic and at most a few on docs.results, and the largest of them seen is 1.4 kB with its headers; so `MAX_OPEN` documents
keep what is unread far below that on each of 4 partitions, whatever their length.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from docfleet.client import Client
from docfleet.exporters import Name
from docfleet.files import of_one_file, write_whole
from docfleet.inputs import Input
from docfleet.outcomes import Outcome, not_taken
from docfleet.tracker import Tracker
from docfleet.uploads import content_of
from shared.children.errors import ChildDied, ChildFault, ChildStalled
from shared.contracts.codec import decode
from shared.contracts.document import ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.contracts.options import Options
from shared.contracts.records import DocumentOpened, DocumentParsed, ObjectRef
from shared.objects import keys

if TYPE_CHECKING:
    from shared.documents.opener import Documents

MAX_OPEN = 24
"""Documents under way at once: enough for batches of many documents."""

MAX_DRAWING = 4
"""Documents whose overlays are drawn at once; more results are not fetched meanwhile."""

MARK_S = 120.0
"""Seconds that compose has to mark a document as ended; what it stored stays so long."""


@dataclass
class _Open:
    input: Input
    content: str
    submitted_at: float
    outcome: Outcome | None = None
    written: bool = False
    drawing: Future[list[Path]] | None = None
    exporting: Future[tuple[list[Path], list[str]]] | None = None


class Run:
    """A context manager; call `step` until `done`."""

    def __init__(
        self,
        client: Client,
        inputs: Sequence[Input],
        out: Path,
        *,
        options: Options,
        draw: bool = True,
        password: str | None = None,
        exports: Sequence[Name] = (),
    ) -> None:
        self.tracker = Tracker()
        self.total = len(inputs)
        self._client = client
        self._client.tap()
        self._out = out
        self._options = options
        self._password = password
        self._queue = deque(inputs)
        self._open: dict[str, _Open] = {}
        self._refused: list[Outcome] = []
        self._kept: dict[str, list[DocumentParsed]] = {}
        """Ended documents by content, that others under way may be answered from."""
        self._documents: Documents | None = None
        self._draw = draw
        self._exports = exports

    @property
    def done(self) -> bool:
        return not self._queue and not self._open and not self._refused

    def step(self, timeout_s: float = 0.05) -> list[Outcome]:
        """Submit what there is room for, take in what happened (waiting up to `timeout_s`), return what is finished.

        A file that cannot be read, or whose results cannot be written under its name, is an outcome like others. Raises `Unavailable` when
        broker or store are gone, `OSError` when the output folder cannot be written at all.
        """
        while self._queue and len(self._open) < MAX_OPEN:
            self._submit(self._queue.popleft())
        for record in self._client.poll(timeout_s):
            self.tracker.feed(record)
            entry = self._open.get(record.document_id)
            if isinstance(record, DocumentOpened) and self._draw:
                self._artist()  # takes half a second to start; there will be something to draw soon
            if isinstance(record, DocumentParsed) and entry is not None and entry.outcome is None:
                entry.outcome = Outcome(entry.input, record)
        refused, self._refused = self._refused, []
        return refused + self._finish()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process that draws."""
        if self._documents is not None:
            self._client.background.run(self._documents.close())

    def _submit(self, given: Input) -> None:
        try:
            submission = self._client.submit(given.path, options=self._options)
        except DocfleetError as error:
            self._refused.append(not_taken(given, error))
            return
        except OSError as error:
            if not of_one_file(error):
                raise
            why = f"the file cannot be read: {error.strerror or 'it is not there any more'}"
            self._refused.append(not_taken(given, DocfleetError(ErrorCode.source_missing, why)))
            return
        self.tracker.submitted(submission.document_id)
        self._open[submission.document_id] = _Open(given, content_of(submission.source), time.monotonic())

    def _finish(self) -> list[Outcome]:
        finished = []
        for document_id, entry in list(self._open.items()):
            if entry.outcome is None:
                continue
            if not entry.written and entry.outcome.parsed.result is not None:
                if sum((e.drawing or e.exporting) is not None for e in self._open.values()) >= MAX_DRAWING:
                    continue
                entry.written = True
                try:
                    self._write(entry, entry.outcome)
                except OSError as error:
                    self._unwritten(entry.outcome, "its results", error)
            if any(one is not None and not one.done() for one in (entry.drawing, entry.exporting)):
                continue
            self._take_overlays(entry, entry.outcome)
            self._take_exports(entry, entry.outcome)
            entry.outcome.seconds = time.monotonic() - entry.submitted_at
            self._client.forget(document_id)
            del self._open[document_id]
            finished.append(entry.outcome)
            self._kept.setdefault(entry.content, []).append(entry.outcome.parsed)
            if all(other.content != entry.content for other in self._open.values()):
                for parsed in self._kept.pop(entry.content):
                    self._client.background.begin(self._swept(parsed))
        return finished

    def _write(self, entry: _Open, outcome: Outcome) -> None:
        parsed = outcome.parsed
        assert parsed.result is not None
        data = self._fetch(parsed.result)
        outcome.files.append(write_whole(self._out / f"{entry.input.name}.json", data))
        if parsed.markdown is not None:
            outcome.files.append(write_whole(self._out / f"{entry.input.name}.md", self._fetch(parsed.markdown)))
        if self._exports:
            from docfleet import exports

            written = exports.written_beside(
                outcome.files[0], entry.input.path, self._exports, self._client.settings.limits, self._password
            )
            entry.exporting = self._client.background.begin(written)
        if self._draw:
            folder = self._out / f"{entry.input.name}.overlays"
            from docfleet import overlays

            draw = overlays.write(
                decode(data, ParsedDocument), entry.input.path, folder, self._artist(), password=self._password
            )
            entry.drawing = self._client.background.begin(draw)

    @staticmethod
    def _unwritten(outcome: Outcome, what: str, error: OSError) -> None:
        """Note files that cannot be written; what the next document's could not either is raised again."""
        if not of_one_file(error):
            raise error
        where = f": {error.filename}" if error.filename else ""
        outcome.notes.append(f"{what} cannot be written: {error.strerror or error}{where}")
        outcome.unwritten = True

    def _take_overlays(self, entry: _Open, outcome: Outcome) -> None:
        if entry.drawing is None:
            return
        try:
            outcome.overlays = len(entry.drawing.result())
        except (DocfleetError, ChildDied, Unavailable) as error:
            outcome.notes.append(f"overlays are not complete: {error}")
        except OSError as error:
            self._unwritten(outcome, "overlays", error)

    def _take_exports(self, entry: _Open, outcome: Outcome) -> None:
        if entry.exporting is None:
            return
        try:
            files, refused = entry.exporting.result()
        except (ChildDied, ChildFault, ChildStalled) as error:
            outcome.notes.append(f"exports are not complete: {error}")
            return
        except OSError as error:
            self._unwritten(outcome, "exports", error)
            return
        outcome.files += files
        outcome.notes += refused

    def _fetch(self, ref: ObjectRef) -> bytes:
        return self._client.background.run(self._client.store.get(ref.bucket, ref.key))

    def _artist(self) -> Documents:
        """The child that opens pages for overlays. Imported and started while the fleet is at work, not before."""
        if self._documents is None:
            from shared.documents.opener import Documents

            async def make() -> Documents:  # on the loop that will use it
                return Documents(self._client.settings.limits, name="overlays")

            self._documents = self._client.background.run(make())
            self._client.background.begin(self._documents.start())
        return self._documents

    async def _swept(self, parsed: DocumentParsed) -> None:
        """Free the disk: nobody reads this document again. Failing to is no failure.

        Not before its mark is there: to write it, compose reads what is removed here, and who waits for the same content waits for the mark.
        """
        store, bucket, document_id = self._client.store, self._client.settings.objects.bucket, parsed.document_id
        deadline = time.monotonic() + MARK_S
        while not await store.exists(bucket, keys.done(document_id)) and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
        await store.remove(parsed.source.bucket, parsed.source.key)
        for prefix in (keys.work(document_id, parsed.generation), f"parsed/{document_id}/"):
            for stat in await store.list(bucket, prefix):
                await store.remove(bucket, stat.key)
