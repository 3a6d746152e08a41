"""What the join does about tasks that were proven lost, and about documents that are to be forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from services.assembler.join.lost import Awaited, awaited
from shared.contracts import records as r
from shared.contracts.errors import ErrorCode
from tests.unit.assembler.join import tables as t
from tests.unit.assembler.join.test_state import Run, asked

pytestmark = pytest.mark.unit


def out(run: Run, document_id: str = "d") -> dict[str, Awaited]:
    document = run.tables.document(document_id)
    assert document is not None
    assert document.opened is not None
    return {task.task_id: task for task in awaited(run.tables, document_id, document.opened)}


def lose(run: Run, task: str) -> Any:
    """The proof that a task which is out was lost."""
    found = out(run)[task]
    return run(t.proven(found.task_id, list(found.pages), found.attempt))


def test_every_task_that_is_out_is_awaited_and_no_other() -> None:
    run = Run(window=3)
    run(t.opened(pages=9))
    assert set(out(run)) == {f"layout-g0-p0000{page}" for page in (1, 2, 3)}
    run(t.laid_out(1, [t.rec(1), "vl-1"]))
    run(t.read([1], t.rec(1)))
    run(t.laid_out(2))
    assert set(out(run)) == {"vl-1", "compose-g0-p00002", "layout-g0-p00003"}
    run(t.composed(2))
    assert set(out(run)) == {"vl-1", "layout-g0-p00003", "layout-g0-p00005"}, "the 4th waits for the 1st"


def test_a_lost_layout_is_asked_for_once_more_and_then_the_page_is_composed_from_the_loss() -> None:
    run = Run()
    run(t.opened(pages=1))
    again = lose(run, "layout-g0-p00001").emits[0].record
    assert (again.task_id, again.attempt) == ("layout-g0-p00001", 2)
    assert out(run)["layout-g0-p00001"].attempt == 2
    task = lose(run, "layout-g0-p00001").emits[0].record
    assert isinstance(task, r.ComposePage)
    assert (task.laid_out, task.lost) == (False, ["layout-g0-p00001"])
    assert run(t.laid_out(1)).ignored == "duplicate"


def test_a_lost_reading_is_asked_for_through_the_layout_that_names_it() -> None:
    run = Run()
    run(t.opened(pages=1))
    run(t.laid_out(1, [t.rec(1), "vl-1"]))
    run(t.read([1], t.rec(1)))
    again = lose(run, "vl-1").emits
    assert [(type(e.record).__name__, e.record.attempt) for e in again] == [("PageTask", 2)]  # type: ignore[attr-defined]
    task = lose(run, "vl-1").emits[0].record
    assert isinstance(task, r.ComposePage)
    assert (task.readings, task.failed, task.lost) == ([t.rec(1)], [], ["vl-1"])


def test_an_answer_that_comes_after_all_beats_the_loss_until_the_inputs_freeze() -> None:
    run = Run()
    run(t.opened(pages=1))
    run(t.laid_out(1, ["a", "b"]))
    lose(run, "a")
    lose(run, "a")
    run(t.read([1], "a"))
    task = run(t.failed([1], "b")).emits[0].record
    assert isinstance(task, r.ComposePage)
    assert (task.readings, task.failed, task.lost) == (["a"], ["b"], [])


def test_a_lost_composing_fails_the_page_and_names_it_to_the_document() -> None:
    run = Run(window=1)
    run(t.opened(pages=2))
    run(t.laid_out(1))
    assert lose(run, "compose-g0-p00001").emits[0].record.attempt == 2  # type: ignore[attr-defined]
    assert asked(lose(run, "compose-g0-p00001")) == ["docs.pages layout-g0-p00002"]
    run(t.laid_out(2))
    task = run(t.composed(2)).emits[0].record
    assert isinstance(task, r.ComposeDocument)
    assert (task.lost, task.attempt) == ("1", 1)


def test_a_lost_composing_of_the_document_ends_it_as_failure_by_timeout() -> None:
    run = Run()
    run(t.opened(pages=0, selected=""))
    assert lose(run, "compose-g0-document").emits[0].record.attempt == 2  # type: ignore[attr-defined]
    assert run.parsed == []
    lose(run, "compose-g0-document")
    (parsed,) = run.parsed
    assert (parsed.status, parsed.errors[0].code) == ("failure", ErrorCode.timeout)


def test_a_lost_range_is_asked_for_again_once_for_all_its_pages() -> None:
    run = Run()
    run(t.opened(pages=4, range_size=2, vl_profile="p"))
    run(t.laid_out(1))
    assert "vl-g0-p00001-00002" not in out(run), "a range that is not issued yet cannot be lost"
    run(t.laid_out(2))
    task = out(run)["vl-g0-p00001-00002"]
    assert task.pages == (1, 2)
    (again,) = lose(run, task.task_id).emits
    assert isinstance(again.record, r.VlTask)
    assert (again.record.task_id, again.record.pages, again.record.attempt) == (task.task_id, [1, 2], 2)
    given_up = lose(run, task.task_id).emits
    assert [emit.record.lost for emit in given_up] == [[task.task_id]] * 2  # type: ignore[attr-defined]


def test_a_proof_that_is_too_late_changes_nothing() -> None:
    run = Run()
    run(t.opened(pages=1))
    run(t.laid_out(1, [t.rec(1)]))
    run(t.read([1], t.rec(1)))
    late = run(t.proven(t.rec(1), [1]))
    assert late.writes == []
    assert asked(late) == ["docs.compose compose-g0-p00001"], "what it is about is composed: as for any late answer"
    run(t.composed(1))
    assert run(t.proven(t.rec(1), [1])).ignored == "duplicate"


def test_a_suspicion_of_an_open_document_is_watched_and_of_no_other() -> None:
    run = Run()
    suspected = r.StallSuspected(document_id="d", generation=0)
    assert not run(suspected).suspected
    run(t.opened(pages=1))
    assert run(suspected).suspected
    run(t.cancel())
    assert not run(suspected).suspected


def test_forgetting_ends_what_is_open_then_leaves_a_tombstone_and_a_mark() -> None:
    run = Run()
    run(t.opened(pages=2))
    outcome = run(t.forgotten())
    assert [(p.generation, p.status, p.result) for p in run.parsed] == [(0, "cancelled", None)]
    assert outcome.forgotten == 0
    assert run(t.laid_out(1)).ignored == "done"
    run(t.closed())
    assert run.tables.open == {}
    assert run(t.opened(pages=2)).ignored == "done", "the mark keeps it from beginning again"
    assert asked(run(t.opened(generation=1, pages=1))) == ["docs.pages layout-g1-p00001"], "a later generation may"


def test_forgetting_what_has_ended_or_never_was_is_a_tombstone_alone() -> None:
    run = Run()
    run(t.rejected())
    assert run(t.forgotten()).forgotten == 0
    assert run(t.forgotten("never", 3)).forgotten == 3
    assert len(run.parsed) == 1


def test_a_record_of_a_higher_generation_stands() -> None:
    run = Run()
    run(t.rejected(generation=2))
    outcome = run(t.forgotten(generation=1))
    assert (outcome.forgotten, outcome.ignored) == (None, "stale")


def test_forgetting_a_lower_generation_leaves_the_open_one() -> None:
    run = Run()
    run(t.opened(generation=0, pages=1))
    run(t.opened(generation=1, pages=1))
    assert run(t.forgotten(generation=0)).forgotten == 0
    run(t.laid_out(1, generation=1))
    run(t.composed(1, generation=1))
    run(t.finished(generation=1))
    assert [(p.generation, p.status) for p in run.parsed] == [(0, "cancelled"), (1, "success")]
