"""Cancelled documents: `docs.control`, read by every worker to its end before it admits work, and followed from there.

Assigned, without a group: every worker needs every command. Nothing is committed; the topic keeps commands for a day.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import structlog
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError
from shared.contracts.records import CancelDocument
from shared.settings import Settings
from shared.streams.clients import reader_config
from shared.streams.refusals import refused
from shared.streams.stranded import Stranded, reachable

log = structlog.get_logger()

TOPIC = "docs.control"
LOOK_S = 60.0
"""Between two looks for partitions that were added."""
REMEMBERED = 200_000
"""Commands kept in memory, newest first; a day's worth at two a second."""


class Cancelled:
    """The set of cancelled (document, generation). Bounded; used from one thread."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._known: OrderedDict[tuple[str, int], None] = OrderedDict()

    def add(self, document: tuple[str, int]) -> None:
        """Remember a cancelled generation of a document."""
        self._known[document] = None
        self._known.move_to_end(document)
        while len(self._known) > self._limit:
            self._known.popitem(last=False)

    def __contains__(self, document: object) -> bool:
        return document in self._known


class Control:
    """Follows `docs.control` on a thread of its own. Callbacks run on that thread."""

    def __init__(
        self,
        settings: Settings,
        *,
        cancelled: Callable[[str, int], None],
        at_end: Callable[[], None],
        broken: Callable[[BaseException], None],
    ) -> None:
        """`broken` is called when the broker does not let this service read the topic, and then nothing more is read."""
        self._kafka = settings.kafka
        self._stranded = Stranded(lambda: reachable(settings))
        self._broken = broken
        self._config = reader_config(settings, "control")
        self._cancelled = cancelled
        self._at_end = at_end
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> None:
        """End the thread."""
        self._ending = True
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._ending:
            try:
                self._follow()
            except KafkaException as error:
                if refusal := refused(self._kafka, error.args[0], "read", TOPIC):
                    self._broken(refusal)
                    return
                log.warning("docs.control is read again from its beginning", why=error.args[0].str())
                time.sleep(1)

    def _follow(self) -> None:
        consumer = Consumer(self._config)
        try:
            unread: set[int] = set()
            assigned: set[int] = set()
            told, looked = False, -LOOK_S
            while not self._ending:
                if time.monotonic() - looked >= (LOOK_S if assigned else 0.5):
                    looked = time.monotonic()
                    new = self._partitions(consumer) - assigned
                    if new:
                        consumer.incremental_assign([TopicPartition(TOPIC, p, OFFSET_BEGINNING) for p in new])
                        assigned |= new
                        unread |= new
                if assigned and not unread and not told:
                    told = True
                    self._at_end()
                message = consumer.poll(0.2)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    self._read(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
                elif error.fatal() or error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    raise KafkaException(error)
        finally:
            consumer.close()

    def _partitions(self, consumer: Any) -> set[int]:
        """Partitions the topic has; none while it or the broker is not there. Raises `KafkaException` where it may not be read, and where
        the broker is there and this consumer does not find it again."""
        try:
            topic = consumer.list_topics(TOPIC, timeout=2).topics[TOPIC]
        except KafkaException as error:
            log.info("docs.control can't be looked at", why=error.args[0].str())
            if self._stranded.silent(consumer):
                raise
            return set()
        self._stranded.answered(consumer)
        if topic.error is not None and topic.error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise KafkaException(topic.error)
        return set(topic.partitions) if topic.error is None else set()

    def _read(self, message: Any) -> None:
        value = message.value()
        if value is None:
            return
        try:
            command = decode(value, CancelDocument)
        except DocfleetError as error:
            # The join dead-letters foreign records of this topic; here every worker would.
            log.warning("a foreign record in docs.control is skipped", offset=message.offset(), why=error.message)
        else:
            self._cancelled(command.document_id, command.generation)
