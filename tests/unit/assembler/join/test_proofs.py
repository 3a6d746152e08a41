"""That a task is lost is proven by offsets, never by time: fake clock, fake broker, fleets that are slow, paused or that lose records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from services.assembler.join.lost import Awaited
from services.assembler.join.proofs import WAYS, Offsets, Proofs
from shared.contracts import records as r

pytestmark = pytest.mark.unit

STALL_S = 300.0


class Broker:
    """Topics of one partition as lists, what their stages have committed, and how far our own appends are acknowledged."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Any]] = {topic: [] for way in WAYS.values() for topic in way}
        self.committed = dict.fromkeys(self.logs, 0)

    def look(self, topics: set[str]) -> dict[str, Offsets]:
        return {
            topic: Offsets({(topic, 0): len(self.logs[topic])}, {(topic, 0): self.committed[topic]}) for topic in topics
        }


def looked(proofs: Proofs, broker: Broker, times: int = 1, settled: int = 99) -> list[Any]:
    found: list[Any] = []
    for _ in range(times):
        found += [emit.record for emit in proofs.take(broker.look(proofs.ask(settled)))]
    return found


REC = Awaited("rec-g0-p00001", 1, (1,))


def test_silence_is_suspected_once_and_only_after_the_time() -> None:
    proofs = Proofs(STALL_S)
    proofs.heard("d", 4, 1_000.0)
    assert proofs.due(1_299.0) == []
    (emit,) = proofs.due(1_300.0)
    assert emit.record == r.StallSuspected(document_id="d", generation=4)
    assert proofs.due(9_999.0) == [], "not again until it came back"
    proofs.watch("d", 4, [REC], 0)
    assert proofs.due(9_999.0) == [], "nor while it is watched"
    proofs.forget("d")
    assert (proofs.due(9_999.0), len(proofs)) == ([], 0)


def test_a_backlog_of_an_hour_proves_nothing() -> None:
    proofs, broker = Proofs(STALL_S), Broker()
    broker.logs["docs.pages"] = list(range(10_000))
    broker.committed["docs.pages"] = 6_000
    proofs.heard("d", 0, 0.0)
    for minute in range(60):
        for _ in proofs.due(minute * 60.0):
            proofs.watch("d", 0, [Awaited("layout-g0-p00001", 1, (1,)), REC], 0)
        broker.committed["docs.pages"] = min(9_999, 6_000 + minute * 70)
        broker.logs["docs.pages"] += range(100)
        assert looked(proofs, broker) == []
    assert len(proofs) == 1
    broker.committed["docs.pages"] = len(broker.logs["docs.pages"])
    assert [proof.task_id for proof in looked(proofs, broker)] == ["layout-g0-p00001"]


def test_a_proof_goes_the_whole_way_of_an_answer() -> None:
    proofs, broker = Proofs(STALL_S), Broker()
    for topic in ("docs.pages", "docs.vl", "docs.rec"):
        broker.logs[topic] = [0] * 5
    proofs.watch("d", 0, [Awaited("vl-1", 2, (3,))], 0)
    for topic in ("docs.pages", "docs.vl", "docs.rec"):
        assert looked(proofs, broker, 3) == []
        broker.logs["docs.rec"] += [0]  # what came to be read instead, late
        broker.committed[topic] = len(broker.logs[topic])
    assert looked(proofs, broker, 2) == [
        r.StallProven(document_id="d", generation=0, task_id="vl-1", attempt=2, pages=[3])
    ]
    assert looked(proofs, broker, 3) == []


def test_ends_count_only_after_our_own_appends_are_acknowledged() -> None:
    proofs, broker = Proofs(STALL_S), Broker()
    proofs.watch("d", 0, [Awaited("layout-g0-p00001", 1, (1,))], appended=7)
    assert looked(proofs, broker, 5, settled=6) == []
    broker.logs["docs.pages"].append("the task")
    assert looked(proofs, broker, 5, settled=7) == []
    broker.committed["docs.pages"] = 1
    assert len(looked(proofs, broker, 2, settled=7)) == 1


def test_offsets_that_were_asked_for_earlier_do_not_count() -> None:
    proofs, broker = Proofs(STALL_S), Broker()
    proofs.watch("a", 0, [Awaited("layout-g0-p00001", 1, (1,))], 0)
    found = broker.look(proofs.ask(99))
    broker.logs["docs.pages"].append("the task of b")
    proofs.watch("b", 0, [Awaited("layout-g0-p00001", 1, (1,))], 0)
    assert [emit.record.document_id for emit in proofs.take(found)] == ["a"]  # type: ignore[attr-defined]
    assert looked(proofs, broker, 3) == []


def test_what_is_answered_leaves_its_watch() -> None:
    proofs, broker = Proofs(STALL_S), Broker()
    broker.logs["docs.pages"] = [0] * 3
    proofs.watch("d", 0, [Awaited(f"layout-g0-p0000{page}", 1, (page,)) for page in (1, 2)], 0)
    assert looked(proofs, broker) == []
    proofs.answered("d", "layout-g0-p00001")
    proofs.answered("d", "of nobody")
    proofs.answered("e", "layout-g0-p00002")
    broker.committed["docs.pages"] = 3
    assert [proof.task_id for proof in looked(proofs, broker)] == ["layout-g0-p00002"]
    proofs.watch("d", 0, [REC], 0)
    proofs.answered("d", REC.task_id)
    assert looked(proofs, broker) == []
    assert len(proofs) == 0, "it may be suspected again"


def test_a_broker_without_an_answer_proves_nothing() -> None:
    proofs = Proofs(STALL_S)
    proofs.watch("d", 0, [REC], 0)
    proofs.ask(99)
    assert proofs.take({}) == []
    assert len(proofs) == 1


class Fleet(RuleBasedStateMachine):
    """Tasks pass the topics of their way, at any pace; some are lost. Commits follow what was handled, in order.

    Never is a task proven lost whose answer can still come; and each that is lost is proven in the end.
    """

    @initialize()
    def begin(self) -> None:
        self.broker, self.proofs = Broker(), Proofs(STALL_S)
        self.answered: set[str] = set()
        self.lost: set[str] = set()
        self.proven: set[str] = set()
        self.count = 0

    @rule(stage=st.sampled_from(list(WAYS)), lost_at=st.sampled_from([None, None, 0, 1, 2]))
    def issue(self, stage: str, lost_at: int | None) -> None:
        self.count += 1
        name = f"{stage}-{self.count}"
        way = WAYS[stage]
        self.send(name, way, 0, None if lost_at is None else min(lost_at, len(way) - 1))
        self.proofs.watch(name, 0, [Awaited(name, 1, (1,))], 0)

    def send(self, name: str, way: tuple[str, ...], step: int, lost_at: int | None) -> None:
        if step == lost_at:
            self.lost.add(name)  # it never reaches this topic
        else:
            self.broker.logs[way[step]].append((name, way, step, lost_at))

    @rule(topic=st.sampled_from(["docs.pages", "docs.vl", "docs.rec", "docs.compose"]), count=st.integers(1, 4))
    def work(self, topic: str, count: int) -> None:
        for name, way, step, lost_at in self.broker.logs[topic][self.broker.committed[topic] :][:count]:
            if step + 1 < len(way):
                self.send(name, way, step + 1, lost_at)
            else:
                self.answered.add(name)
            self.broker.committed[topic] += 1

    @rule()
    def look(self) -> None:
        topics = self.proofs.ask(99)
        self.take(self.proofs.take(self.broker.look(topics)))

    @rule(topic=st.sampled_from(["docs.pages", "docs.vl", "docs.rec", "docs.compose"]))
    def slow_look(self, topic: str) -> None:
        """The world goes on while the broker answers."""
        found = self.broker.look(self.proofs.ask(99))
        self.work(topic, 3)
        self.issue("rec", None)
        self.take(self.proofs.take(found))

    def take(self, emits: list[Any]) -> None:
        for emit in emits:
            name = emit.record.task_id
            assert name in self.answered | self.lost, f"{name} can still be answered"
            self.proven.add(name)

    def teardown(self) -> None:
        for _ in range(5):
            for topic in self.broker.logs:
                self.work(topic, 10_000)
            self.look()
        assert self.lost <= self.proven
        assert len(self.proofs) == 0


Fleet.TestCase.settings = settings(max_examples=100, stateful_step_count=40, suppress_health_check=list(HealthCheck))
TestFleet = Fleet.TestCase
