"""What both drivers do with an event: read it, join it, apply and append what comes out, and let the timers send.

A driver brings the records of the sources, in order within a partition, and keeps the tables. Nothing here raises for what is in a
record: foreign bytes and bugs become dead letters, and the records behind them go on.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Mapping
from typing import Protocol

import msgspec
import structlog

from services.assembler.join.events import read_event
from services.assembler.join.figures import STAGES, Figures
from services.assembler.join.lost import awaited
from services.assembler.join.memory import Document, Mark, Memory, Page, Write
from services.assembler.join.outbox import Outbox
from services.assembler.join.proofs import Offsets, Proofs
from services.assembler.join.state import join
from services.assembler.join.timers import Timers
from services.assembler.join.turn import Outcome
from shared import faultpoints
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.records import CancelDocument, DocumentParsed, PageComposed, Result, StallProven
from shared.settings import GROUPS
from shared.streams import headers
from shared.streams.traced import about, name_of
from shared.telemetry import metrics, spans
from shared.telemetry.spans import NOT_RECORDED, Span
from shared.telemetry.tracing import HEADER, TraceParent, new, parse

log = structlog.get_logger()

COUNT_S = 2.0
"""How often the open documents are gone through to count what is pending; a scraper looks every 15 s or so."""


class Record(msgspec.Struct, frozen=True):
    """A record of a source."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class Tables(Memory, Protocol):
    """The tables as a driver keeps them."""

    def write(self, write: Write) -> None:
        """Change the table `open`, here and in its changelog."""
        ...

    def end(self, parsed: DocumentParsed, value: bytes, head: headers.Headers) -> None:
        """Append to `docs.parsed` and mark the document; call `Driver.acknowledged` when the broker has it."""
        ...

    def forget(self, document_id: str, generation: int, head: headers.Headers) -> None:
        """Append a tombstone to `docs.parsed` and mark the document; call `Driver.acknowledged` when the broker has it."""
        ...


class Driver:
    """One per process. `acknowledged` may be called on any thread, everything else on one."""

    def __init__(self, tables: Tables, outbox: Outbox, window: int, stall_s: float) -> None:
        self.timers = Timers()
        self.proofs = Proofs(stall_s)
        self.figures = Figures()
        self.handled = 0
        self._counted = 0.0
        self._tables = tables
        self._outbox = outbox
        self._window = window
        self._acknowledged: deque[tuple[str, int]] = deque()

    def handle(self, record: Record) -> None:
        """One event of a source."""
        self.figures.polled(record.topic)
        self.handled += 1
        began = time.time()
        try:
            event = read_event(record.topic, record.value)
            outcome = join(self._tables, event, record.timestamp_ms / 1000, self._window)
        except DocfleetError as error:
            metrics.JOIN_FOREIGN.labels(topic=record.topic).inc()
            self.bury(record, error)
            return
        except Exception as error:
            # A bug. Nothing was changed yet; to let it through would lose the event without a trace.
            log.exception("the join failed", topic=record.topic, offset=record.offset)
            refusal = DocfleetError(ErrorCode.internal, f"the join raised {type(error).__name__}")
            self.bury(record, refusal, traceback.format_exc())
            return
        self.figures.event(type(event))
        if outcome.ignored is not None:
            metrics.JOIN_IGNORED.labels(reason=outcome.ignored).inc()
        if outcome.refused is not None:
            self.bury(record, outcome.refused)
        if isinstance(event, StallProven) and outcome.ignored is None:
            metrics.JOIN_LOST.labels(outcome="reissued" if event.attempt == 1 else "timeout").inc()
        if isinstance(event, PageComposed):
            faultpoints.reached("between_page_and_join")
        trace, parent = traces(record, outcome)
        span = _span(record, event, trace, parent, began)
        self._carry_out(event, outcome, trace)
        self._listen(event, outcome)
        if span.recorded:
            span.set({"docfleet.ignored": outcome.ignored or "", "docfleet.emits": len(outcome.emits)})
            span.set({"docfleet.status": outcome.parsed[-1].status} if outcome.parsed else {})
            span.end()

    def _listen(self, event: Result | CancelDocument, outcome: Outcome) -> None:
        """For the proof that a task is lost: what is open was heard of, and what is suspected is watched."""
        name = event.document_id
        document, mark = self._tables.document(name), self._tables.mark(name)
        opened = document.opened if document is not None else None
        if opened is None or (mark is not None and mark.generation >= opened.generation):
            self.proofs.forget(name)
            return
        self.proofs.heard(name, opened.generation, time.monotonic())
        if not isinstance(event, StallProven) and event.generation == opened.generation:
            self.proofs.answered(name, getattr(event, "task_id", ""))
        if outcome.suspected:
            tasks = awaited(self._tables, name, opened)
            log.info(
                "suspected", document_id=name, generation=opened.generation, tasks=[task.task_id for task in tasks]
            )
            self.proofs.watch(name, opened.generation, tasks, self._outbox.position())

    def _carry_out(self, event: Result | CancelDocument, outcome: Outcome, trace: TraceParent) -> None:
        for write in outcome.writes:
            if isinstance(write.value, Document):
                self.figures.changed(self._tables.document(write.document_id), write.value, time.monotonic(), trace)
            self._tables.write(write)
            if write.page_no is not None:
                self.timers.note_page(
                    write.document_id, write.page_no, write.value if isinstance(write.value, Page) else None
                )
        for parsed in outcome.parsed:
            log.info("ended", document_id=parsed.document_id, generation=parsed.generation, status=parsed.status)
            self.figures.ended(parsed, trace)
            self._tables.end(parsed, encode(parsed), headers.make(parsed, source="join", trace=trace))
        if outcome.forgotten is not None:
            head = headers.make(event, source="join", trace=trace)
            self._tables.forget(event.document_id, outcome.forgotten, head)
        faultpoints.reached("after_state_before_work")
        for emit in outcome.emits:
            self._outbox.emit(emit, trace)
        if outcome.emits:
            self.figures.released(outcome.emits, time.monotonic())
        if outcome.writes or outcome.parsed or outcome.forgotten is not None:
            name = event.document_id
            self.timers.note(name, self._tables.document(name), self._tables.mark(name))

    def recovered(self, document_id: str, document: Document, mark: Mark | None) -> None:
        """A document that was open when its partition came."""
        opened = document.opened
        if opened is not None and (mark is None or mark.generation < opened.generation):
            self.proofs.heard(document_id, opened.generation, time.monotonic())

    def acknowledged(self, document_id: str, generation: int) -> None:
        """The broker has this terminal record."""
        self._acknowledged.append((document_id, generation))

    def tick(self, now: float) -> None:
        """Let the timers send. `now` in seconds since the epoch."""
        while self._acknowledged:
            faultpoints.reached("after_parsed_before_closed")
            self.timers.acknowledged(*self._acknowledged.popleft())
        for emit in (*self.timers.due(now), *self.proofs.due(time.monotonic())):
            self._outbox.emit(emit, new())
        if time.monotonic() - self._counted >= COUNT_S:
            self._counted = time.monotonic()
            metrics.JOIN_OPEN.set(len(self.timers))
            pending = self.timers.pending()
            for stage in STAGES:
                metrics.PENDING_PAGES.labels(stage=stage).set(pending[stage])
            oldest = self.timers.oldest()
            metrics.JOIN_OLDEST.set(0.0 if oldest is None else max(0.0, now - oldest))

    def moved(self) -> None:
        """Partitions are going or coming: what is open is told anew, by `recovered` and the timers."""
        self.timers.clear()
        self.proofs.clear()
        self.figures.clear()

    def ask(self) -> set[str]:
        """Topics of the stages whose offsets are needed now, to prove what is suspected; for `take`."""
        return self.proofs.ask(self._outbox.acknowledged()) if len(self.proofs) else set()

    def take(self, found: Mapping[str, Offsets]) -> None:
        """The offsets that `ask` wanted, looked up since."""
        for emit in self.proofs.take(found):
            log.info("lost", document_id=emit.record.document_id, task=emit.record.task_id, attempt=emit.record.attempt)  # type: ignore[attr-defined]
            self._outbox.emit(emit, new())

    def bury(self, record: Record, error: DocfleetError, stack: str = "") -> None:
        """Copy a record to `docs.dlq`."""
        self._outbox.bury(
            error,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp_ms=record.timestamp_ms,
            key=record.key,
            value=record.value,
            head=record.headers,
            stack=stack,
        )


def traces(record: Record, outcome: Outcome) -> tuple[TraceParent, TraceParent | None]:
    """The span of an event and the span above it: the one that produced the event, where that is of the document's own trace; for what
    timers and tools send, the one that opened the document."""
    cause, opened = parse(headers.read(record.headers).get(HEADER)), parse(outcome.traceparent)
    if cause is not None and outcome.trace_id in (None, cause.trace_id):
        return cause.child(), cause
    if opened is not None:
        return opened.child(), opened
    if outcome.trace_id is not None:
        return TraceParent(outcome.trace_id, new().span_id, 0), None
    return new(), None


def _span(
    record: Record, event: Result | CancelDocument, trace: TraceParent, parent: TraceParent | None, began: float
) -> Span:
    if not spans.recording(trace):
        return NOT_RECORDED
    attributes = about(event, record.topic, record.partition, record.offset, GROUPS["join"])
    return spans.begin(name_of(event), trace, parent, "consumer", attributes, at=began)
