"""The one place that makes a Kafka client configuration (librdkafka names).

Rules that hold for all of them: no automatic commits; producers are idempotent and partition like the Java client
(`murmur2_random`), so that co-partitioned topics agree with any other producer; a group without committed offsets is an error, not a
reason to start from either end.
"""

from __future__ import annotations

import logging
import os
import re
import time
from typing import Any

from shared.settings import GROUPS, Settings
from shared.streams.security import client_security

logger = logging.getLogger("librdkafka")


class Seldom(logging.Filter):
    """Lets a line of a Kafka client through once in `EVERY_S`, numbers aside: a lost broker is reported at each of many attempts a second."""

    EVERY_S = 30.0

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        line = re.sub(r"\d+", "", record.getMessage())
        now = time.monotonic()
        seldom = now - self._last.get(line, -self.EVERY_S) >= self.EVERY_S
        if seldom:
            self._last = {key: at for key, at in self._last.items() if now - at < self.EVERY_S} | {line: now}
        return seldom


logger.addFilter(Seldom())

MAX_POLL_INTERVAL_MS = 120_000
"""A consumer thread that does not poll for longer is taken for stuck and loses its partitions. Well above any drain."""

DELIVERY_TIMEOUT_MS = 120_000
"""A record not acknowledged within this counts as not produced: the broker is away."""

PRODUCER_MAX_BYTES = 2_000_000
"""A dead letter carries a whole foreign record (1 MB at most, limits.max_record_bytes) and more headers than it came with."""


def _common(settings: Settings) -> dict[str, Any]:
    kafka = settings.kafka
    config: dict[str, Any] = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "client.id": f"docfleet-{os.getpid()}",
        "socket.keepalive.enable": True,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 5_000,
        # The embedded broker ends with its process: lost connections at the end are no news.
        "log_level": 2 if kafka.embedded else 4,
        "logger": logger,
    }
    return config | client_security(kafka)


def consumer_config(settings: Settings, group: str, member: str = "") -> dict[str, Any]:
    """A member of a consumer group (its name as the broker knows it, a value of `settings.GROUPS`).

    `member` tells the members of one process apart where it has more than one (`shared.streams.member`)."""
    kafka = settings.kafka
    config = _common(settings) | {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "max.poll.interval.ms": MAX_POLL_INTERVAL_MS,
        # Records are small (claim check) and the runner holds its own bounded queue: little is fetched ahead. With the default
        # back-off of a full queue (1 s) a short queue stalls: 3,000 records took 8 s, with 20 ms 1.3 s (in-process broker, 2 cores).
        "queued.min.messages": 200,
        "fetch.queue.backoff.ms": 20,
        "queued.max.messages.kbytes": 8_192,
    }
    if kafka.embedded:
        # The in-process broker holds back an empty fetch for the whole wait, also when a record arrives meanwhile.
        config |= {"group.protocol": "consumer", "fetch.wait.max.ms": 20, "allow.auto.create.topics": True}
    elif kafka.group_protocol == "consumer":
        # `uniform`, the brokers' default, evens out the number of partitions over all topics and can leave a worker one lane only.
        config |= {"group.protocol": "consumer", "group.remote.assignor": "range"}
    else:
        config |= {
            "group.protocol": "classic",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": kafka.session_timeout_ms,
            "heartbeat.interval.ms": max(300, kafka.session_timeout_ms // 3),
        }
    if kafka.group_instance_id and not kafka.embedded:
        config["group.instance.id"] = f"{kafka.group_instance_id}-{member}" if member else kafka.group_instance_id
    return config | kafka.extra


def reader_config(settings: Settings, purpose: str) -> dict[str, Any]:
    """A consumer that is assigned its partitions, belongs to no group and commits nothing (docs.control, tools)."""
    config = _common(settings) | {
        "group.id": reader_group(purpose),
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        # Means nothing without a group, but librdkafka refuses a `max.poll.interval.ms` (kafka.extra) below its default of 45 s.
        "session.timeout.ms": settings.kafka.session_timeout_ms,
        "enable.partition.eof": True,
        "queued.max.messages.kbytes": 8_192,
    }
    if settings.kafka.embedded:
        config |= {"fetch.wait.max.ms": 100, "allow.auto.create.topics": True}
    return config | settings.kafka.extra


def reader_group(purpose: str) -> str:
    """The group that such a consumer names and never joins. librdkafka asks for its coordinator all the same, which a broker with an
    authorizer answers only to who may describe it."""
    return f"docfleet-{purpose}"


def producer_config(settings: Settings) -> dict[str, Any]:
    """The producer of a process."""
    return (
        _common(settings)
        | {
            "enable.idempotence": True,
            "acks": "all",
            "partitioner": "murmur2_random",
            "linger.ms": 1 if settings.kafka.embedded else 5,
            "compression.type": "none" if settings.kafka.embedded else "lz4",
            "delivery.timeout.ms": DELIVERY_TIMEOUT_MS,
            "message.max.bytes": PRODUCER_MAX_BYTES,
        }
        | settings.kafka.extra
    )


def admin_config(settings: Settings) -> dict[str, Any]:
    """An AdminClient. Keep the client while its futures are awaited: they fail when it is collected."""
    return _common(settings) | settings.kafka.extra


def group_of(stage: str) -> str:
    """The consumer group of a stage by its key in `settings.GROUPS`."""
    return GROUPS[stage]
