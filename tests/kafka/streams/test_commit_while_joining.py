"""Who waits for a commit while the group meets does not keep the group from meeting."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from shared.settings import Settings
from shared.streams.member import Member
from shared.streams.poller import Poller
from shared.streams.rebalance import Start
from shared.streams.work import Commit, Place
from tests.support.kafka import KafkaServer

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

TOPICS = ["docs.rec", "docs.rec.bulk"]
SOON_S = 45.0
"""The group's own patience with a member that does not come is 120 s."""


class World:
    """The listener of a poller. An event for every change of what it owns."""

    def __init__(self) -> None:
        self.owned: set[Place] = set()
        self.revoked: set[str] = set()
        self.errors: list[BaseException] = []
        self.changed = threading.Condition()

    def assigned(self, starts: list[Start]) -> None:
        with self.changed:
            self.owned |= {(start.topic, start.partition) for start in starts}
            self.changed.notify_all()

    def drain(self, places: list[Place]) -> list[Commit]:
        with self.changed:
            self.owned -= set(places)
            self.revoked |= {topic for topic, _ in places}
            self.changed.notify_all()
        return [Commit(*place, 0, "") for place in places]

    def lost(self, places: list[Place]) -> None:
        self.drain(places)

    def broken(self, error: BaseException) -> None:
        self.errors.append(error)

    def until(self, condition: Any) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: bool(self.errors) or condition(), SOON_S) and not self.errors

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class Held:
    """A member that is not polled while it is held: what its consumer has to say waits, its heartbeats go on."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self.held = threading.Event()

    def poll(self, wait_s: float, batch: int) -> list[Any]:
        if self.held.is_set():
            threading.Event().wait(wait_s)
            return []
        return self._member.poll(wait_s, batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)


def test_a_commit_behind_a_joingroup_is_answered_because_the_other_member_is_polled(fresh_kafka: KafkaServer) -> None:
    """One member of a process has joined again; the other has a callback to be served first. The broker answers a commit of the first after
    its JoinGroup, and that after the other has joined: a thread that waits for the commit alone waits until the broker puts the other out."""
    settings = Settings(kafka={"bootstrap_servers": fresh_kafka.bootstrap, "session_timeout_ms": 6_000})  # type: ignore[arg-type]
    here, there = World(), World()
    mine = Poller(settings, "rec-worker", TOPICS, here)  # type: ignore[arg-type]
    theirs = Poller(settings, "rec-worker", TOPICS, there)  # type: ignore[arg-type]
    mine.start()
    try:
        assert here.until(lambda: len(here.owned) == 24)
        other = Held(mine._members[1])
        mine._members[1] = other  # type: ignore[call-overload]
        other.held.set()
        theirs.start()
        assert here.until(lambda: TOPICS[0] in here.revoked), "the one gives partitions away, and joins again"
        kept = sorted(place for place in here.owned if place[0] == TOPICS[0])[0]
        committed = mine.commit_now([Commit(*kept, 0, "")])
        threading.Event().wait(1.0)  # long enough for the thread to come to it; in less, there is nothing to be held up
        other.held.clear()
        committed.result(SOON_S)
        assert there.until(lambda: len(there.owned) == len(here.owned) == 12)
    finally:
        for poller in (mine, theirs):
            poller.finish([])
        for poller in (mine, theirs):
            poller.join(30)
    assert not here.errors
    assert not there.errors
