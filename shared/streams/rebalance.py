"""What happens at a partition's coming and going, on the consumer's thread.

Coming: the committed offset and its metadata are read, and the partition is fetched from there; a group without one is an error
(it lost its offsets, or `docfleet topics apply` was never run), except on the embedded broker and for a partition that was added to a
topic the group already reads. Going: what is in flight is drained, its state committed, and only then is the partition let go.
Lost: it belongs to somebody else already; nothing is committed.

These functions are librdkafka's rebalance callbacks, called inside `poll` and `close`. They never raise: an exception in a callback
surfaces from `poll` with its partition in an undefined state. They report it and the process ends.
"""

from __future__ import annotations

from typing import Any, Protocol

import structlog
from confluent_kafka import KafkaException, TopicPartition

from shared.streams.cluster import TIMEOUT_S, read_committed
from shared.streams.work import Commit, Place
from shared.telemetry import metrics

log = structlog.get_logger()


class OffsetsMissing(Exception):
    """The group has no committed offset for a partition, and it is not for us to choose one."""


class Start(Commit, frozen=True):
    """Where an assignment begins: committed offset and metadata."""


class Ledger(Protocol):
    """Who keeps the records' state. Called on the consumer's thread."""

    def assigned(self, starts: list[Start]) -> None:
        """Partitions came; records of them follow."""
        ...

    def drain(self, places: list[Place]) -> list[Commit]:
        """Partitions are about to go: finish or abandon their records and return what is to be committed. Blocks."""
        ...

    def lost(self, places: list[Place]) -> None:
        """Partitions are gone."""
        ...

    def broken(self, error: BaseException) -> None:
        """The process can't go on."""
        ...


class Rebalance:
    """The three callbacks of one consumer."""

    def __init__(self, group: str, ledger: Ledger, embedded: bool) -> None:
        self._group = group
        self._ledger = ledger
        self._embedded = embedded
        self.fresh: set[Place] = set()
        """Partitions that came since somebody last looked (the poller, between two polls)."""

    def on_assign(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        try:
            starts = self._starts(consumer, partitions) if partitions else []
            consumer.incremental_assign([TopicPartition(s.topic, s.partition, s.offset) for s in starts])
        except (KafkaException, OffsetsMissing) as error:
            self._ledger.broken(error)
            return
        self.fresh |= {(s.topic, s.partition) for s in starts}
        metrics.REBALANCES.labels(event="assigned").inc()
        self._ledger.assigned(starts)

    def on_revoke(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        places = [(p.topic, p.partition) for p in partitions]
        try:
            commits = self._ledger.drain(places)
            commit(consumer, commits)
            consumer.incremental_unassign(partitions)
        except KafkaException as error:
            self._ledger.broken(error)
        metrics.REBALANCES.labels(event="revoked").inc()

    def on_lost(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        self._ledger.lost([(p.topic, p.partition) for p in partitions])
        metrics.REBALANCES.labels(event="lost").inc()
        try:
            consumer.incremental_unassign(partitions)
        except KafkaException as error:
            self._ledger.broken(error)

    def _starts(self, consumer: Any, partitions: list[TopicPartition]) -> list[Start]:
        wanted = [TopicPartition(p.topic, p.partition) for p in partitions]
        committed = read_committed(consumer, wanted)
        starts, missing = [], []
        for found in committed:
            if found.offset >= 0:
                starts.append(Start(found.topic, found.partition, found.offset, found.metadata or ""))
            elif self._embedded:
                starts.append(Start(found.topic, found.partition, 0, ""))
            else:
                missing.append(found)
        return starts + [self._start_of_new(consumer, partition) for partition in missing]

    def _start_of_new(self, consumer: Any, partition: TopicPartition) -> Start:
        """A partition that was added while the group was reading: its siblings have offsets, and nothing was ever trimmed."""
        topic = consumer.list_topics(partition.topic, timeout=TIMEOUT_S).topics[partition.topic]
        siblings = read_committed(consumer, [TopicPartition(partition.topic, p) for p in topic.partitions])
        low, _ = consumer.get_watermark_offsets(partition, timeout=TIMEOUT_S)
        if low != 0 or all(sibling.offset < 0 for sibling in siblings):
            raise OffsetsMissing(
                f"group {self._group} has no committed offset for {partition.topic}[{partition.partition}]; "
                "run `docfleet topics apply` once before the services start. If the group lost its offsets (they expire after "
                "offsets.retention.minutes without a member), choose where to go on with `docfleet topics apply --lost-offsets`"
            )
        log.warning("a new partition is read from its beginning", topic=partition.topic, partition=partition.partition)
        return Start(partition.topic, partition.partition, 0, "")


def commit(consumer: Any, commits: list[Commit]) -> bool:
    """Commit and wait. False when the broker would not have it: the group moved on, and the records will come again."""
    if not commits:
        return True
    try:
        done = consumer.commit(offsets=to_partitions(commits), asynchronous=False)
    except KafkaException as error:
        log.info("commit refused", why=error.args[0].str())
        metrics.COMMITS.labels(outcome="refused").inc()
        return False
    failed = [p for p in done if p.error is not None]
    metrics.COMMITS.labels(outcome="refused" if failed else "ok").inc()
    return not failed


def to_partitions(commits: list[Commit]) -> list[TopicPartition]:
    """Commits as librdkafka takes them (metadata can be given to the constructor only)."""
    return [TopicPartition(c.topic, c.partition, c.offset, metadata=c.metadata) for c in commits]
