"""Commits reach the broker in the order in which they were asked for, each after the answer to the one before."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.settings import Settings
from shared.streams.poller import Poller
from shared.streams.work import Commit, Place

pytestmark = pytest.mark.unit


class Broker:
    """What it was told, in order; a commit stays unanswered until `answer`."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.polled = [0, 0]
        self.members = [Asked(self), Asked(self)]

    def answer(self, ok: bool = True) -> None:
        for member in self.members:
            member.waits, member.took = False, ok


class Asked:
    """A member of which the poller asks commits only; the first of a broker's owns everything."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.waits = False
        self.took = False

    def follow(self, wanted: frozenset[Place]) -> None:
        pass

    def poll(self, wait_s: float, batch: int) -> list[Any]:
        """Brings the answer."""
        self._broker.polled[self._broker.members.index(self)] += 1
        self.waits, self.took = False, True
        return []

    def send(self, commits: list[Commit]) -> None:
        assert not self.waits, "another commit is on its way"
        if self is self._broker.members[0]:
            self._broker.told += [commit.metadata for commit in commits]
        self.waits = True


def polled_by(broker: Broker) -> Any:
    poller: Any = Poller(Settings(), "rec-worker", ["docs.rec"], listener=object())  # type: ignore[arg-type]
    poller._members = broker.members
    return poller


def state(what: str) -> list[Commit]:
    return [Commit("docs.rec", 0, 0, what)]


def test_an_older_state_does_not_overtake_the_mark_of_a_record_that_runs_alone() -> None:
    """Both were asked for between two turns: a record convicted for its neighbour's deaths was what came of it."""
    broker = Broker()
    poller = polled_by(broker)
    assert poller.commit(state("the neighbour runs alone"))
    marked = poller.commit_now(state("this one runs alone"))
    poller._follow()
    assert broker.told == ["the neighbour runs alone"], (
        "the other waits for the answer: librdkafka may have to send this again"
    )
    broker.answer()
    poller._follow()
    assert not marked.done()
    broker.answer()
    poller._follow()
    assert marked.result(0)
    assert broker.told == ["the neighbour runs alone", "this one runs alone"]


def test_one_that_nobody_waits_for_any_more_is_not_sent() -> None:
    broker = Broker()
    poller = polled_by(broker)
    assert poller.commit_now(state("given up")).cancel()
    wanted = poller.commit_now(state("wanted"))
    poller._follow()
    broker.answer()
    poller._follow()
    assert wanted.result(0)
    assert broker.told == ["wanted"]


def test_one_that_the_broker_refuses_is_told_so() -> None:
    broker = Broker()
    poller = polled_by(broker)
    refused = poller.commit_now(state("of a generation that is over"))
    poller._follow()
    broker.answer(ok=False)
    poller._follow()
    assert refused.result(0) is False


def test_who_waits_for_a_commit_does_not_keep_the_other_member_from_being_polled() -> None:
    """The broker answers a commit after the JoinGroup before it on the connection, and that only when the other member has joined too, which
    may have a callback to be served first. Seen: nothing in a group for 120 s, until the other member was put out."""
    broker = Broker()
    poller = polled_by(broker)
    claimed = poller.commit_now(state("claimed"))
    poller._follow()  # comes back
    assert not claimed.done()


def test_the_last_commit_is_sent_after_the_one_before_it_and_waited_for_by_polling() -> None:
    broker = Broker()
    poller = polled_by(broker)
    before = poller.commit_now(state("before"))
    poller._follow()
    poller._commit_last(state("last"))
    assert broker.told == ["before", "last"]
    assert broker.polled == [2, 2], "one turn for each answer"
    assert not before.done(), "who ends does not go on with it"


@given(st.lists(st.sampled_from(["periodic", "now", "turn", "answer"]), max_size=40))
def test_commits_keep_their_order_and_each_is_sent_once(steps: list[str]) -> None:
    broker = Broker()
    poller = polled_by(broker)
    asked: list[str] = []
    waited: list[Future[bool]] = []
    for number, step in enumerate(steps):
        if step == "turn":
            poller._follow()
        elif step == "answer":
            broker.answer()
        elif step == "now":
            waited.append(poller.commit_now(state(str(number))))
            asked.append(str(number))
        elif poller.commit(state(str(number))):
            asked.append(str(number))
    for _ in range(len(steps) + 1):
        poller._follow()
        broker.answer()
    poller._follow()
    assert broker.told == asked
    assert all(done.result(0) for done in waited)
    assert poller.commit(state("and again"))
