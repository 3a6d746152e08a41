"""The Python interface: submit documents, hear of them, read what came out.

    from docfleet import Client

    with Client() as client:
        for path in paths:
            client.submit(path)
        for result in client.results():
            print(result.document_id, result.status)
            if result.result is not None:
                print(client.document(result.document_id).markdown.uri)

Settings are those of the fleet (`DOCFLEET_KAFKA__BOOTSTRAP_SERVERS`, `DOCFLEET_OBJECTS__ENDPOINT`, …). A client is for one thread; it
reads topics without a consumer group, and remembers the documents it submitted itself until their results were taken.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from confluent_kafka import Message, Producer

from docfleet.background import Background
from docfleet.checking import checked
from docfleet.feed import Feed, Published
from docfleet.following import Following
from docfleet.reach import reach
from docfleet.stored import Stored
from docfleet.uploads import upload
from docfleet.waiting import Waiting
from shared.contracts.codec import encode
from shared.contracts.document import ParsedDocument
from shared.contracts.errors import DocfleetError, Unavailable
from shared.contracts.layout import ComposedPage
from shared.contracts.options import Options, Priority
from shared.contracts.records import CancelDocument, DocumentParsed, DocumentProgress, DocumentSubmitted, SourceRef
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams import headers as record_headers
from shared.streams.clients import producer_config
from shared.streams.refusals import refused
from shared.telemetry import spans, tracing

UPLOADS = "docfleet-uploads"
"""Bucket that local files are uploaded to where no other is named."""

DELIVERY_S = 30.0
"""Seconds the broker has to take a record."""


class Submission(msgspec.Struct, frozen=True):
    """What was submitted."""

    document_id: str
    generation: int
    source: SourceRef


class Client:
    """A user of a fleet. Use it as a context manager, or call `close`."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings if settings is not None else Settings()
        spans.configure(self.settings.telemetry, "client")
        self.background = Background()
        self.store = open_store(self.settings)
        self.stored = Stored(self.background, self.store, self.settings.objects.bucket)
        self._producer: Producer | None = None
        self._feed: Feed | None = None
        self._tap = False
        self._waiting = Waiting(self.background, self.store, self.settings.objects.bucket)
        self._ended: dict[str, DocumentParsed | DocfleetError] = {}
        self._progress: dict[str, DocumentProgress] = {}
        self._followings: list[Following] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let connections and threads go. Documents under way are not touched."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None
        self.background.run(self.store.close())
        self.background.close()
        spans.flush()

    # --- submit -------------------------------------------------------------------------------------------------------

    def submit(
        self,
        source: Path | str | SourceRef,
        *,
        options: Options | None = None,
        document_id: str | None = None,
        generation: int = 0,
        priority: Priority = "normal",
        tenant: str | None = None,
        deadline: datetime | None = None,
        bucket: str = UPLOADS,
    ) -> Submission:
        """Submit a file of this machine (uploaded to `bucket` first), `s3://bucket/key`, or a `SourceRef`.

        Without `document_id` a new one is made, so a file submitted twice is two documents (the second one answered from the cache).
        With one, the same file may be submitted again, after a crash for instance: it is one document, whose result `wait` gives also
        when it had ended before. Another file under an id that is taken is a `conflict`, raised by `wait`; the document that has the id
        is not touched. Raises `FileNotFoundError`, `OSError`, `Unavailable` (broker or store away), `DocfleetError` (source missing;
        `invalid_message`, before anything is uploaded, for an id, a generation, … that no record can hold).
        """
        document_id = document_id or uuid.uuid4().hex
        record = DocumentSubmitted(
            source=_named(source) or SourceRef(bucket=bucket, key=document_id),
            document_id=document_id,
            generation=generation,
            tenant=tenant,
            priority=priority,
            options=options if options is not None else Options(),
            deadline=deadline,
        )
        checked(record)
        self._follow()
        if _named(source) is None:
            assert not isinstance(source, SourceRef)  # it names an object
            place = self.background.run(self._uploaded(Path(source), document_id, bucket))
            record = msgspec.structs.replace(record, source=place)
        ended = self._ended.get(document_id)
        if not (isinstance(ended, DocumentParsed) and ended.generation >= generation):
            self.forget(document_id)  # an earlier attempt, whose end nobody has taken, is not the end of this one
        self._produce("docs.incoming", document_id, record)
        self._waiting.add(document_id, generation, record.source)
        return Submission(document_id, generation, record.source)

    async def _uploaded(self, path: Path, document_id: str, bucket: str) -> SourceRef:
        await self.store.ensure_bucket(bucket)
        return await upload(self.store, path, document_id, bucket)

    def cancel(self, document_id: str, generation: int = 0) -> None:
        """End a document as `cancelled`, wherever it is; a document that has ended is not touched. Raises as `submit` does."""
        record = checked(CancelDocument(document_id=document_id, generation=generation, requested_at=time.time()))
        self._produce("docs.control", document_id, record)

    def _produce(self, topic: str, key: str, record: msgspec.Struct) -> None:
        if self._producer is None:
            producer = Producer(producer_config(self.settings))
            reach(producer, self.settings.kafka)
            self._producer = producer
        trace = spans.decided(tracing.new())
        headers = record_headers.make(record, source="client", trace=trace)
        span = spans.begin(f"send {record_headers.type_of(record)}", trace, kind="producer")
        failed: list[str] = []
        delivered: list[bool] = []

        def report(error: Any, _: Message) -> None:
            if error is not None:
                failed.append(str(refused(self.settings.kafka, error, "write to", topic) or error.str()))
            delivered.append(True)

        self._producer.produce(topic, key=key.encode(), value=encode(record), headers=headers, on_delivery=report)
        deadline = time.monotonic() + DELIVERY_S
        while not delivered and time.monotonic() < deadline:
            self._producer.poll(0.05)
        span.end()
        if failed or not delivered:
            raise Unavailable("broker", f"{topic} did not take the record: {failed[0] if failed else 'no answer'}")

    # --- hear ---------------------------------------------------------------------------------------------------------

    def tap(self) -> None:
        """Also let `poll` return the stages' events (`docs.results`). To be said before anything is submitted."""
        self._tap = True

    def poll(self, timeout_s: float = 0.1) -> list[Published]:
        """Everything published since the last look, of all documents; waits up to `timeout_s` seconds for something."""
        records = self._follow().read(timeout_s)
        for record in records:
            for following in self._followings:
                following.hear(record)
            if not self._waiting.means(record.document_id, record.generation):
                continue
            if isinstance(record, DocumentProgress):
                self._progress[record.document_id] = record
            elif isinstance(record, DocumentParsed):
                self._ended[record.document_id] = record
        return records

    def results(self, timeout_s: float | None = None) -> Iterator[DocumentParsed]:
        """The results of what this client submitted, as they come, each once, until there is none left to come.

        Raises `TimeoutError` when `timeout_s` seconds pass without one, `DocfleetError(conflict)` of a document whose id belongs to another
        one: it is forgotten by that, and the results of the others come from the next call.
        """
        since = time.monotonic()
        while self._waiting:
            for document_id in list(self._ended):
                yield self._take(document_id)
                since = time.monotonic()
            if self._waiting and not self._ended:
                if timeout_s is not None and time.monotonic() - since > timeout_s:
                    raise TimeoutError(f"{len(self._waiting)} documents had no result within {timeout_s} s")
                self.poll()
                self._look()

    def wait(self, document_id: str, timeout_s: float | None = None) -> DocumentParsed:
        """The result of a document this client submitted: of the generation it submitted last, or of a higher one.

        Of one that had ended before, the result is as the store has it: without times, and of a failure without its errors. Raises
        `KeyError` for a document this client did not submit, `TimeoutError`, `DocfleetError(conflict)` when the id belongs to another source.
        """
        if document_id not in self._waiting:
            raise KeyError(document_id)
        since = time.monotonic()
        while document_id not in self._ended:
            if timeout_s is not None and time.monotonic() - since > timeout_s:
                raise TimeoutError(f"{document_id} had no result within {timeout_s} s")
            self.poll()
            self._look()
        return self._take(document_id)

    def forget(self, document_id: str) -> None:
        """Take no more note of a document this client submitted; the document itself is not touched."""
        self._waiting.discard(document_id)
        self._ended.pop(document_id, None)
        self._progress.pop(document_id, None)

    def progress(self, document_id: str) -> DocumentProgress | None:
        """How far a document of this client is, as of the last `poll`; none before its first report."""
        return self._progress.get(document_id)

    def _take(self, document_id: str) -> DocumentParsed:
        record = self._ended[document_id]
        self.forget(document_id)
        if isinstance(record, DocfleetError):
            raise record
        return record

    def _look(self) -> None:
        """Now and then: documents of which nothing will be published, because they had ended before or their id is somebody else's."""
        for found in self._waiting.look():
            if found.document_id in self._ended:
                continue
            if found.mark is not None:
                self._ended[found.document_id] = self._waiting.record(found.mark)
            elif found.conflict is not None:
                self._ended[found.document_id] = found.conflict

    def _follow(self) -> Feed:
        """The feed, in position before the first submission, so that no result is missed."""
        if self._feed is None:
            topics = ["docs.parsed", "docs.progress", *(["docs.results"] if self._tap else [])]
            self._feed = Feed(self.settings, topics, "beginning" if self.settings.kafka.embedded else "now")
        return self._feed

    # --- read ---------------------------------------------------------------------------------------------------------

    def document(self, document_id: str, generation: int | None = None) -> ParsedDocument:
        """A parsed document; the latest generation that has a result, where none is named. Raises `DocfleetError(source_missing)`."""
        return self.stored.document(document_id, generation)

    def markdown(self, document_id: str, generation: int | None = None) -> str:
        """The Markdown of a parsed document. Raises `DocfleetError(source_missing)`."""
        return self.stored.markdown(document_id, generation)

    def page(self, document_id: str, page_no: int, generation: int | None = None) -> ComposedPage:
        """One composed page, also while the rest is still being read. Raises `DocfleetError(source_missing)`."""
        return self.stored.page(document_id, page_no, generation)

    def pages(
        self, document_id: str, generation: int | None = None, *, follow: bool = True, timeout_s: float | None = None
    ) -> Iterator[ComposedPage]:
        """The pages of a document as they are composed, each once: page 3 of 700 while the rest is still being read.

        Begins with those that are finished, in order, and goes on until the document has ended; with `follow` false it ends with what
        is finished now. Without a generation it is the latest that anything is stored of, or the next one to be heard of. The pages of a
        document that was answered from the cache are those of its result: what a page break cuts is on the first of its pages. Raises
        `DocfleetError(source_missing)` (only with `follow` false, when nothing is stored), `TimeoutError` when `timeout_s`
        seconds pass without a page.
        """
        if not follow:
            generation = self.stored.latest_work(document_id) if generation is None else generation
            yield from (
                self.page(document_id, number, generation) for number in self.stored.composed(document_id, generation)
            )
            return
        with self.following(document_id, generation) as following:
            since = time.monotonic()
            while True:
                ended = following.ended  # asked before the look: what was stored until then is seen by it
                for page_no in following.take():
                    yield self.page(document_id, page_no, following.generation)
                    since = time.monotonic()
                if ended:
                    return
                if timeout_s is not None and time.monotonic() - since > timeout_s:
                    raise TimeoutError(f"{document_id} had no page within {timeout_s} s")
                self.poll()

    @contextmanager
    def following(self, document_id: str, generation: int | None = None) -> Iterator[Following]:
        """Follow the pages of a document; `poll` brings the news. For several documents at once, see `docfleet watch --pages`."""
        self._follow()  # in position before the first look, so that nothing is published between the two
        if generation is None:
            with suppress(DocfleetError):  # nothing is stored yet: the first report says it
                generation = self.stored.latest_work(document_id)
        following = Following(document_id, generation, self.stored)
        self._followings.append(following)
        try:
            yield following
        finally:
            self._followings.remove(following)


def _named(source: Path | str | SourceRef) -> SourceRef | None:
    """The object that a source names; none where it is a file of this machine."""
    if isinstance(source, str) and source.startswith("s3://"):
        bucket, _, key = source.removeprefix("s3://").partition("/")
        return SourceRef(bucket=bucket, key=key)
    return source if isinstance(source, SourceRef) else None
