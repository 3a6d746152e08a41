"""Everything the join appends, through one idempotent producer, in the order it was asked for.

`append` returns at once; the broker's acknowledgement comes later, on whichever thread polls. A record that the broker refuses or
does not acknowledge sets `failure`, and stays outstanding for ever: the driver must end the process before it commits, because events
are only handled again when their offsets were not committed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError
from shared.settings import GROUPS, Settings
from shared.streams import deadletter, headers
from shared.streams.clients import producer_config
from shared.streams.lanes import topic_of
from shared.streams.refusals import refused
from shared.streams.stage import Emit
from shared.telemetry import metrics
from shared.telemetry.tracing import TraceParent

log = structlog.get_logger()

BY_KEY = -1
"""Partition by the key, as every producer of ours does."""


class Outbox:
    """`append` and `emit` are for one thread, `poll` for one thread (the same or another)."""

    def __init__(
        self,
        settings: Settings,
        failed: Callable[[str], None] | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """`failed` is called with a message at the first failure, on the thread that polls; `before` in front of every append."""
        self._kafka = settings.kafka
        self.producer: Any = Producer(producer_config(settings))
        self.failure: str | None = None
        self._failed = failed
        self._before = before
        self._lock = threading.Lock()
        self._sequence = 0
        self._outstanding: dict[int, None] = {}  # in order of appending

    def emit(self, emit: Emit, trace: TraceParent, acknowledged: Callable[[int], None] | None = None) -> None:
        """Append a record of ours, to the bulk twin of its topic where it says so."""
        head = headers.make(emit.record, source="join", trace=trace, extra=emit.headers)
        topic = topic_of(emit.topic, emit.record)
        self.append(topic, emit.key.encode(), encode(emit.record), head, acknowledged=acknowledged)

    def append(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        head: headers.Headers,
        *,
        partition: int = BY_KEY,
        acknowledged: Callable[[int], None] | None = None,
    ) -> None:
        """Append bytes. `acknowledged` is called with the offset, on the thread that polls."""
        self._before()
        with self._lock:
            sequence = self._sequence
            self._sequence += 1
            self._outstanding[sequence] = None

        def reported(error: KafkaError | None, message: Any) -> None:
            if error is not None:
                self._fail(self._why(topic, error))
            else:
                with self._lock:
                    del self._outstanding[sequence]
                metrics.PRODUCED.labels(topic=topic).inc()
                if acknowledged is not None:
                    acknowledged(message.offset())

        while True:
            try:
                self.producer.produce(
                    topic, value=value, key=key, partition=partition, headers=head, on_delivery=reported
                )
            except BufferError:
                self.producer.poll(0.1)
            except KafkaException as error:
                self._fail(self._why(topic, error.args[0]))
                return
            else:
                return

    def bury(
        self,
        error: DocfleetError,
        *,
        topic: str,
        partition: int,
        offset: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        head: Iterable[tuple[str, bytes | None]] | None,
        stack: str = "",
    ) -> None:
        """Copy a record to `docs.dlq`."""
        code = str(error.code)
        log.warning("dead letter", topic=topic, partition=partition, offset=offset, code=code, why=error.message)
        metrics.DEAD_LETTERED.labels(topic=topic, code=code).inc()
        letter = deadletter.headers(
            head,
            topic=topic,
            partition=partition,
            offset=offset,
            timestamp_ms=timestamp_ms,
            group=GROUPS["join"],
            code=error.code,
            message=error.message,
            stack=stack,
        )
        self.append(deadletter.TOPIC, key, value, letter)

    def pending(self) -> int:
        """Records without an acknowledgement."""
        return len(self._outstanding)

    def position(self) -> int:
        """Records appended so far; see `settled`."""
        return self._sequence

    def settled(self, position: int) -> bool:
        """Whether the first `position` records are acknowledged. What is appended after them does not matter, so that a commit
        never waits for a lull."""
        with self._lock:
            return next(iter(self._outstanding), position) >= position

    def acknowledged(self) -> int:
        """The first so many records are acknowledged."""
        with self._lock:
            return next(iter(self._outstanding), self._sequence)

    def poll(self, timeout_s: float) -> None:
        """Serve acknowledgements that have come."""
        self.producer.poll(timeout_s)

    def _why(self, topic: str, error: KafkaError) -> str:
        return str(refused(self._kafka, error, "write to", topic) or f"{topic}: {error.str()}")

    def _fail(self, why: str) -> None:
        if self.failure is None:
            self.failure = why
            if self._failed is not None:
                self._failed(why)
