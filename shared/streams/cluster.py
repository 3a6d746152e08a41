"""What a Kafka cluster says of itself, in plain values: partitions, configuration, offsets, lag, live keys of a compacted topic."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from shared.settings import Settings
from shared.streams.clients import admin_config, reader_config

T = TypeVar("T")

TIMEOUT_S = 15.0
"""For one request."""
PATIENCE_S = 60.0
"""For a coordinator that is moving, or that a new cluster is about to make. Less than a worker's consumer may be silent (`runner.run`)."""

_PASSING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError._TIMED_OUT,
    KafkaError._WAIT_COORD,
    KafkaError._TRANSPORT,
}
"""Errors of a leader or coordinator that is on its way, or of a broker that has not heard of a new partition yet; librdkafka does not
mark all of them as retriable."""
_HAS_MEMBERS = {KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS}


class Cluster:
    """Context manager. Every method asks the cluster anew, unless it says otherwise, and raises `KafkaException`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._admin = AdminClient(admin_config(settings))
        self._members: dict[str, Any] = {}
        self._reader = Consumer(reader_config(settings, "topics"))
        self._brokers = 0

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for consumer in (self._reader, *self._members.values()):
            consumer.close()

    def brokers(self) -> int:
        """Number of brokers; asked once."""
        self._brokers = self._brokers or len(self._admin.list_topics(timeout=TIMEOUT_S).brokers)
        return self._brokers

    def partitions(self) -> dict[str, int]:
        """Topics and how many partitions each has."""
        topics = self._admin.list_topics(timeout=TIMEOUT_S).topics
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def hidden(self, topic: str) -> KafkaError | None:
        """The broker's refusal, where a topic is missing among `partitions` because we may not see it."""
        error = self._admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic].error
        return error if error is not None and error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED else None

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
        found = read_committed(self._member(group), partitions)
        return {p.partition: p.offset if p.offset >= 0 else None for p in found}

    def commit(self, group: str, topic: str, offsets: dict[int, int]) -> bool:
        """Set a group's offsets. False when it has members: only they may."""
        partitions = [TopicPartition(topic, p, offset) for p, offset in offsets.items()]
        try:
            patiently(lambda: self._member(group).commit(offsets=partitions, asynchronous=False))
        except KafkaException as error:
            if error.args[0].code() in _HAS_MEMBERS:
                return False
            raise
        return True

    def _member(self, group: str) -> Any:
        """A consumer with the group's name that never joins it.

        It reads and writes the group's offsets, because librdkafka's admin requests for that wait out their whole time where a new
        cluster has no coordinator yet, and a client with such a request behind it can hang when it is destroyed (seen with 2.16).
        """
        if group not in self._members:
            self._members[group] = Consumer(reader_config(self._settings, "topics") | {"group.id": group})
        return self._members[group]

    def ends(self, topic: str) -> dict[int, tuple[int, int]]:
        """First and next offset of each partition of a topic."""
        partitions = range(self.partitions()[topic])
        return {p: patiently(partial(self._watermarks, topic, p)) for p in partitions}

    def _watermarks(self, topic: str, partition: int) -> tuple[int, int]:
        first, last = self._reader.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT_S)
        return int(first), int(last)

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


def read_committed(consumer: Any, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Committed offsets (negative where there is none) of the consumer's group."""
    return patiently(lambda: consumer.committed(partitions, timeout=TIMEOUT_S))


def patiently(ask: Callable[[], T]) -> T:
    """What `ask` returns, asked again for `PATIENCE_S` while the broker that has to answer is moving or has not heard yet.

    An answer that is a list of partitions fails with the first of their errors.
    """
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            answer = ask()
            failed = [p.error for p in answer if p.error is not None] if isinstance(answer, list) else []
            if not failed:
                return answer
            error = failed[0]
        except KafkaException as trouble:
            error = trouble.args[0]
        if error.code() not in _PASSING or time.monotonic() > end:
            raise KafkaException(error)
        time.sleep(0.2)
