"""Cancelled documents: `docs.control`, read by every worker to its end before it admits work, and followed from there.

Assigned, without a group: every worker needs every command. Nothing is committed; the topic keeps commands for a day.
"""

from __future__ import annotations

import threading
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

log = structlog.get_logger()

TOPIC = "docs.control"
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
        self, settings: Settings, *, cancelled: Callable[[str, int], None], at_end: Callable[[], None]
    ) -> None:
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
        consumer = Consumer(self._config)
        try:
            unread = self._assign(consumer)
            told = False
            while not self._ending:
                if not unread and not told:
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
        finally:
            consumer.close()

    def _assign(self, consumer: Any) -> set[int]:
        """Take all partitions from their beginning; waits until the topic is there."""
        while not self._ending:
            try:
                topic = consumer.list_topics(TOPIC, timeout=2).topics[TOPIC]
            except KafkaException as error:
                log.info("docs.control can't be read yet", why=error.args[0].str())
            else:
                if topic.error is None and topic.partitions:
                    consumer.assign([TopicPartition(TOPIC, p, OFFSET_BEGINNING) for p in topic.partitions])
                    return set(topic.partitions)
            consumer.poll(0.5)
        return set()

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
