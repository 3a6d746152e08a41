"""The join's driver for the embedded fleet: one process, one loop, all partitions, memory only.

There is one join per embedded fleet, so it belongs to no group: it assigns itself every partition (no time is spent on forming a
group) and commits nothing. The memory dies with the process; a join that is started again reads which documents have ended from
`docs.parsed` and then all events from the beginning, and arrives where it was, because handling an event again is safe.

A record that the broker does not take ends the process: going on would lose it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Any

import structlog
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from services.assembler.join.events import PARSED, SOURCES, read_event
from services.assembler.join.memory import Document, Mark, Page, mark_of, open_key
from services.assembler.join.state import join
from services.assembler.join.timers import Timers
from services.assembler.join.turn import Outcome
from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError
from shared.contracts.records import DocumentParsed
from shared.settings import GROUPS, Settings
from shared.streams import deadletter, headers
from shared.streams.clients import producer_config, reader_config
from shared.streams.lanes import topic_of
from shared.streams.stage import Emit
from shared.telemetry import metrics
from shared.telemetry.health import Health
from shared.telemetry.tracing import HEADER, TraceParent, continued, new

log = structlog.get_logger()

BATCH = 500
"""Events taken at once."""
POLL_S = 0.05
"""Longest wait for an event: how late a timer may be."""


class Undelivered(Exception):
    """The broker did not take a record."""


class Tables:
    """The join's memory, as objects."""

    def __init__(self) -> None:
        self.marks: dict[str, Mark] = {}
        self._open: dict[bytes, Document | Page] = {}

    def mark(self, document_id: str) -> Mark | None:
        return self.marks.get(document_id)

    def document(self, document_id: str) -> Document | None:
        found = self._open.get(open_key(document_id))
        return found if isinstance(found, Document) else None

    def page(self, document_id: str, page_no: int) -> Page | None:
        found = self._open.get(open_key(document_id, page_no))
        return found if isinstance(found, Page) else None

    def apply(self, outcome: Outcome) -> None:
        """Take over what an event changed."""
        for write in outcome.writes:
            if write.value is None:
                self._open.pop(write.key, None)
            else:
                self._open[write.key] = write.value
        for parsed in outcome.parsed:
            self.marks[parsed.document_id] = mark_of(parsed)


class EmbeddedJoin:
    """The loop. Not thread safe; `stop` may be called from a signal handler."""

    def __init__(self, settings: Settings, health: Health) -> None:
        self._settings = settings
        self._health = health
        self._tables = Tables()
        self._timers = Timers()
        self._stopping = False
        self._failure: KafkaError | None = None
        # An empty fetch is held back for this long by the in-process broker, also when a record arrives meanwhile.
        self._reader = reader_config(settings, "join") | {"fetch.wait.max.ms": 20}
        self._producer: Any = Producer(producer_config(settings))

    def stop(self, *_: Any) -> None:
        """End after the event under way."""
        self._stopping = True

    def run(self) -> None:
        """Until `stop`. Raises `Undelivered`, or `KafkaException` when the broker can't be read."""
        consumer: Any = Consumer(self._reader)
        try:
            self._read_marks(consumer)
            consumer.assign(_everything(self._producer, SOURCES))
            self._health.ready("broker", True)
            while not self._stopping:
                self._turn(consumer)
            self._producer.flush(5)
        finally:
            consumer.close()

    def _turn(self, consumer: Any) -> None:
        self._health.beat("join")
        for message in consumer.consume(BATCH, POLL_S):
            error = message.error()
            if error is None:
                self._handle(message)
            elif error.fatal():
                raise KafkaException(error)
            elif error.code() != KafkaError._PARTITION_EOF:
                log.warning("the broker says", why=error.str())
        for emit in self._timers.due(time.time()):
            self._emit(emit, new())
        self._producer.poll(0)
        if self._failure is not None:
            raise Undelivered(f"the broker did not take a record: {self._failure.str()}")

    def _handle(self, message: Any) -> None:
        metrics.POLLED.labels(topic=message.topic()).inc()
        try:
            event = read_event(message.topic(), message.value())
            outcome = join(self._tables, event, message.timestamp()[1] / 1000, self._settings.join.window)
        except DocfleetError as error:
            metrics.JOIN_FOREIGN.labels(topic=message.topic()).inc()
            self._bury(message, error)
            return
        metrics.JOIN_EVENTS.labels(type=type(event).__name__).inc()
        if outcome.refused is not None:
            self._bury(message, outcome.refused)
        self._tables.apply(outcome)
        trace = _trace(message, outcome.trace_id)
        for parsed in outcome.parsed:
            self._publish(parsed, trace)
        for emit in outcome.emits:
            self._emit(emit, trace)
        document_id = event.document_id
        if outcome.writes or outcome.parsed:
            document, mark = self._tables.document(document_id), self._tables.mark(document_id)
            self._timers.note(document_id, document, mark)
            metrics.JOIN_OPEN.set(len(self._timers))

    # --- producing ----------------------------------------------------------------------------------------------------

    def _publish(self, parsed: DocumentParsed, trace: TraceParent) -> None:
        metrics.JOIN_ENDED.labels(status=parsed.status).inc()
        log.info("ended", document_id=parsed.document_id, generation=parsed.generation, status=parsed.status)

        def acknowledged() -> None:
            self._timers.acknowledged(parsed.document_id, parsed.generation)

        self._emit(Emit(PARSED, parsed.document_id, parsed), trace, acknowledged)

    def _emit(self, emit: Emit, trace: TraceParent, acknowledged: Any = None) -> None:
        head = headers.make(emit.record, source="join", trace=trace, extra=emit.headers)
        self._produce(topic_of(emit.topic, emit.record), emit.key.encode(), encode(emit.record), head, acknowledged)

    def _bury(self, message: Any, error: DocfleetError) -> None:
        """Copy a record to `docs.dlq`."""
        log.warning(
            "dead letter", topic=message.topic(), offset=message.offset(), code=str(error.code), why=error.message
        )
        metrics.DEAD_LETTERED.labels(topic=message.topic(), code=str(error.code)).inc()
        head = deadletter.headers(
            message.headers(),
            topic=message.topic(),
            partition=message.partition(),
            offset=message.offset(),
            timestamp_ms=message.timestamp()[1],
            group=GROUPS["join"],
            code=error.code,
            message=error.message,
        )
        self._produce(deadletter.TOPIC, message.key(), message.value(), head, None)

    def _produce(self, topic: str, key: bytes | None, value: bytes | None, head: headers.Headers, done: Any) -> None:
        def reported(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                self._failure = error
            elif done is not None:
                done()

        while True:
            try:
                self._producer.produce(topic, value=value, key=key, headers=head, on_delivery=reported)
            except BufferError:
                self._producer.poll(0.1)
            else:
                metrics.PRODUCED.labels(topic=topic).inc()
                return

    # --- starting -----------------------------------------------------------------------------------------------------

    def _read_marks(self, consumer: Any) -> None:
        """Which documents have ended, from `docs.parsed`, read to its end."""
        places = _everything(self._producer, [PARSED])
        unread = {place.partition for place in places}
        consumer.assign(places)
        while unread and not self._stopping:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error() is None and message.value() is not None:
                try:
                    parsed = decode(message.value(), DocumentParsed)
                except DocfleetError as error:
                    self._bury(message, error)
                else:
                    self._tables.marks[parsed.document_id] = mark_of(parsed)
            elif message.error() is not None and message.error().code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
        consumer.unassign()


def _everything(producer: Any, topics: Sequence[str]) -> list[TopicPartition]:
    """All partitions from their beginnings; a topic of the in-process broker appears when a producer asks for it."""
    found = []
    for topic in topics:
        partitions = producer.list_topics(topic, timeout=10).topics[topic].partitions
        found += [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions]
    return found


def _trace(message: Any, trace_id: str | None) -> TraceParent:
    """The document's trace where it is known, else that of the event."""
    trace = continued(headers.read(message.headers()).get(HEADER))
    return TraceParent(trace_id, trace.span_id) if trace_id else trace


def run(settings: Settings, health: Health) -> int:
    """Run until SIGTERM or SIGINT. 0 when it ended as asked, 1 when it could not go on."""
    driver = EmbeddedJoin(settings, health)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, driver.stop)
    try:
        driver.run()
    except (Undelivered, KafkaException) as error:
        log.error("ended by an error", why=str(error))
        return 1
    return 0
