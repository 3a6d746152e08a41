"""The one thread that owns the consumers. It polls, pauses, resumes, commits and answers rebalances, and nothing else.

It never waits for work, so any record may take any time. What it is asked for (which partitions to pause, what to commit) lies
in a plain attribute and a queue and is done between two polls.

Commits reach the broker in the order in which they were asked for, each after the answer to the one before. Each tells the state of
its moment, so that an older one that overtakes a newer one takes back what the newer one said: that a record runs alone now, for one,
and its death would be laid at the door of the record that ran alone before it.
"""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from typing import Any, Protocol

import structlog
from confluent_kafka import KafkaError, KafkaException

from shared.settings import Settings
from shared.streams.member import Answers, Member, shares
from shared.streams.rebalance import OffsetsMissing
from shared.streams.refusals import refused, unavailable
from shared.streams.stranded import Stranded, reachable
from shared.streams.work import Commit, Place, Polled
from shared.telemetry import metrics

log = structlog.get_logger()

POLL_S = 0.05
"""Longest wait of one poll: how late a pause, resume or commit may come."""
BATCH = 64
"""Records taken at once, beyond the first."""
PROBE_S = 3.0
"""How often a broker that was reported down is asked whether it is back."""
LEAVE_S = 4.0
"""Longest wait for the answer to the last commit."""
LOOK_S = 1.0
"""How often the ends of the owned partitions are noted, for the lag."""


class Listener(Answers, Protocol):
    """Who gets what the consumer brings. Called on the consumer's thread."""

    def arrived(self, records: list[Polled]) -> None:
        """Records were polled, in order within each partition."""
        ...

    def broker(self, ok: bool, why: str) -> None:
        """The broker went away, or came back."""
        ...

    def turned(self) -> None:
        """The loop went round."""
        ...


class Poller:
    """A process in its consumer group, as one member or more."""

    def __init__(self, settings: Settings, group: str, topics: list[str], listener: Listener) -> None:
        self._group = group
        self._topics = topics
        self._listener = listener
        self._settings = settings
        self._members: list[Member] = []
        self._looked = 0.0
        self.ends: dict[Place, int] = {}
        """The offset after the last record of each owned partition, as of its last fetch. Replaced, never changed."""
        self._wanted: frozenset[Place] = frozenset()
        self._asked: queue.SimpleQueue[tuple[list[Commit], Future[bool] | None]] = queue.SimpleQueue()
        """Commits in order; those with a future are waited for."""
        self._unsent = False
        """Whether a periodic commit is among `_asked`."""
        self._waited: Future[bool] | None = None
        """Of the commit that was sent last, where somebody waits for it."""
        self._stop: list[Commit] | None = None
        self._down_since: float | None = None
        self._probed = 0.0
        self._stranded = Stranded(lambda: reachable(settings))
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
        if self._unsent or self._unanswered():
            return False
        self._unsent = True
        self._asked.put((commits, None))
        return True

    def commit_now(self, commits: list[Commit]) -> Future[bool]:
        """Commit; the future is true when the broker has it."""
        done: Future[bool] = Future()
        self._asked.put((commits, done))
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
        try:
            parts = shares(self._settings, self._topics)
            self._members = [self._member(topics) for topics in parts]
            while self._stop is None:
                self._turn()
            self._commit_last(self._stop)
        except Exception as error:
            self._listener.broken(error)
        finally:
            if self._waited is not None:
                self._waited.set_result(False)
            while not self._asked.empty():
                done = self._asked.get()[1]
                if done is not None and done.set_running_or_notify_cancel():
                    done.set_result(False)
            for member in self._members:
                member.close()

    def _member(self, topics: list[str]) -> Member:
        name = topics[0] if len(topics) < len(self._topics) else ""
        return Member(self._settings, self._group, topics, name, self._listener, self._error)

    def _turn(self) -> None:
        self._listener.turned()
        self._follow()
        came = False
        for member in self._members:
            messages = member.poll(0.0 if came else POLL_S / len(self._members), BATCH)
            came = came or bool(messages)
            self._sort(messages)
        if time.monotonic() - self._looked >= LOOK_S:
            self._looked = time.monotonic()
            self.ends = {place: end for member in self._members for place, end in member.ends().items()}
        if self._down_since is not None:
            self._probe()

    def _follow(self) -> None:
        """Do what was asked for since the last turn."""
        for member in self._members:
            member.follow(self._wanted)
        while not self._unanswered():
            if self._waited is not None:
                self._waited.set_result(all(member.took for member in self._members))
                self._waited = None
            if self._asked.empty():
                return
            commits, done = self._asked.get()
            if done is None:
                self._unsent = False
            elif not done.set_running_or_notify_cancel():
                continue
            self._waited = done
            for member in self._members:
                member.send(commits)

    def _unanswered(self) -> bool:
        """Does a commit wait for its answer?"""
        return any(member.waits for member in self._members)

    def _commit_last(self, commits: list[Commit]) -> None:
        """After the answer to the commit before it. What is polled while it waits is not worked on: it comes again to whoever is next."""
        until = time.monotonic() + LEAVE_S
        self._await(until)
        if not self._unanswered():
            for member in self._members:
                member.send(commits)
            self._await(until)

    def _await(self, until: float) -> None:
        """Poll until no commit is unanswered, or until then."""
        while self._unanswered() and time.monotonic() < until:
            for member in self._members:
                member.poll(POLL_S / len(self._members), BATCH)

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
            elif refusal := refused(self._settings.kafka, error, "read", message.topic() or self._named()):
                # It would not change while the process waits: librdkafka tells it once, and never that it is over.
                raise refusal
            else:
                self._error(error)
        if records:
            for record in records:
                metrics.POLLED.labels(topic=record.topic).inc()
            self._listener.arrived(records)

    def _error(self, error: KafkaError) -> None:
        if error.fatal():
            self._listener.broken(KafkaException(error))
        elif error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION):
            self._down_since = self._down_since or time.monotonic()
            self._listener.broker(False, str(unavailable(self._settings.kafka, error, "reach")))
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._down_since = self._down_since or time.monotonic()
            self._listener.broker(False, f"{error.str()}; has `docfleet topics apply` been run?")

    def _named(self) -> str:
        """The group, for who is refused it."""
        return f"{self._group} (topics {', '.join(self._topics)})"

    def _probe(self) -> None:
        """Ask a broker that was reported down for metadata, now and then, briefly, by every member. One that is stranded is replaced."""
        now = time.monotonic()
        if now - self._probed < PROBE_S:
            return
        back = True
        for index, member in enumerate(self._members):
            try:
                topics = member.topics(1)
            except KafkaException:
                back = False
                if self._stranded.silent(member):
                    log.warning("a consumer that does not find the broker again is replaced", topics=member.subscribed)
                    member.close()  # first: a static member's name can be taken once
                    self._members[index] = self._member(member.subscribed)
            else:
                self._stranded.answered(member)
                back = back and all(name in topics for name in self._topics)
        self._probed = time.monotonic()
        if back:
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
