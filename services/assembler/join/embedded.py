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
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from services.assembler.join.driver import Driver, Record
from services.assembler.join.events import PARSED, SOURCES
from services.assembler.join.memory import Document, Mark, Page, Write, mark_of, open_key, tombstone_mark
from services.assembler.join.outbox import Outbox
from services.assembler.join.proofs import LOOK_S
from services.assembler.join.stages import Stages
from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError
from shared.contracts.records import DocumentParsed
from shared.settings import Settings
from shared.streams.clients import reader_config
from shared.streams.headers import Headers
from shared.telemetry.health import Health

log = structlog.get_logger()

BATCH = 500
"""Events taken at once."""
POLL_S = 0.05
"""Longest wait for an event: how late a timer may be."""


class Undelivered(Exception):
    """The broker did not take a record."""


class EmbeddedTables:
    """The join's memory, as objects; there are no changelogs but `docs.parsed`."""

    def __init__(self, outbox: Outbox) -> None:
        self.marks: dict[str, Mark] = {}
        self.driver: Driver | None = None
        self._open: dict[bytes, Document | Page] = {}
        self._outbox = outbox

    def mark(self, document_id: str) -> Mark | None:
        return self.marks.get(document_id)

    def document(self, document_id: str) -> Document | None:
        found = self._open.get(open_key(document_id))
        return found if isinstance(found, Document) else None

    def page(self, document_id: str, page_no: int) -> Page | None:
        found = self._open.get(open_key(document_id, page_no))
        return found if isinstance(found, Page) else None

    def write(self, write: Write) -> None:
        if write.value is None:
            self._open.pop(write.key, None)
        else:
            self._open[write.key] = write.value

    def end(self, parsed: DocumentParsed, value: bytes, head: Headers) -> None:
        self.marks[parsed.document_id] = mark_of(parsed)

        def acknowledged(_: int) -> None:
            if self.driver is not None:
                self.driver.acknowledged(parsed.document_id, parsed.generation)

        self._outbox.append(PARSED, parsed.document_id.encode(), value, head, acknowledged=acknowledged)

    def forget(self, document_id: str, generation: int, head: Headers) -> None:
        self.marks[document_id] = Mark(generation, "cancelled")

        def acknowledged(_: int) -> None:
            if self.driver is not None:
                self.driver.acknowledged(document_id, generation)

        self._outbox.append(PARSED, document_id.encode(), None, head, acknowledged=acknowledged)


class EmbeddedJoin:
    """The loop. Not thread safe; `stop` may be called from a signal handler."""

    def __init__(self, settings: Settings, health: Health) -> None:
        self._health = health
        self._stopping = False
        # An empty fetch is held back for this long by the in-process broker, also when a record arrives meanwhile.
        self._reader = reader_config(settings, "join") | {"fetch.wait.max.ms": 20}
        self._outbox = Outbox(settings)
        self._tables = EmbeddedTables(self._outbox)
        self._driver = Driver(self._tables, self._outbox, settings.join.window, settings.join.stall_s)
        self._tables.driver = self._driver
        self._stages = Stages(settings)
        self._looked = time.monotonic()

    def stop(self, *_: Any) -> None:
        """End after the events under way."""
        self._stopping = True

    def run(self) -> None:
        """Until `stop`. Raises `Undelivered`, or `KafkaException` when the broker can't be read."""
        consumer: Any = Consumer(self._reader)
        try:
            self._read_marks(consumer)
            consumer.assign(self._everything(SOURCES))
            self._health.ready("broker", True)
            while not self._stopping:
                self._turn(consumer)
            self._outbox.producer.flush(5)
        finally:
            consumer.close()
            self._stages.close()

    def _turn(self, consumer: Any) -> None:
        self._health.beat("join")
        for message in consumer.consume(BATCH, POLL_S):
            error = message.error()
            if error is None:
                self._driver.handle(_record(message))
            elif error.fatal():
                raise KafkaException(error)
            elif error.code() != KafkaError._PARTITION_EOF:
                log.warning("the broker says", why=error.str())
        self._driver.tick(time.time())
        if time.monotonic() - self._looked > LOOK_S:
            self._looked = time.monotonic()
            if topics := self._driver.ask():
                self._driver.take(self._stages.look(topics))
        self._outbox.poll(0)
        if self._outbox.failure is not None:
            raise Undelivered(f"the broker did not take a record: {self._outbox.failure}")

    def _read_marks(self, consumer: Any) -> None:
        """Which documents have ended, from `docs.parsed`, read to its end."""
        places = self._everything([PARSED])
        unread = {place.partition for place in places}
        consumer.assign(places)
        while unread and not self._stopping:
            self._health.beat("join")
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
            elif error is None and message.value() is None:
                if (mark := tombstone_mark(message.headers())) is not None:
                    self._tables.marks[message.key().decode()] = mark
            elif error is None:
                try:
                    parsed = decode(message.value(), DocumentParsed)
                except DocfleetError as refusal:
                    self._driver.bury(_record(message), refusal)
                else:
                    self._tables.marks[parsed.document_id] = mark_of(parsed)
        consumer.unassign()

    def _everything(self, topics: Sequence[str]) -> list[TopicPartition]:
        """All partitions from their beginnings; a topic of the in-process broker appears when a producer asks for it."""
        found = []
        for topic in topics:
            partitions = self._outbox.producer.list_topics(topic, timeout=10).topics[topic].partitions
            found += [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions]
        return found


def _record(message: Any) -> Record:
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        message.headers() or [],
    )


def run(settings: Settings, health: Health) -> int:
    """Run until SIGTERM or SIGINT. 0 when it ended as asked, 1 when it could not go on."""
    loop = EmbeddedJoin(settings, health)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, loop.stop)
    try:
        loop.run()
    except (Undelivered, KafkaException) as error:
        log.error("ended by an error", why=str(error))
        return 1
    return 0
