"""Parts of the fault harness that need no fleet: what two results must share, the journal, the cells, redone work."""

from __future__ import annotations

import json

import pytest

from tests.faults.campaign import Campaign, Plan, batched
from tests.faults.cell import Cell, Place
from tests.faults.checker import Violation
from tests.faults.injections import clock
from tests.faults.injections.rolling import gap
from tests.faults.journal import Journal, order, summary
from tests.faults.light.newer import encode as newer_encode
from tests.faults.matrix import by_servers, injections, places, servers
from tests.faults.outcome import Outcome
from tests.faults.redone import work_of
from tests.faults.reference import digest, normal_key
from tests.faults.roles import ROLES
from tests.faults.run import _too_much

pytestmark = pytest.mark.unit
CELLS = [Cell("sigkill", "join", 1), Cell("sigkill", "join", 2), Cell("sigterm", "rec_worker", 1)]
PLACES = [*map(Place, CELLS), Place(Cell("child-killed", "join", 1), "it has no child process")]


def outcome(cell: Cell, seed: int = 1, red: bool = False) -> Outcome:
    violations = [Violation("lost", "a document")] if red else []
    return Outcome(
        cell=cell,
        seed=seed,
        profile="light",
        documents=8,
        pages=20,
        seconds=5.0,
        violations=violations,
        measured={"done_s": 4.0},
        at=1.0,
    )


def test_results_are_the_same_but_for_ids_times_and_confidences():
    def result(name: str, **more: object) -> bytes:
        document = {
            "document_id": name,
            "blocks": [{"text": "a", "confidence": 0.5, "image_uri": f"parsed/{name}/0/images/1.jpg"}],
            "timings": {"total_s": len(name)},
            "lineage": {"trace_id": name * 2, "options_hash": "o"},
        }
        return json.dumps({**document, **more}).encode()

    assert digest(result("one"), "one") == digest(result("other"), "other")
    assert digest(result("one"), "one") != digest(result("one", blocks=[{"text": "b"}]), "one")
    assert digest(result("one"), "one") != digest(result("one", pages=[1]), "one")


def test_keys_are_those_of_any_document():
    assert normal_key("work/d-1/0/00001.jpg", "d-1", "hash") == "work/{id}/0/00001.jpg"
    assert normal_key("cache/hash/x.lease/0", "d-1", "hash") == "cache/{tenant}/x.lease/0"


def test_a_journal_is_read_again_and_half_a_line_is_no_outcome(tmp_path):
    journal = Journal(tmp_path / "j")
    journal.add(outcome(CELLS[0], 7))
    journal.add(outcome(CELLS[1], 8, red=True))
    with journal.path.open("ab") as file:
        file.write(b'{"cell": {"injec')
    assert [one.seed for one in Journal(tmp_path / "j").read()] == [7, 8]


def test_cells_without_a_green_run_come_first():
    outcomes = [outcome(CELLS[0]), outcome(CELLS[2], red=True)]
    assert order(PLACES, outcomes) == [CELLS[1], CELLS[2], CELLS[0]]


def test_a_run_goes_on_where_the_journal_stops(tmp_path):
    journal = Journal(tmp_path)
    journal.add(outcome(CELLS[0]))
    journal.add(outcome(CELLS[1], red=True))
    assert Campaign([], journal, tmp_path, Plan())._wanted(PLACES) == [CELLS[1], CELLS[2]]
    assert len(Campaign([], journal, tmp_path, Plan(rounds=3))._wanted(PLACES)) == 8


def test_what_is_injected_at_one_time_goes_into_different_roles_and_may_leave_the_same_behind():
    kinds = {kind.name: kind for kind in injections()}
    cells = [place.cell for place in places(list(kinds.values())) if place.reason is None]
    batches = batched(cells, kinds, 6)
    assert sorted(cell for batch in batches for cell in batch) == sorted(cells)
    for batch in batches:
        roles = [cell.role for cell in batch]
        assert len(batch) <= 6
        assert len(roles) == len(set(roles))
        assert len({(cell.replicas, kinds[cell.injection].servers) for cell in batch}) == 1
        assert len({kinds[cell.injection].allowance for cell in batch}) == 1
    alone = [batch for batch in batches if batch[0].injection in ("rolling-restart", "broker-away", "leader-killed")]
    assert [len(batch) for batch in alone] == [1] * 9, "what befalls everybody is injected alone"
    assert [len(batch) for batch in batched(cells[:6], kinds, 1)] == [1] * 6


def test_the_summary_names_what_was_red_and_what_is_not_covered():
    text = "\n".join(summary(PLACES, [outcome(CELLS[0]), outcome(CELLS[1], 9, red=True)]))
    assert "2 injections, 1 green, 1 red" in text
    assert "1 of 3 cells have a green run" in text
    assert "red: sigkill/join/2 seed 9" in text
    assert "no green run: sigterm/rec_worker/1" in text


def test_every_combination_is_a_cell_or_says_why_not():
    kinds = injections()
    names = [kind.name for kind in kinds]
    assert len(names) == len(set(names))
    assert {kind.servers for kind in kinds} <= servers().keys()
    everything = places(kinds)
    assert len(everything) == len(kinds) * len(ROLES) * 3
    assert all(place.reason is None or place.reason.strip() for place in everything)
    for name in ("sigkill", "sigterm", "sigstop"):
        mine = {place.cell.role for place in everything if place.cell.injection == name and place.reason is None}
        assert mine == set(ROLES)
    assert sum(len(mine) for _, mine in by_servers(everything, kinds)) == len(everything)


def test_work_that_was_in_flight_at_a_death_is_redone_and_what_was_done_is_only_looked_up(tmp_path):
    (tmp_path / "rec_worker-1.work").write_text("S t 0 1 1.0\nD t 0 1 2.0\nS t 0 2 3.0\n")
    (tmp_path / "rec_worker-2.work").write_text("S t 0 1 5.0\nD t 0 1 5.1\nS t 0 2 5.2\nD t 0 2 5.3\n")
    work = work_of(tmp_path)
    assert (work.records, work.again, work.redone, work.moved) == (2, 2, 1, 0)
    assert work.in_flight == {"rec_worker-1": 1, "rec_worker-2": 0}


def test_what_a_vl_worker_lets_go_of_where_partitions_move_is_counted_apart(tmp_path):
    (tmp_path / "vl_worker-1.work").write_text("S docs.vl.bulk 0 1 1.0\nS docs.vl 0 2 1.0\nD docs.vl 0 2 2.0\n")
    (tmp_path / "vl_worker-2.work").write_text("S docs.vl.bulk 0 1 2.0\nD docs.vl.bulk 0 1 3.0\nS docs.vl 0 2 4.0\n")
    work = work_of(tmp_path)
    assert (work.again, work.redone, work.moved) == (2, 1, 1)
    assert _too_much({"redone": 1.0, "moved": 1.0, "in_flight": 0.0}, "nothing") == []
    assert _too_much({"redone": 2.0, "moved": 1.0, "in_flight": 0.0}, "nothing")


def test_a_join_that_the_broker_refuses_ends_as_the_clocks_expect():
    from services.assembler.join import faust_app

    assert faust_app.UNDELIVERED == clock.UNDELIVERED


def test_the_gap_is_the_longest_time_without_an_output_that_touches_the_window():
    assert gap([0.0, 1.0, 4.0, 4.5, 20.0], 1.5, 5.0) == 15.5
    assert gap([0.0, 1.0, 4.0, 4.5], 1.5, 5.0) == 3.0
    assert gap([], 0.0, 1.0) == 0.0


def test_a_newer_version_writes_a_higher_minor_and_unknown_fields_and_is_still_read():
    from shared.contracts import codec
    from shared.contracts.records import PageTask

    task = PageTask(document_id="d", generation=0, page_no=1, task_id="t")
    data = newer_encode(task)
    assert json.loads(data)["schema_version"] == "1.1.0" != codec.SCHEMA_VERSION
    assert codec.decode(data, PageTask).task_id == "t"
