"""What a Kafka cluster says of itself, in plain values: partitions, configuration, offsets, lag, live keys of a compacted topic."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from shared.settings import Settings
from shared.streams.clients import admin_config, reader_config

TIMEOUT_S = 15.0
ASK_S = 3.0
PATIENCE_S = 45.0


def persistently(ask: Callable[[], dict[Any, Any]]) -> list[Any]:
    """Results of a request to a group's coordinator, asked again while it times out or is not there.

    On a new cluster the first look for a coordinator creates the topic it needs, and librdkafka's request then waits out its
    whole time (seen with 2.16 on Apache Kafka 4.3.1: the second try takes 0.2 s).
    """
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return [future.result(timeout=TIMEOUT_S) for future in ask().values()]
        except KafkaException as error:
            waits = error.args[0].retriable() or error.args[0].code() in (KafkaError._TIMED_OUT, KafkaError._WAIT_COORD)
            if not waits or time.monotonic() > end:
                raise
            time.sleep(0.2)


class Cluster:
    """Context manager. Every method asks the cluster anew, unless it says otherwise, and raises `KafkaException`."""

    def __init__(self, settings: Settings) -> None:
        self._admin = AdminClient(admin_config(settings))
        self._reader = Consumer(reader_config(settings, "topics"))
        self._brokers = 0

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

    def brokers(self) -> int:
        """Number of brokers; asked once."""
        self._brokers = self._brokers or len(self._admin.list_topics(timeout=TIMEOUT_S).brokers)
        return self._brokers

    def partitions(self) -> dict[str, int]:
        """Topics and how many partitions each has."""
        topics = self._admin.list_topics(timeout=TIMEOUT_S).topics
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def await_partitions(self, wanted: dict[str, int], timeout_s: float = 30.0) -> None:
        """Wait until topics that were just created are known with all their partitions, each with a leader."""
        end = time.monotonic() + timeout_s
        while True:
            topics = self._admin.list_topics(timeout=TIMEOUT_S).topics
            late = [
                name
                for name, count in wanted.items()
                if name not in topics
                or len(topics[name].partitions) < count
                or any(p.leader < 0 for p in topics[name].partitions.values())
            ]
            if not late:
                return
            if time.monotonic() > end:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"topics without a leader: {', '.join(late)}"))
            time.sleep(0.1)

    def replication(self, topic: str) -> int:
        """Replicas of a topic, of its first partition."""
        return len(self._admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions[0].replicas)

    def configs(self, topics: list[str]) -> dict[str, dict[str, str]]:
        """Configuration of topics, defaults included."""
        if not topics:
            return {}
        futures = self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in topics])
        return {
            resource.name: {entry.name: entry.value for entry in future.result(timeout=TIMEOUT_S).values()}
            for resource, future in futures.items()
        }

    def committed(self, group: str, topic: str) -> dict[int, int | None]:
        """Committed offset of a group for each partition of a topic; none where it has none."""
        partitions = [TopicPartition(topic, p) for p in range(self.partitions()[topic])]
        asked = ConsumerGroupTopicPartitions(group, partitions)
        (answer,) = persistently(lambda: self._admin.list_consumer_group_offsets([asked], request_timeout=ASK_S))
        found = answer.topic_partitions
        return {p.partition: p.offset if p.offset >= 0 else None for p in found}

    def ends(self, topic: str) -> dict[int, tuple[int, int]]:
        """First and next offset of each partition of a topic."""
        partitions = [TopicPartition(topic, p) for p in range(self.partitions()[topic])]
        answers = []
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):
            futures = self._admin.list_offsets(dict.fromkeys(partitions, spec), request_timeout=TIMEOUT_S)
            answers.append({p.partition: future.result(timeout=TIMEOUT_S).offset for p, future in futures.items()})
        return {p.partition: (answers[0][p.partition], answers[1][p.partition]) for p in partitions}

    def lag(self, group: str, topic: str) -> int:
        """Records of a topic that a group has not committed; all of them where it has no offset."""
        committed = self.committed(group, topic)
        return sum(end - max(first, committed[p] or 0) for p, (first, end) in self.ends(topic).items())

    def live_keys(self, topic: str, timeout_s: float = 120.0) -> int:
        """Keys of a compacted topic whose last record is not a tombstone. Reads the topic."""
        ends = {p: last for p, (first, last) in self.ends(topic).items() if last > first}
        live: set[bytes | None] = set()
        self._reader.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in ends])
        limit = time.monotonic() + timeout_s
        while ends:
            if time.monotonic() > limit:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{topic} could not be read to its end"))
            message = self._reader.poll(1.0)
            if message is None:
                continue
            if message.error() is not None:
                if message.error().code() == KafkaError._PARTITION_EOF:
                    ends.pop(message.partition(), None)
                continue
            (live.discard if message.value() is None else live.add)(message.key())
            if message.offset() + 1 >= ends.get(message.partition(), 0):
                ends.pop(message.partition(), None)
        self._reader.unassign()
        return len(live)
