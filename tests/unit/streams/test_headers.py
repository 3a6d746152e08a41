"""Headers of records and of dead letters."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shared.contracts.errors import ErrorCode
from shared.contracts.records import DocumentSubmitted, PageTask, SourceRef
from shared.streams import deadletter, headers
from shared.telemetry import tracing

pytestmark = pytest.mark.unit

TRACE = tracing.TraceParent("a" * 32, "b" * 16)


def page(**fields: object) -> PageTask:
    return PageTask(**({"document_id": "d", "generation": 2, "page_no": 3, "task_id": "layout-g2-p00003"} | fields))  # type: ignore[arg-type]


def test_a_record_says_what_it_is_in_cloudevents_binary_mode() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    found = dict(headers.make(page(), source="join", trace=TRACE, now=now))
    assert found == {
        "ce_specversion": b"1.0",
        "ce_id": found["ce_id"],
        "ce_type": b"PageTask",
        "ce_source": b"docfleet/join",
        "ce_time": b"2026-01-02T03:04:05.678Z",
        "content-type": b"application/json",
        "generation": b"2",
        "traceparent": b"00-" + b"a" * 32 + b"-" + b"b" * 16 + b"-01",
    }


def test_the_same_event_has_the_same_id_and_another_has_another() -> None:
    def identity(record: object) -> bytes:
        return dict(headers.make(record, source="x", trace=TRACE))["ce_id"]  # type: ignore[arg-type]

    assert identity(page()) == identity(page(lane="bulk"))
    assert (
        len(
            {identity(page(**{name: value})) for name, value in [("generation", 3), ("page_no", 4), ("attempt", 2)]}
            | {identity(page())}
        )
        == 4
    )
    one, two = (DocumentSubmitted(source=SourceRef(bucket="b", key=key)) for key in ("k1", "k2"))
    assert identity(one) != identity(two)
    assert dict(headers.make(one, source="x", trace=TRACE))["ce_type"] == b"DocumentSubmitted"


def test_extra_headers_win_and_appear_once() -> None:
    found = headers.make(page(), source="x", trace=TRACE, extra={"generation": "9", "mine": "ä"})
    assert [name for name, _ in found].count("generation") == 1
    assert dict(found)["generation"] == b"9"
    assert dict(found)["mine"] == "ä".encode()


def test_reading_headers_takes_the_last_of_a_name_and_no_null() -> None:
    assert headers.read([("a", b"1"), ("a", b"2"), ("b", None)]) == {"a": b"2", "b": b""}
    assert headers.read(None) == {}


def letter(original: list[tuple[str, bytes | None]] | None, **fields: object) -> list[tuple[str, bytes]]:
    given = {"topic": "docs.rec", "partition": 3, "offset": 17, "timestamp_ms": 5, "group": "rec-worker"}
    given |= {"code": ErrorCode.corrupt, "message": "why"} | fields
    return deadletter.headers(original, **given)  # type: ignore[arg-type]


def test_a_dead_letter_keeps_every_header_in_order_and_adds_text() -> None:
    original = [("x", b"\x00\xff"), ("x", b"2"), ("traceparent", b"t")]
    found = letter(original)
    assert found[:3] == original
    assert dict(found[3:]) == {
        "dlt.original.topic": b"docs.rec",
        "dlt.original.partition": b"3",
        "dlt.original.offset": b"17",
        "dlt.original.timestamp": b"5",
        "dlt.group": b"rec-worker",
        "dlt.error.code": b"corrupt",
        "dlt.error.message": b"why",
        "dlt.error.stack": b"",
        "dlt.attempts": b"1",
    }


def test_a_second_death_replaces_the_first() -> None:
    found = letter(letter([("x", b"1")], code=ErrorCode.crashed))
    assert [name for name, _ in found].count("dlt.error.code") == 1
    assert dict(found)["dlt.error.code"] == b"corrupt"


def test_a_long_stack_keeps_its_end() -> None:
    stack = dict(letter(None, stack="a" * 9000 + "the error", message="m" * 9000))
    assert stack["dlt.error.stack"].endswith(b"the error")
    assert len(stack["dlt.error.stack"]) == deadletter.MAX_STACK
    assert len(stack["dlt.error.message"]) == 500
