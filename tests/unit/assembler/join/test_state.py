"""The rules of the pure join, one by one. What holds for all orders and crashes is in `test_machine`."""

from __future__ import annotations

from typing import Any

import pytest

from services.assembler.join.state import PARKED_S, join
from services.assembler.join.turn import Outcome
from shared.contracts import records as r
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.ids import task_id
from tests.unit.assembler.join import tables as t

pytestmark = pytest.mark.unit


class Run:
    """Feeds events to the join and keeps what came out."""

    def __init__(self, window: int = 128) -> None:
        self.tables = t.Tables()
        self.window = window
        self.parsed: list[r.DocumentParsed] = []

    def __call__(self, event: Any, at: float = 1_010.0) -> Outcome:
        outcome = join(self.tables, event, at, self.window)
        self.tables.apply(outcome)
        self.parsed += outcome.parsed
        return outcome


def asked(outcome: Outcome) -> list[str]:
    """What an outcome asks for, as `topic task_id`."""
    return [
        f"{emit.topic} {getattr(emit.record, 'task_id', emit.record.__struct_config__.tag)}" for emit in outcome.emits
    ]


def test_a_document_runs_from_opened_to_parsed() -> None:
    run = Run()
    assert asked(run(t.opened(pages=1))) == ["docs.pages layout-g0-p00001"]
    assert asked(run(t.laid_out(1, [t.rec(1)]))) == []
    outcome = run(t.read([1], t.rec(1)))
    assert asked(outcome) == ["docs.compose compose-g0-p00001"]
    task = outcome.emits[0].record
    assert isinstance(task, r.ComposePage)
    assert (task.laid_out, task.readings, task.failed) == (True, [t.rec(1)], [])
    assert asked(run(t.composed(1))) == ["docs.compose compose-g0-document"]
    assert run(t.finished(), at=1_012.5).emits == []
    (parsed,) = run.parsed
    assert (parsed.status, parsed.timings.total_s) == ("success", 12.5)
    assert asked(run(t.closed())) == ["docs.compose CloseDocument"]
    assert run.tables.open == {}


def test_the_window_is_kept_and_each_end_releases_one_page() -> None:
    run = Run(window=2)
    assert asked(run(t.opened(pages=5))) == ["docs.pages layout-g0-p00001", "docs.pages layout-g0-p00002"]
    run(t.laid_out(2))
    assert asked(run(t.composed(2))) == ["docs.pages layout-g0-p00004"]
    run(t.laid_out(1))
    assert asked(run(t.composed(1))) == ["docs.pages layout-g0-p00003"]
    run(t.laid_out(3))
    assert asked(run(t.composed(1))) == [], "the successor is laid out: a replay asks for nothing"


def test_selected_pages_only() -> None:
    run = Run()
    assert asked(run(t.opened(pages=9, selected="2,7-8"))) == [
        f"docs.pages layout-g0-p0000{page}" for page in (2, 7, 8)
    ]
    assert run(t.laid_out(3)).ignored == "foreign"


def test_no_pages_completes_at_once() -> None:
    run = Run()
    assert asked(run(t.opened(pages=3, selected=""))) == ["docs.compose compose-g0-document"]
    run(t.finished())
    assert [parsed.status for parsed in run.parsed] == ["success"]


def test_answers_may_come_before_the_layout() -> None:
    run = Run()
    run(t.opened(pages=1))
    assert asked(run(t.read([1], t.rec(1)))) == []
    assert asked(run(t.laid_out(1, [t.rec(1)]))) == ["docs.compose compose-g0-p00001"]


def test_a_reading_beats_a_failure_until_the_inputs_freeze() -> None:
    run = Run()
    run(t.opened(pages=1))
    run(t.laid_out(1, ["a", "b"]))
    run(t.failed([1], "a"))
    run(t.read([1], "a"))
    run(t.failed([1], "a"))
    task = run(t.failed([1], "b")).emits[0].record
    assert isinstance(task, r.ComposePage)
    assert (task.readings, task.failed) == (["a"], ["b"])
    late = run(t.read([1], "b")).emits
    assert [emit.record for emit in late] == [task], "frozen: the late reading changes nothing"


def test_a_page_that_has_no_layout_is_composed_from_its_error() -> None:
    run = Run()
    run(t.opened(pages=1))
    task = run(t.failed([1], "layout-g0-p00001")).emits[0].record
    assert isinstance(task, r.ComposePage)
    assert (task.laid_out, task.failed) == (False, ["layout-g0-p00001"])
    assert run(t.laid_out(1)).ignored == "duplicate", "the first outcome of a layout stands"


def test_a_page_that_cannot_be_composed_is_done_and_failed() -> None:
    run = Run(window=1)
    run(t.opened(pages=2))
    run(t.laid_out(1))
    assert asked(run(t.failed([1], "compose-g0-p00001"))) == ["docs.pages layout-g0-p00002"]
    run(t.laid_out(2))
    assert asked(run(t.composed(2))) == ["docs.compose compose-g0-document"]


def test_a_document_that_cannot_be_composed_is_a_failure() -> None:
    run = Run()
    run(t.opened(pages=0, selected=""))
    error = DocfleetError(ErrorCode.internal, "no").info(Phase.assemble)
    run(r.DocumentFailed(document_id="d", generation=0, task_id="compose-g0-document", error=error))
    assert [(parsed.status, parsed.result, parsed.errors) for parsed in run.parsed] == [("failure", None, [error])]


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (t.rejected(), "failure"),
        (t.rejected(code=ErrorCode.cancelled), "cancelled"),
        (t.rejected(code=ErrorCode.timeout), "failure"),
        (t.cached(), "success"),
    ],
)
def test_ingest_may_end_a_document(event: Any, status: str) -> None:
    run = Run()
    run(event)
    assert run(event).ignored == "done"
    assert [parsed.status for parsed in run.parsed] == [status]
    assert run.tables.open == {}


def test_first_answer_of_ingest_wins_and_another_source_is_a_conflict() -> None:
    run = Run()
    run(t.opened())
    assert run(t.rejected()).ignored == "duplicate"
    outcome = run(t.opened(source=t.source("e2")))
    assert outcome.refused is not None
    assert outcome.refused.code is ErrorCode.conflict
    assert outcome.emits == []
    assert run.parsed == []


def test_a_higher_generation_ends_the_lower_one() -> None:
    run = Run()
    run(t.opened())
    run(t.laid_out(1, [t.rec(1)]))
    assert asked(run(t.opened(generation=1)))[0] == "docs.pages layout-g1-p00001"
    assert [(parsed.generation, parsed.status) for parsed in run.parsed] == [(0, "cancelled")]
    assert run(t.read([1], t.rec(1))).ignored == "done"
    run.tables.parsed.clear()  # the append was lost in a crash
    assert [p.generation for p in run(t.opened(generation=1)).parsed] == [0], "the event that superseded it comes again"


@pytest.mark.parametrize("event", [t.rejected(generation=1), t.cached(generation=1)])
def test_a_higher_generation_may_end_at_once(event: Any) -> None:
    run = Run()
    run(t.opened())
    run(event)
    assert [parsed.generation for parsed in run.parsed] == [0, 1]
    assert run.parsed[0].status == "cancelled"
    run(t.closed(generation=1))
    assert run.tables.open == {}


def test_cancel_ends_what_is_open_and_waits_for_what_is_not() -> None:
    run = Run()
    run(t.opened())
    run(t.cancel())
    run(t.cancel())
    assert run(t.laid_out(1)).ignored == "done"
    run(t.cancel(generation=1))
    run(t.closed())
    assert run(t.opened(generation=1)).emits == []
    assert [(p.generation, p.status, p.result) for p in run.parsed] == [(0, "cancelled", None), (1, "cancelled", None)]
    run(t.closed(generation=1))
    assert run.tables.open == {}


def test_a_parked_cancel_expires() -> None:
    run = Run()
    run(t.cancel(), at=1_000.0)
    expired = r.StateExpired(document_id="d", generation=0)
    assert run(expired, at=1_000.0 + PARKED_S - 1).ignored == "unknown"
    run(expired, at=1_000.0 + PARKED_S)
    assert run.tables.open == {}


def test_a_deadline_freezes_what_is_there() -> None:
    run = Run()
    run(t.opened(pages=3, deadline=2_000.0))
    run(t.laid_out(2))
    run(t.composed(2))
    passed = r.DeadlinePassed(document_id="d", generation=0)
    (emit,) = run(passed).emits
    assert isinstance(emit.record, r.ComposeDocument)
    assert emit.record.unfinished == "1,3"
    assert run(t.laid_out(1)).ignored == "frozen"
    assert run(passed).emits == [emit]
    run(t.finished(status="partial_success"))
    assert [parsed.status for parsed in run.parsed] == ["partial_success"]


def test_ranges_wait_for_all_their_pages_and_go_with_those_that_are_laid_out() -> None:
    run = Run()
    run(t.opened(pages=5, range_size=3, vl_profile="p"))
    run(t.laid_out(1))
    run(t.failed([2], "layout-g0-p00002"))
    run(t.composed(2, status="failed"))
    (emit,) = [e for e in run(t.laid_out(3)).emits if e.topic == "docs.vl"]
    assert isinstance(emit.record, r.VlTask)
    range_id = task_id("vl", 0, [1, 2, 3])
    assert (emit.record.mode, emit.record.pages, emit.record.task_id) == ("range", [1, 3], range_id)
    assert asked(run(t.read([1, 3], range_id))) == ["docs.compose compose-g0-p00001", "docs.compose compose-g0-p00003"]


def test_a_mismatched_range_is_read_page_by_page() -> None:
    run = Run()
    run(t.opened(pages=3, range_size=3, vl_profile="p"))
    run(t.failed([2], "layout-g0-p00002"))
    run(t.composed(2, status="failed"))
    for page in (1, 3):
        run(t.laid_out(page))
    range_id = task_id("vl", 0, [1, 2, 3])
    mismatch = r.RangeMismatched(document_id="d", generation=0, pages=[1, 3], task_id=range_id)
    assert asked(run(mismatch)) == ["docs.vl vl-g0-p00001", "docs.vl vl-g0-p00003"]
    assert asked(run(t.read([1, 3], range_id))) == [], "a late answer of the range does not count"
    assert asked(run(t.read([1], "vl-g0-p00001"))) == ["docs.compose compose-g0-p00001"]
    assert asked(run(mismatch)) == ["docs.vl vl-g0-p00003"]


def test_a_range_is_never_longer_than_the_window() -> None:
    run = Run(window=2)
    run(t.opened(pages=4, range_size=8, vl_profile="p"))
    run(t.laid_out(1))
    assert asked(run(t.laid_out(2))) == ["docs.vl vl-g0-p00001-00002"]


@pytest.mark.parametrize(
    "event",
    [
        t.laid_out(9),
        t.composed(9),
        t.read([9], "x"),
        r.PageLaidOut(document_id="d", generation=0, page_no=1, task_id="other", layout_sha256=""),
        r.RangeMismatched(document_id="d", generation=0, pages=[1], task_id="x"),
        r.DeadlinePassed(document_id="d", generation=0),
        t.finished(),
        t.closed(),
        t.laid_out(1, document_id="e"),
        t.laid_out(1, generation=7),
        r.StateExpired(document_id="d", generation=0),
        t.proven("x", [1]),
        t.proven(t.rec(1), [1]),
        t.proven("compose-g0-p00001", [1]),
        t.proven("compose-g0-document", []),
        t.proven("layout-g0-p00009", [9]),
    ],
)
def test_what_does_not_belong_changes_nothing(event: Any) -> None:
    run = Run()
    run(t.opened())
    before = dict(run.tables.open)
    outcome = run(event)
    assert (outcome.writes, outcome.emits, outcome.parsed) == ([], [], [])
    assert outcome.ignored is not None
    assert run.tables.open == before


def test_the_terminal_record_is_bounded() -> None:
    run = Run()
    run(t.opened(pages=0, selected=""))
    errors = [DocfleetError(ErrorCode.internal, "页" * 500, page_no=n).info(Phase.rec) for n in range(20)]
    event = t.finished()
    run(
        r.DocumentComposed(
            **{**{f: getattr(event, f) for f in event.__struct_fields__}, "errors": errors, "errors_total": 99}
        )
    )
    (parsed,) = run.parsed
    assert len(encode(parsed)) <= r.MAX_RECORD_BYTES
    assert 0 < len(parsed.errors) < 20
    assert parsed.errors_total == 99


def test_a_selection_that_cannot_be_read_is_an_error_and_changes_nothing() -> None:
    with pytest.raises(DocfleetError):
        Run()(t.opened(selected="x-y"))


def test_a_replayed_cancel_waits_for_the_replay_of_what_ended_before_it() -> None:
    """Two generations ended without ever being open, a third opened; a crash loses the first two appends and not the third's state, and
    the commands are replayed before the results."""
    run = Run()
    for event in (t.rejected(generation=0), t.rejected(generation=1), t.opened(generation=2)):
        run(event)
    run.tables.parsed.clear()
    run.parsed.clear()
    assert run(t.cancel(generation=2)).parsed == []
    for event in (t.rejected(generation=0), t.rejected(generation=1), t.opened(generation=2)):
        run(event)
    assert [(p.generation, p.status) for p in run.parsed] == [(0, "failure"), (1, "failure"), (2, "cancelled")]
    run(t.closed(generation=2))
    assert run.tables.open == {}


def test_a_cancel_long_after_the_opening_waits_for_nothing() -> None:
    """Marks are remembered for a day: that one is gone says nothing of a crash then."""
    run = Run()
    run(t.rejected(generation=0))
    run(t.opened(generation=1, opened_at=1_000.0))
    run.tables.parsed.clear()
    assert [p.generation for p in run(t.cancel(generation=1), at=1_000.0 + 90_000).parsed][-1] == 1
