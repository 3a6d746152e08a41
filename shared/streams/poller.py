"""The one thread that owns the consumer. It polls, pauses, resumes, commits and answers rebalances, and nothing else.

It never waits for work, so any record may take any time. What it is asked for (which partitions to pause, what to commit) lies
in plain attributes and a queue and is done between two polls.
"""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from typing import Any, Protocol

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from shared.settings import Settings
from shared.streams.clients import consumer_config
from shared.streams.rebalance import Ledger, OffsetsMissing, Rebalance, commit, to_partitions
from shared.streams.refusals import refused, unavailable
from shared.streams.work import Commit, Place, Polled
from shared.telemetry import metrics

log = structlog.get_logger()

POLL_S = 0.05
"""Longest wait of one poll: how late a pause, resume or commit may come."""
BATCH = 64
"""Records taken at once, beyond the first."""
PROBE_S = 3.0
"""How often a broker that was reported down is asked whether it is back."""


class Listener(Ledger, Protocol):
    """Who gets what the consumer brings. Called on the consumer's thread."""

    def arrived(self, records: list[Polled]) -> None:
        """Records were polled, in order within each partition."""
        ...

    def committed(self, commits: list[Commit], ok: bool) -> None:
        """The answer to a periodic commit."""
        ...

    def broker(self, ok: bool, why: str) -> None:
        """The broker went away, or came back."""
        ...

    def turned(self) -> None:
        """The loop went round."""
        ...


class Poller:
    """A member of a consumer group."""

    def __init__(self, settings: Settings, group: str, topics: list[str], listener: Listener) -> None:
        self._group = group
        self._topics = topics
        self._listener = listener
        self._settings = settings
        self._embedded = settings.kafka.embedded
        self._config = consumer_config(settings, group) | {"error_cb": self._error, "on_commit": self._on_commit}
        self._rebalance = Rebalance(group, listener, settings.kafka.embedded)
        self._wanted: frozenset[Place] = frozenset()
        self._paused: set[Place] = set()
        self._urgent: queue.SimpleQueue[tuple[list[Commit], Future[bool]]] = queue.SimpleQueue()
        self._periodic: list[Commit] | None = None
        self._sent: list[Commit] | None = None
        self._stop: list[Commit] | None = None
        self._down_since: float | None = None
        self._probed = 0.0
        self._thread = threading.Thread(target=self._run, name="consumer", daemon=True)

    def start(self) -> None:
        """Subscribe and begin to poll."""
        self._thread.start()

    # --- asked for by other threads -----------------------------------------------------------------------------------

    def pause(self, places: frozenset[Place]) -> None:
        """From the next turn on, fetch from every owned partition but these."""
        self._wanted = places

    def commit(self, commits: list[Commit]) -> bool:
        """Commit without waiting; `Listener.committed` gets the answer. False while an earlier one is unanswered."""
        if self._sent is not None or self._periodic is not None:
            return False
        self._periodic = commits
        return True

    def commit_now(self, commits: list[Commit]) -> Future[bool]:
        """Commit; the future is true when the broker has it."""
        done: Future[bool] = Future()
        self._urgent.put((commits, done))
        return done

    def finish(self, commits: list[Commit]) -> None:
        """Commit, leave the group, end the thread."""
        self._stop = commits

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of the thread; true when it has ended."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    # --- on the consumer's thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        consumer: Any = None
        try:
            consumer = Consumer(self._config)
            if self._embedded:
                for topic in self._topics:
                    consumer.list_topics(topic, timeout=10)  # a topic of that broker appears when it is asked for
            consumer.subscribe(
                self._topics,
                on_assign=self._rebalance.on_assign,
                on_revoke=self._rebalance.on_revoke,
                on_lost=self._rebalance.on_lost,
            )
            while self._stop is None:
                self._turn(consumer)
            commit(consumer, self._stop)
        except Exception as error:
            self._listener.broken(error)
        finally:
            while not self._urgent.empty():
                done = self._urgent.get()[1]
                if done.set_running_or_notify_cancel():
                    done.set_result(False)
            if consumer is not None:
                consumer.close()

    def _turn(self, consumer: Any) -> None:
        self._listener.turned()
        self._follow(consumer)
        first = consumer.poll(POLL_S)
        if first is not None:
            self._sort([first, *consumer.consume(BATCH, 0)])
        if self._down_since is not None:
            self._probe(consumer)

    def _follow(self, consumer: Any) -> None:
        """Do what was asked for since the last turn."""
        owned = {(p.topic, p.partition) for p in consumer.assignment()}
        fresh, self._rebalance.fresh = self._rebalance.fresh & owned, set()
        wanted = self._wanted & owned
        # A partition that was paused when it was lost is still paused when it comes back.
        self._paused = (self._paused & owned) | fresh
        if more := wanted - (self._paused - fresh):
            consumer.pause([TopicPartition(*place) for place in more])
        if less := self._paused - wanted:
            consumer.resume([TopicPartition(*place) for place in less])
        self._paused = set(wanted)
        while not self._urgent.empty():
            commits, done = self._urgent.get()
            if done.set_running_or_notify_cancel():
                done.set_result(commit(consumer, [c for c in commits if (c.topic, c.partition) in owned]))
        if self._periodic is not None:
            commits = [c for c in self._periodic if (c.topic, c.partition) in owned]
            self._periodic = None
            if commits:
                self._sent = commits
                try:
                    consumer.commit(offsets=to_partitions(commits), asynchronous=True)
                except KafkaException as error:
                    self._on_commit(error.args[0], [])

    def _sort(self, messages: list[Any]) -> None:
        records = []
        for message in messages:
            error = message.error()
            if error is None:
                records.append(_polled(message))
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise OffsetsMissing(
                    f"group {self._group} stands at an offset of {message.topic()}[{message.partition()}] that is not there any more "
                    f"({error.str()}); choose where to go on with `docfleet topics apply --lost-offsets`"
                )
            elif error.fatal():
                raise KafkaException(error)
            elif refusal := refused(self._settings.kafka, error, "read", message.topic() or self._group):
                # It would not change while the process waits: librdkafka tells it once, and never that it is over.
                raise refusal
            else:
                self._error(error)
        if records:
            for record in records:
                metrics.POLLED.labels(topic=record.topic).inc()
            self._listener.arrived(records)

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        sent, self._sent = self._sent, None
        if sent is None:
            return
        ok = error is None and all(p.error is None for p in partitions)
        metrics.COMMITS.labels(outcome="ok" if ok else "refused").inc()
        self._listener.committed(sent, ok)

    def _error(self, error: KafkaError) -> None:
        if error.fatal():
            self._listener.broken(KafkaException(error))
        elif error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION):
            self._down_since = self._down_since or time.monotonic()
            self._listener.broker(False, str(unavailable(self._settings.kafka, error, "reach")))
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._down_since = self._down_since or time.monotonic()
            self._listener.broker(False, f"{error.str()}; has `docfleet topics apply` been run?")

    def _probe(self, consumer: Any) -> None:
        """Ask a broker that was reported down for metadata, now and then, briefly."""
        now = time.monotonic()
        if now - self._probed < PROBE_S:
            return
        self._probed = now
        try:
            topics = consumer.list_topics(timeout=1).topics
        except KafkaException:
            return
        if all(name in topics for name in self._topics):
            self._down_since = None
            self._listener.broker(True, "")


def _polled(message: Any) -> Polled:
    return Polled(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        key=message.key(),
        value=message.value(),
        headers=message.headers() or [],
        timestamp_ms=message.timestamp()[1],
    )
