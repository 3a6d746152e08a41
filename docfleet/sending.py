"""Many records to the fleet without waiting for each: what a sweep, a manifest of a million lines and a purge produce with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import msgspec
from confluent_kafka import Producer

from docfleet.reach import reach
from shared.contracts.codec import encode
from shared.contracts.errors import Unavailable
from shared.settings import Settings
from shared.streams import headers as record_headers
from shared.streams.clients import producer_config
from shared.streams.headers import Headers
from shared.streams.lanes import topic_of
from shared.streams.refusals import refused
from shared.telemetry import spans, tracing

QUEUE = 20_000
"""Records that wait for the broker; then `send` waits."""
FLUSH_S = 120.0
"""Seconds the broker has for what is still out at the end."""
BROKEN_OFF_S = 5.0
"""The same where the run broke off."""


class Sender:
    """A context manager. What was not acknowledged at its end is `Unavailable`; sending everything again is safe, ids absorb it."""

    def __init__(self, settings: Settings, source: str) -> None:
        """`source` is named in the records' headers. Raises `Unavailable("broker")` when it does not answer."""
        self._kafka = settings.kafka
        spans.configure(settings.telemetry, source)
        self._producer = Producer(producer_config(settings) | {"linger.ms": 20, "queue.buffering.max.messages": QUEUE})
        reach(self._producer, settings.kafka)
        self._source = source
        self._refused = ""
        self.sent = 0
        """Records that the broker has acknowledged."""

    def __enter__(self) -> Sender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()
            spans.flush()
        else:
            # What was handed over is told of all the same, so that a journal knows.
            self._producer.flush(BROKEN_OFF_S)

    def send(
        self,
        topic: str,
        key: str,
        record: msgspec.Struct,
        delivered: Callable[[], None] = lambda: None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        """Queue a typed record; one that says `bulk` goes to the topic's second lane. Waits only while the queue is full.

        `delivered` is called once the broker has it. `extra` headers go beside those that every record has. Raises
        `Unavailable("broker")` when the broker would not have an earlier one.
        """
        trace = spans.decided(tracing.new())
        headers = record_headers.make(record, source=self._source, trace=trace, extra=extra)
        spans.begin(f"send {record_headers.type_of(record)}", trace, kind="producer").end()
        self._send(topic_of(topic, record), key, encode(record), headers, delivered)

    def send_raw(
        self,
        topic: str,
        key: str | bytes | None,
        value: bytes,
        delivered: Callable[[], None] = lambda: None,
        *,
        headers: Headers | None = None,
        partition: int = -1,
    ) -> None:
        """The same of bytes that have a form of their own. `headers` instead of the bare content type; `partition` -1 goes by the key."""
        head = [("content-type", b"application/json")] if headers is None else headers
        self._send(topic, key, value, head, delivered, partition)

    def _send(
        self,
        topic: str,
        key: str | bytes | None,
        value: bytes,
        headers: Headers,
        delivered: Callable[[], None],
        partition: int = -1,
    ) -> None:
        raw = key.encode() if isinstance(key, str) else key

        def report(error: Any, _: Any) -> None:
            if error is not None:
                self._refused = self._refused or str(refused(self._kafka, error, "write to", topic) or error.str())
            else:
                self.sent += 1
                delivered()

        while True:
            self._raise()
            try:
                self._producer.produce(
                    topic, key=raw, value=value, headers=headers, on_delivery=report, partition=partition
                )
                break
            except BufferError:
                self._producer.poll(0.1)
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until everything is acknowledged. Raises `Unavailable("broker")`."""
        limit = time.monotonic() + FLUSH_S
        while self._producer.flush(1.0) and time.monotonic() < limit:
            self._raise()
        self._raise()
        if len(self._producer):
            raise Unavailable("broker", f"{len(self._producer)} records were not acknowledged in {FLUSH_S:.0f} s")

    def _raise(self) -> None:
        if self._refused:
            raise Unavailable("broker", f"a record was not taken: {self._refused}")
