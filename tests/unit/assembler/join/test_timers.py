from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from services.assembler.join.memory import Document, Mark, Opened
from services.assembler.join.state import PARKED_S, join
from services.assembler.join.timers import AGAIN_S, Timers
from shared.contracts import records as r
from tests.unit.assembler.join import tables as t

pytestmark = pytest.mark.unit


def sent(timers: Timers, now: float, kind: type) -> list[Any]:
    return [emit.record for emit in timers.due(now) if isinstance(emit.record, kind)]


def document(**given: Any) -> Document:
    return Document(Opened(t.opened(pages=10, **given), 128))


def test_progress_goes_at_most_once_a_second_and_the_last_word_is_not_lost() -> None:
    timers = Timers()
    state = document()
    assert state.opened is not None
    for step in range(20):
        opened = msgspec.structs.replace(state.opened, composed=bytes([(1 << step % 8) - 1]))
        timers.note("d", Document(opened), None)
        assert len(sent(timers, 100 + step / 10, r.DocumentProgress)) == (step % 10 == 0)
    timers.note("d", state, Mark(0, "success"))
    timers.note("d", None, Mark(0, "success"))
    (last,) = sent(timers, 103.0, r.DocumentProgress)
    assert last.state == "done"
    assert sent(timers, 200.0, r.DocumentProgress) == []


def test_progress_says_which_pages_can_be_read() -> None:
    timers = Timers()
    opened = Opened(t.opened(pages=10), 128, composed=b"\x05", failed=b"\x06")
    timers.note("d", Document(opened), None)
    (progress,) = sent(timers, 1.0, r.DocumentProgress)
    assert (progress.pages_total, progress.pages_done, progress.pages_failed) == (10, 3, 2)
    assert base64.b64decode(progress.pages_ready) == b"\x05\x00"


def test_progress_counts_the_pages_of_each_stage() -> None:
    tables, timers = t.Tables(), Timers()

    def handled(*events: Any) -> r.PageStages:
        for event in events:
            outcome = join(tables, event, 1.0, 4)
            tables.apply(outcome)
            for write in outcome.writes:
                if write.page_no is not None:
                    timers.note_page("d", write.page_no, tables.page("d", write.page_no))
        timers.note("d", tables.document("d"), tables.mark("d"))
        handled.now += 10.0  # type: ignore[attr-defined]
        (progress,) = sent(timers, handled.now, r.DocumentProgress)  # type: ignore[attr-defined]
        assert isinstance(progress.stages, r.PageStages)
        assert progress.selected == "1-6"
        return progress.stages

    handled.now = 0.0  # type: ignore[attr-defined]
    stages = r.PageStages
    assert handled(t.opened(pages=6)) == stages(layout=4)
    assert handled(t.laid_out(1, [t.rec(1)]), t.laid_out(3)) == stages(layout=2, reading=1, composing=1)
    assert handled(t.read([1], t.rec(1))) == stages(layout=2, composing=2)
    assert handled(t.composed(3)) == stages(layout=2, composing=1), (
        "the 7th page, which 3 would release, does not exist"
    )
    assert handled(t.composed(1)) == stages(layout=3), "the 5th is out"
    assert handled(t.failed([2], "layout-g0-p00002")) == stages(layout=2, composing=1)
    assert handled(t.finished(), t.cancel()) == stages(), "of a document that has ended nothing is out"


def test_closed_is_sent_after_the_acknowledgement_until_it_has_effect() -> None:
    timers = Timers()
    timers.acknowledged("rejected", 0)  # never open: nothing to close
    timers.note("d", document(), Mark(0, "success"))
    assert sent(timers, 1.0, r.DocumentClosed) == []
    timers.acknowledged("d", 0)
    assert [event.document_id for event in sent(timers, 1.0, r.DocumentClosed)] == ["d"]
    assert sent(timers, 2.0, r.DocumentClosed) == []
    assert len(sent(timers, 1.0 + AGAIN_S, r.DocumentClosed)) == 1
    timers.note("d", None, Mark(0, "success"))
    assert sent(timers, 1_000.0, r.DocumentClosed) == []


def test_the_end_of_a_lower_generation_is_closed_once() -> None:
    """A higher one is open, so nothing goes away that would tell that the event had its effect."""
    timers = Timers()
    timers.note("d", document(generation=1), Mark(0, "cancelled"))
    timers.acknowledged("d", 0)
    assert len(sent(timers, 1.0, r.DocumentClosed)) == 1
    assert sent(timers, 1.0 + AGAIN_S, r.DocumentClosed) == []


def test_a_deadline_is_told_when_it_has_passed() -> None:
    timers = Timers()
    timers.note("d", document(deadline=50.0), None)
    assert sent(timers, 49.0, r.DeadlinePassed) == []
    assert len(sent(timers, 50.0, r.DeadlinePassed)) == 1
    timers.note("d", document(deadline=50.0), Mark(0, "cancelled"))
    assert sent(timers, 500.0, r.DeadlinePassed) == []


def test_a_parked_cancel_expires_and_moved_partitions_are_forgotten() -> None:
    timers = Timers()
    timers.note("d", Document(parked=2, parked_at=10.0), None)
    assert sent(timers, 9.0 + PARKED_S, r.StateExpired) == []
    (expired,) = sent(timers, 10.0 + PARKED_S, r.StateExpired)
    assert (expired.document_id, expired.generation) == ("d", 2)
    timers.note("e", document(deadline=1.0), None)
    assert len(timers) == 1
    timers.clear()
    assert len(timers) == 0
    assert timers.due(1e9) == []
