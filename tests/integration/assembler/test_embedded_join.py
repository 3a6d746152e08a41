"""The join on the in-process broker, in a process of its own, between a fleet that answers it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.contracts import records as r
from shared.contracts.codec import decode
from shared.streams.local import LocalBroker
from tests.support.join_fleet import JoinFleet, Log, opened

pytestmark = pytest.mark.integration


class Join:
    """The service as a child process."""

    def __init__(self, bootstrap: str, log: Path, **settings: str) -> None:
        self.log = log
        self._env = {
            **os.environ,
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": bootstrap,
            "DOCFLEET_KAFKA__EMBEDDED": "true",
            "DOCFLEET_JOIN__DRIVER": "embedded",
            "DOCFLEET_TELEMETRY__FORMAT": "text",
            "DOCFLEET_HTTP_HOST": "127.0.0.1",
            **settings,
        }
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as out:
            command = [sys.executable, "-m", "services.assembler.join"]
            self.process = subprocess.Popen(command, env=self._env, stdout=out, stderr=out)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(10)


@pytest.fixture
def broker() -> Iterator[str]:
    with LocalBroker() as local:
        yield local.bootstrap_servers


@pytest.fixture
def joined(broker: str, tmp_path: Path) -> Iterator[Join]:
    join = Join(broker, tmp_path / "join.log", DOCFLEET_JOIN__WINDOW="8")
    yield join
    join.kill()


def test_documents_run_through_and_garbage_is_a_dead_letter(broker: str, joined: Join) -> None:
    parsed, progress, letters = Log(broker, "docs.parsed"), Log(broker, "docs.progress"), Log(broker, "docs.dlq")
    with JoinFleet(broker) as fleet:
        began = time.monotonic()
        fleet.raw("docs.results", b"x", b"\xff not ours", headers={"mine": b"kept"})
        fleet.raw("docs.control", b"x", b"{}")
        for number in range(20):
            fleet.produce(
                opened(
                    f"d{number}",
                    number,
                    lane="bulk" if number > 10 else "first",
                    trace_id="0af7651916cd43dd8448eb211c80319c",
                )
            )
        fleet.produce(opened("d3", 3, source=r.SourceRef(bucket="in", key="another", etag="e")))
        parsed.until(lambda records: len(records) >= 20, 30)
        print(f"{time.monotonic() - began:.1f} s from start of the process to the last of 20 documents")
        letters.until(lambda records: len(records) >= 2, 10)
        progress.look(1.2)
        parsed.look(0.2)
    assert Counter(p.status for p in parsed.parsed()) == {"success": 20}
    assert {p.document_id for p in parsed.parsed()} == {f"d{number}" for number in range(20)}
    foreign = next(m for m in letters.records if m.value() == b"\xff not ours")
    head = dict(foreign.headers())
    assert (head["mine"], head["dlt.error.code"], head["dlt.original.topic"]) == (
        b"kept",
        b"invalid_message",
        b"docs.results",
    )
    assert any(task.lane == "bulk" for task in fleet.seen["PageTask"])
    assert sum(len(range(n)) for n in range(20)) == len(fleet.seen["PageTask"])
    assert len(fleet.seen["CloseDocument"]) == 20
    trace = dict(parsed.records[-1].headers())["traceparent"]
    assert b"0af7651916cd43dd8448eb211c80319c" in trace
    last = [decode(m.value(), r.DocumentProgress) for m in progress.records if m.key() == b"d19"][-1]
    assert (last.state, last.pages_total, last.pages_done) == ("done", 19, 19)
    assert joined.end() == 0


def test_cancel_ends_a_document_at_once(broker: str, joined: Join) -> None:
    parsed = Log(broker, "docs.parsed")
    fleet = JoinFleet(broker)  # not entered: nobody answers, the document stays open
    fleet.produce(opened("d", 5))
    fleet.flush()
    time.sleep(1.0)
    fleet.produce(r.CancelDocument(document_id="d", generation=0), "docs.control")
    parsed.until(lambda records: records, 60)  # no page ever ends: only the cancellation can end it
    assert [(p.document_id, p.status, p.result) for p in parsed.parsed()] == [("d", "cancelled", None)]


def test_a_deadline_composes_what_is_there_and_names_the_rest(broker: str, joined: Join) -> None:
    parsed = Log(broker, "docs.parsed")
    with JoinFleet(broker, loses=lambda work: isinstance(work, r.PageTask) and work.page_no in (2, 3, 5)) as fleet:
        fleet.produce(opened("in-time", 1, deadline=time.time() + 3_600))
        parsed.until(lambda records: records, 30)  # the join and the fleet run
        fleet.produce(opened("d", 6, deadline=time.time() + 3))
        parsed.until(lambda records: len(records) == 2, 20)
    (task,) = [work for work in fleet.seen["ComposeDocument"] if work.document_id == "d"]
    assert (task.selected, task.unfinished) == ("1-6", "2-3,5")
    (whole,) = [work for work in fleet.seen["ComposeDocument"] if work.document_id == "in-time"]
    assert whole.unfinished == ""


def lost_pages(work: object) -> bool:
    """The layouts of page 2 are never answered, the first composing of page 3 is not either."""
    return (isinstance(work, r.PageTask) and work.page_no == 2) or (
        isinstance(work, r.ComposePage) and work.page_no == 3 and work.attempt == 1
    )


def test_a_lost_task_is_asked_for_again_and_then_given_up(broker: str, tmp_path: Path) -> None:
    join = Join(broker, tmp_path / "join.log", DOCFLEET_JOIN__STALL_S="0.5")
    parsed = Log(broker, "docs.parsed")
    try:
        with JoinFleet(broker, loses=lost_pages, commits=True) as fleet:
            fleet.produce(opened("d", 4))
            parsed.until(lambda records: records, 40)
        assert [task.attempt for task in fleet.seen["PageTask"] if task.page_no == 2] == [1, 2]
        assert [task.attempt for task in fleet.seen["ComposePage"] if task.page_no == 3] == [1, 2]
        (given_up,) = [task for task in fleet.seen["ComposePage"] if task.page_no == 2]
        assert given_up.lost == ["layout-g0-p00002"]
        assert [p.status for p in parsed.parsed()] == ["success"], "what this fleet makes of it"
    finally:
        join.kill()


def test_work_that_waits_in_a_queue_is_never_asked_for_again(broker: str, tmp_path: Path) -> None:
    join = Join(broker, tmp_path / "join.log", DOCFLEET_JOIN__STALL_S="0.2")
    pages, results = Log(broker, "docs.pages"), Log(broker, "docs.results")
    fleet = JoinFleet(broker)  # not entered: the stages are behind, for as long as this test waits
    try:
        fleet.produce(opened("d", 4))
        fleet.flush()

        def suspected(records: list[object]) -> bool:
            return any(dict(m.headers() or []).get("ce_type") == b"StallSuspected" for m in records)  # type: ignore[attr-defined]

        results.until(suspected, 20)
        pages.look(6.0)  # three looks at the offsets
        assert len(pages.records) == 4
    finally:
        join.kill()


def test_what_is_forgotten_ends_and_leaves_a_mark_that_a_restart_keeps(broker: str, joined: Join) -> None:
    parsed = Log(broker, "docs.parsed")
    fleet = JoinFleet(broker)  # not entered: nobody answers, the document stays open
    fleet.produce(opened("d", 5))
    fleet.produce(r.DocumentForgotten(document_id="d", generation=0))
    fleet.flush()
    parsed.until(lambda records: len(records) == 2, 20)
    ended, tombstone = parsed.records
    assert decode(ended.value(), r.DocumentParsed).status == "cancelled"
    assert (tombstone.key(), tombstone.value(), dict(tombstone.headers())["generation"]) == (b"d", None, b"0")
    joined.kill()
    joined.start()
    fleet.produce(opened("d", 5))
    fleet.produce(opened("e", 0))
    fleet.flush()
    with fleet:
        parsed.until(lambda records: any(m.key() == b"e" for m in records), 30)
        parsed.look(0.5)
    # The embedded join reads all events again: the tombstone may come twice, the record of the document never.
    assert [m.value() is None for m in parsed.records if m.key() == b"d"][:2] == [False, True]
    assert sum(m.value() is not None for m in parsed.records if m.key() == b"d") == 1


def test_a_join_that_is_killed_goes_on_where_it_was(broker: str, joined: Join) -> None:
    parsed = Log(broker, "docs.parsed")
    with JoinFleet(broker) as fleet:
        for number in range(40):
            fleet.produce(opened(f"d{number}", 12))
        for ended in (5, 20):
            parsed.until(lambda records, ended=ended: len(records) >= ended, 30)
            joined.kill()
            joined.start()
        parsed.until(lambda records: len({m.key() for m in records}) == 40, 30)
        parsed.look(1.0)
    assert Counter(m.key() for m in parsed.records) == {f"d{n}".encode(): 1 for n in range(40)}
