"""One member of a consumer group: a consumer, what it is subscribed to, and what was asked of it.

Why a process can hold two: the assignors that move partitions one by one (librdkafka's `cooperative-sticky`, the brokers' `uniform`) even out
the *number* of partitions, whatever their topic. When a second worker joined a first that read a topic and its bulk twin, all partitions of
the one topic moved to it and all of the other stayed: with one lane empty, one of the two had nothing to do. So with the classic protocol
each topic has a member of its own, and each lane is shared by itself. The consumer protocol has an assignor that shares topic by topic
(`range`, named in `shared.streams.clients`), and one member reads all.

All of it runs on the thread of `shared.streams.poller`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from shared.settings import Settings
from shared.streams.clients import consumer_config
from shared.streams.rebalance import Ledger, Rebalance, to_partitions
from shared.streams.work import Commit, Place
from shared.telemetry import metrics


def shares(settings: Settings, topics: list[str]) -> list[list[str]]:
    """What each member of a process subscribes to."""
    if settings.kafka.embedded or settings.kafka.group_protocol == "consumer":
        return [topics]
    return [[topic] for topic in topics]


class Answers(Ledger, Protocol):
    """What the members of a process tell it, beside rebalances."""

    def committed(self, commits: list[Commit], ok: bool) -> None:
        """The answer to a commit that was sent."""
        ...


class Member:
    """A member, from subscription to close. `name` tells those of one process apart; `error` is librdkafka's `error_cb`."""

    def __init__(
        self, settings: Settings, group: str, topics: list[str], name: str, answers: Answers, error: Callable[..., None]
    ) -> None:
        config = consumer_config(settings, group, name) | {"error_cb": error, "on_commit": self._on_commit}
        self.subscribed = topics
        self._answers = answers
        self._rebalance = Rebalance(group, answers, settings.kafka.embedded)
        self._paused: set[Place] = set()
        self._sent: list[Commit] | None = None
        self.took = False
        """Whether the broker has what was last sent; false while it `waits`, true where nothing of it was this member's."""
        self._consumer: Any = Consumer(config)
        if settings.kafka.embedded:
            for topic in topics:
                self._consumer.list_topics(topic, timeout=10)  # a topic of that broker appears when it is asked for
        self._consumer.subscribe(
            topics,
            on_assign=self._rebalance.on_assign,
            on_revoke=self._rebalance.on_revoke,
            on_lost=self._rebalance.on_lost,
        )

    def poll(self, wait_s: float, batch: int) -> list[Any]:
        """What has come: at most `batch` + 1 messages; waits for the first up to `wait_s`. Answers rebalances."""
        first = self._consumer.poll(wait_s)
        return [] if first is None else [first, *self._consumer.consume(batch, 0)]

    def owned(self) -> set[Place]:
        """The partitions this member owns."""
        return {(p.topic, p.partition) for p in self._consumer.assignment()}

    def follow(self, wanted: frozenset[Place]) -> None:
        """Pause what it owns of `wanted`, fetch from the rest."""
        owned = self.owned()
        fresh, self._rebalance.fresh = self._rebalance.fresh & owned, set()
        pause = wanted & owned
        # A partition that was paused when it was lost is still paused when it comes back.
        self._paused = (self._paused & owned) | fresh
        if more := pause - (self._paused - fresh):
            self._consumer.pause([TopicPartition(*place) for place in more])
        if less := self._paused - pause:
            self._consumer.resume([TopicPartition(*place) for place in less])
        self._paused = set(pause)

    def send(self, commits: list[Commit]) -> None:
        """Commit what it owns of these without waiting; a later `poll` brings the answer, which `Answers.committed` gets.

        To wait for it here would be to wait for ever where the group is about to meet: the broker answers after the JoinGroup that lies
        before this commit on the connection, and that when all have joined, the other member of this thread too, which may have a callback
        to be served first. Only in a callback of its own has a member no JoinGroup on the way.
        """
        mine = self._mine(commits)
        self.took = not mine
        if mine:
            self._sent = mine
            try:
                self._consumer.commit(offsets=to_partitions(mine), asynchronous=True)
            except KafkaException as error:
                self._on_commit(error.args[0], [])

    @property
    def waits(self) -> bool:
        """Is a commit unanswered?"""
        return self._sent is not None

    def ends(self) -> dict[Place, int]:
        """The offset after the last record of each partition it owns, as of the last fetch; asks nobody."""
        found = {}
        for place in self.owned():
            _, end = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
            if end >= 0:  # OFFSET_INVALID before the first fetch
                found[place] = end
        return found

    def topics(self, timeout_s: float) -> set[str]:
        """The topics of the broker. Raises KafkaException when it does not answer."""
        return set(self._consumer.list_topics(timeout=timeout_s).topics)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()

    def _mine(self, commits: list[Commit]) -> list[Commit]:
        owned = self.owned()
        return [c for c in commits if (c.topic, c.partition) in owned]

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        sent, self._sent = self._sent, None
        if sent is None:
            return
        ok = error is None and all(p.error is None for p in partitions)
        metrics.COMMITS.labels(outcome="ok" if ok else "refused").inc()
        self.took = ok
        self._answers.committed(sent, ok)
