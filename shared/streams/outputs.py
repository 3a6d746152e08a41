"""What a process produces: one idempotent producer, and a delivery report for every record before anything is called done.

`deliver` returns when the broker has acknowledged every record. A record that is too large is refused before any is sent.
A broker that does not answer, or does not let this service write, is `Unavailable("broker")`; producing the same records again is then
safe, because identities absorb them. The producer is polled by its own thread; its callbacks only wake the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.contracts.records import MAX_RECORD_BYTES
from shared.settings import Settings
from shared.streams import headers as record_headers
from shared.streams.clients import producer_config
from shared.streams.headers import Headers
from shared.streams.lanes import topic_of
from shared.streams.refusals import refused
from shared.streams.stage import Emit
from shared.streams.stranded import reachable
from shared.telemetry import metrics
from shared.telemetry.tracing import TraceParent

log = structlog.get_logger()

_REFUSED = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG, KafkaError.INVALID_MSG_SIZE}
"""Errors that will be the same at every try: they are about the record, not about the broker."""


class Outputs:
    """The producer of a process. Used from one event loop."""

    def __init__(self, settings: Settings, source: str) -> None:
        self._source = source
        self._settings = settings
        self._kafka = settings.kafka
        self._producer = Producer(producer_config(settings))
        self._replaced: list[Any] = []
        """Producers that did not find the broker again, with records whose reports are still out."""
        self._ending = False
        self._thread = threading.Thread(target=self._poll, name="producer", daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._ending:
            self._producer.poll(0.1)
            for one in list(self._replaced):
                one.poll(0)
                if not len(one):
                    self._replaced.remove(one)

    async def deliver(self, emits: Sequence[Emit], trace: TraceParent) -> None:
        """Produce records and wait until all are acknowledged.

        Raises `DocfleetError(internal)` for a record above `MAX_RECORD_BYTES` (nothing is sent then) or one the broker
        refuses, and `Unavailable("broker")` when it does not answer; some records may have been written all the same.
        """
        ready = []
        for emit in emits:
            value = encode(emit.record)
            if len(value) > MAX_RECORD_BYTES:
                raise DocfleetError(
                    ErrorCode.internal,
                    f"a {record_headers.type_of(emit.record)} of {len(value)} bytes is above the limit of {MAX_RECORD_BYTES}",
                )
            head = record_headers.make(emit.record, source=self._source, trace=trace, extra=emit.headers)
            ready.append((topic_of(emit.topic, emit.record), emit.key.encode(), value, head))
        await asyncio.gather(*(self._send(*record) for record in ready))

    async def deliver_raw(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Produce bytes as they are (dead letters). Raises like `deliver`."""
        await self._send(topic, key, value, headers)

    async def _send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[KafkaError | None] = loop.create_future()

        def settle(error: KafkaError | None) -> None:
            if not done.done():
                done.set_result(error)

        def reported(error: KafkaError | None, _: Any) -> None:
            # On the producer's thread. The loop may be closed already when a process ends without waiting for its reports.
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, error)

        while True:
            producer = self._producer
            try:
                producer.produce(topic, value=value, key=key, headers=headers, on_delivery=reported)
                break
            except BufferError:
                await asyncio.sleep(0.01)
            except KafkaException as refusal:
                settle(refusal.args[0])
                break
        error = await done
        if error is None:
            metrics.PRODUCED.labels(topic=topic).inc()
        elif error.code() in _REFUSED:
            raise DocfleetError(ErrorCode.internal, f"the broker refused a record for {topic}: {error.str()}")
        else:
            if error.code() == KafkaError._MSG_TIMED_OUT:
                await self._renew(producer)
            raise refused(self._kafka, error, "write to", topic) or Unavailable(
                "broker", f"no acknowledgement for a record for {topic}: {error.str()}"
            )

    async def _renew(self, producer: Any) -> None:
        """Replace a producer that does not find a broker which somebody new finds (`stranded`)."""
        if producer is not self._producer or not await asyncio.to_thread(reachable, self._settings):
            return
        if producer is self._producer:  # nobody else was quicker
            log.warning("a producer whose records were not acknowledged is replaced")
            self._replaced.append(producer)
            self._producer = Producer(producer_config(self._settings))

    def close(self, timeout_s: float) -> int:
        """Wait for reports still out, at most that long, and end. Returns the number of records without a report."""
        left = int(self._producer.flush(timeout_s))
        self._ending = True
        self._thread.join(timeout=2)
        return left
