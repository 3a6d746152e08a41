"""Read and write topics as a plain client would."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition


def read(bootstrap: str, topic: str, count: int = 1, timeout_s: float = 20.0, quiet_s: float = 0.0) -> list[Any]:
    """Messages of a topic from its beginning: at least `count` of them, else AssertionError; then as many as come within `quiet_s`."""
    found: list[Any] = []
    return wait(bootstrap, topic, lambda messages: len(messages) >= count, timeout_s, quiet_s, found)


def wait(
    bootstrap: str,
    topic: str,
    enough: Callable[[Sequence[Any]], bool],
    timeout_s: float = 20.0,
    quiet_s: float = 0.0,
    found: list[Any] | None = None,
) -> list[Any]:
    """Messages of a topic from its beginning until `enough` says so."""
    found = [] if found is None else found
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"test-{uuid.uuid4()}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "allow.auto.create.topics": True,
            "log_level": 2,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
        end = time.monotonic() + timeout_s
        while not enough(found):
            assert time.monotonic() < end, f"{topic}: {len(found)} records after {timeout_s} s"
            _take(consumer, found)
        end = time.monotonic() + quiet_s
        while time.monotonic() < end:
            _take(consumer, found)
    finally:
        consumer.close()
    return found


def _take(consumer: Any, found: list[Any]) -> None:
    message = consumer.poll(0.1)
    if message is None:
        return
    if message.error() is None:
        found.append(message)
    elif message.error().code() != KafkaError._PARTITION_EOF:
        raise AssertionError(str(message.error()))


class Writer:
    """A plain producer with the fleet's partitioner."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "linger.ms": 1,
                "log_level": 2,
                "message.max.bytes": 8_000_000,
            }
        )

    def write(
        self, topic: str, value: bytes | None, key: bytes | None = None, headers: Any = None, partition: int = -1
    ) -> None:
        """Produce and forget until `flush`."""
        self._producer.produce(topic, value=value, key=key, headers=headers, partition=partition)

    def flush(self) -> None:
        """Wait for the acknowledgements; AssertionError where one is missing."""
        assert self._producer.flush(120) == 0, "records were not acknowledged"
