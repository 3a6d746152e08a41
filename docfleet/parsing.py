"""One run of `docfleet parse`: files in, results on disk, with no more documents under way than the embedded broker can hold.

The broker drops silently what exceeds 5 MB a partition. A document has at most `join.window` (128) pages out, a page is one record
on each work topic and at most a few on docs.results, and the largest of them seen is 1.4 kB with its headers; so `MAX_OPEN` documents
keep what is unread far below that on each of 4 partitions, whatever their length.
"""

from __future__ import annotations

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
from docfleet.inputs import Input
from docfleet.outcomes import Outcome
from docfleet.tracker import Tracker
from shared.children.errors import ChildDied, ChildFault, ChildStalled
from shared.contracts.codec import decode
from shared.contracts.document import ParsedDocument
from shared.contracts.errors import DocfleetError, Unavailable
from shared.contracts.options import Options
from shared.contracts.records import DocumentOpened, DocumentParsed, ObjectRef
from shared.objects import keys

if TYPE_CHECKING:
    from shared.documents.opener import Documents

MAX_OPEN = 24
"""Documents under way at once: enough for batches of many documents."""

MAX_DRAWING = 4
"""Documents whose overlays are drawn at once; more results are not fetched meanwhile."""


@dataclass
class _Open:
    input: Input
    submitted_at: float
    outcome: Outcome | None = None
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
        self._documents: Documents | None = None
        self._draw = draw
        self._exports = exports

    @property
    def done(self) -> bool:
        return not self._queue and not self._open

    def step(self, timeout_s: float = 0.05) -> list[Outcome]:
        """Submit what there is room for, take in what happened (waiting up to `timeout_s`), return what is finished.

        Raises `Unavailable` when broker or store are gone, `OSError` when the output folder cannot be written.
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
        return self._finish()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process that draws."""
        if self._documents is not None:
            self._client.background.run(self._documents.close())

    def _submit(self, given: Input) -> None:
        submission = self._client.submit(given.path, options=self._options)
        self.tracker.submitted(submission.document_id)
        self._open[submission.document_id] = _Open(given, time.monotonic())

    def _finish(self) -> list[Outcome]:
        finished = []
        for document_id, entry in list(self._open.items()):
            if entry.outcome is None:
                continue
            if entry.drawing is None and not entry.outcome.files and entry.outcome.parsed.result is not None:
                if sum((e.drawing or e.exporting) is not None for e in self._open.values()) >= MAX_DRAWING:
                    continue
                self._write(entry, entry.outcome)
            if any(one is not None and not one.done() for one in (entry.drawing, entry.exporting)):
                continue
            self._take_overlays(entry, entry.outcome)
            self._take_exports(entry, entry.outcome)
            entry.outcome.seconds = time.monotonic() - entry.submitted_at
            self._client.forget(document_id)
            del self._open[document_id]
            finished.append(entry.outcome)
            self._sweep(document_id, entry.outcome.parsed)
        return finished

    def _write(self, entry: _Open, outcome: Outcome) -> None:
        parsed = outcome.parsed
        assert parsed.result is not None
        data = self._fetch(parsed.result)
        outcome.files.append(_write_file(self._out / f"{entry.input.name}.json", data))
        if parsed.markdown is not None:
            outcome.files.append(_write_file(self._out / f"{entry.input.name}.md", self._fetch(parsed.markdown)))
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

    def _take_overlays(self, entry: _Open, outcome: Outcome) -> None:
        if entry.drawing is None:
            return
        try:
            outcome.overlays = len(entry.drawing.result())
        except (DocfleetError, ChildDied, Unavailable) as error:
            outcome.notes.append(f"overlays are not complete: {error}")

    def _take_exports(self, entry: _Open, outcome: Outcome) -> None:
        if entry.exporting is None:
            return
        try:
            files, refused = entry.exporting.result()
        except (ChildDied, ChildFault, ChildStalled) as error:
            outcome.notes.append(f"exports are not complete: {error}")
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

    def _sweep(self, document_id: str, parsed: DocumentParsed) -> None:
        """Free the disk: nobody reads this document again. Failing to is no failure."""

        async def sweep() -> None:
            store, bucket = self._client.store, self._client.settings.objects.bucket
            await store.remove(parsed.source.bucket, parsed.source.key)
            for prefix in (keys.work(document_id, parsed.generation), f"parsed/{document_id}/"):
                for stat in await store.list(bucket, prefix):
                    await store.remove(bucket, stat.key)

        self._client.background.begin(sweep())


def _write_file(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(data)
    partial.replace(path)
    return path
