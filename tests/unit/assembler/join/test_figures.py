"""What the join counts and times: each page once, whatever is repeated."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import REGISTRY

from services.assembler.join.figures import Figures
from services.assembler.join.state import join
from services.assembler.join.timers import Timers
from shared.contracts import records as r
from shared.telemetry.tracing import TraceParent
from tests.unit.assembler.join import tables as t

pytestmark = pytest.mark.unit

TRACE = TraceParent("a" * 32, "b" * 16, 1)


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Scene:
    """The pure join with its figures, as the drivers run them; `at` is the clock."""

    def __init__(self) -> None:
        self.tables, self.figures, self.timers, self.at = t.Tables(), Figures(), Timers(), 0.0
        self.before = self.counts()

    def counts(self) -> dict[str, float]:
        pages = {s: value("docfleet_pages_total", status=s) for s in ("composed", "failed", "unfinished")}
        return pages | {"timed": value("docfleet_page_seconds_count"), "seconds": value("docfleet_page_seconds_sum")}

    def told(self) -> dict[str, float]:
        now = self.counts()
        return {name: now[name] - self.before[name] for name in now if now[name] != self.before[name]}

    def handle(self, *events: Any) -> None:
        for event in events:
            outcome = join(self.tables, event, 1.0, 2)
            for write in outcome.writes:
                if write.page_no is None and write.value is not None:
                    self.figures.changed(self.tables.document("d"), write.value, self.at, TRACE)  # type: ignore[arg-type]
                if write.page_no is not None:
                    self.timers.note_page("d", write.page_no, write.value)  # type: ignore[arg-type]
            for parsed in outcome.parsed:
                self.figures.ended(parsed, TRACE)
            self.figures.released(outcome.emits, self.at)
            self.tables.apply(outcome)
            self.timers.note("d", self.tables.document("d"), self.tables.mark("d"))


def test_each_page_is_counted_and_timed_once_however_often_its_end_is_told():
    scene = Scene()
    scene.handle(t.opened(pages=3))
    assert len(scene.figures) == 2, "the window"
    scene.at = 10.0
    for _ in range(2):
        scene.handle(t.laid_out(1), t.composed(1))
    assert scene.told() == {"composed": 1, "timed": 1, "seconds": 10.0}
    scene.at = 14.0
    scene.handle(t.laid_out(2), t.composed(2, status="failed"), t.laid_out(3), t.composed(3))
    assert scene.told() == {"composed": 2, "failed": 1, "timed": 3, "seconds": 10.0 + 14.0 + 4.0}
    assert len(scene.figures) == 0


def test_the_pages_a_deadline_cut_off_are_counted_as_unfinished():
    scene = Scene()
    scene.handle(t.opened(pages=3, deadline=5.0), t.laid_out(1), t.composed(1))
    for _ in range(2):
        scene.handle(r.DeadlinePassed(document_id="d", generation=0))
    assert {k: v for k, v in scene.told().items() if k in ("composed", "failed", "unfinished")} == {
        "composed": 1,
        "unfinished": 2,
    }
    assert len(scene.figures) == 0


def test_a_slow_sample_leads_to_its_trace():
    scene = Scene()
    scene.handle(t.opened(pages=1), t.laid_out(1), t.composed(1))
    samples = [s for m in REGISTRY.collect() if m.name == "docfleet_page_seconds" for s in m.samples]
    assert {s.exemplar.labels["trace_id"] for s in samples if s.exemplar} == {"a" * 32}


def test_pages_are_pending_by_stage_until_their_document_is_complete():
    scene = Scene()
    scene.handle(t.opened(pages=5))
    assert +scene.timers.pending() == {"layout": 2, "unreleased": 3}
    scene.handle(t.laid_out(1, [t.rec(1)]))
    assert +scene.timers.pending() == {"layout": 1, "reading": 1, "unreleased": 3}
    scene.handle(t.read([1], t.rec(1)))
    assert +scene.timers.pending() == {"layout": 1, "composing": 1, "unreleased": 3}
    scene.handle(t.composed(1))
    assert +scene.timers.pending() == {"layout": 2, "unreleased": 2}
    for page in range(2, 6):
        scene.handle(t.laid_out(page), t.composed(page))
    assert +scene.timers.pending() == {}
    assert scene.timers.oldest() is not None
    scene.handle(t.finished(), t.closed())
    assert scene.timers.oldest() is None
