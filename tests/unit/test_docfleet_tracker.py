"""Progress from events, and the exit code from results."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from docfleet.inputs import Input
from docfleet.outcomes import Outcome, exit_code
from docfleet.tracker import Counts, Tracker
from shared.contracts import records as r
from shared.contracts.errors import ErrorCode, ErrorInfo, Phase

pytestmark = pytest.mark.unit

ID = {"document_id": "d", "generation": 0}
OPENED = r.DocumentOpened(
    **ID,
    source=r.SourceRef(bucket="b", key="k"),
    pages_total=9,
    selected="1-3",
    options_hash="",
    pipeline_fingerprint="",
)


def parsed(status: r.Status = "success", **more) -> r.DocumentParsed:
    return r.DocumentParsed(**ID, status=status, source=r.SourceInfo(bucket="b", key="k"), **more)


def test_counts_follow_the_stages_and_repeats_change_nothing():
    tracker = Tracker()
    tracker.submitted("d")
    task = r.TaskRef(task_id="t", stage="rec")
    events = [
        OPENED,
        r.PageLaidOut(**ID, page_no=1, task_id="l1", layout_sha256="", tasks=[task]),
        r.PageLaidOut(**ID, page_no=2, task_id="l2", layout_sha256=""),
        r.RegionsRead(**ID, pages=[1], task_id="t", stage="rec"),
        r.PageComposed(**ID, page_no=2, task_id="c", status="ok", sha256=""),
    ]
    for event in events + events:
        tracker.feed(event)
    expected = Counts(documents=1, opened=1, ended=0, pages=3, laid_out=2, tasks=1, answered=1, composed=1)
    assert tracker.counts() == expected
    tracker.feed(parsed())
    assert tracker.counts().ended == 1
    assert tracker.counts().composed == 3


def test_other_peoples_documents_are_not_counted():
    tracker = Tracker()
    tracker.feed(OPENED)
    assert tracker.counts().documents == 0


def test_reports_count_where_events_are_not_seen():
    tracker = Tracker()
    tracker.submitted("d")
    tracker.feed(
        r.DocumentProgress(
            **ID,
            state="open",
            pages_total=3,
            pages_done=2,
            pages_failed=1,
            pages_ready="",
            updated_at=datetime.now(UTC),
        )
    )
    assert tracker.counts().composed == 2


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([], 0),
        (["success"], 0),
        (["success", "partial_success"], 1),
        (["partial_success", "failure"], 2),
        (["cancelled"], 2),
    ],
)
def test_the_exit_code_is_that_of_the_worst_document(statuses, code):
    assert exit_code(Outcome(Input(Path("x"), "x"), parsed(status)) for status in statuses) == code


def test_the_summary_names_every_error_and_where_the_result_is():
    from docfleet.cli.display import summary

    error = ErrorInfo(
        code=ErrorCode.timeout, category=ErrorCode.timeout.category, phase=Phase.rec, page_no=2, message="late"
    )
    record = parsed(
        "partial_success",
        totals=r.Totals(pages=3, tables=1),
        result=r.ObjectRef(bucket="b", key="k"),
        errors=[error],
        errors_total=4,
    )
    lines = summary(Outcome(Input(Path("x"), "a[b]"), record, files=[Path("out/a[b].json")], seconds=1.26), Path("out"))
    assert "partial_success" in lines[0]
    assert "3 pages" in lines[0]
    assert "1 table" in lines[0]
    assert "1.3 s" in lines[0]
    assert "page 2: late" in lines[1]
    assert "3 more errors" in lines[2]
