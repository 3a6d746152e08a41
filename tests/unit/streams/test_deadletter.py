"""What a dead letter says of itself when it is read again: which document, which generation, how often it was sent before."""

from __future__ import annotations

from typing import Any

import pytest

from shared.contracts.errors import ErrorCode
from shared.streams import deadletter
from shared.streams.deadletter import Letter

pytestmark = pytest.mark.unit


def letter(
    topic: str,
    value: bytes | None,
    key: bytes | None = None,
    code: ErrorCode = ErrorCode.corrupt,
    original: list[tuple[str, bytes | None]] | None = None,
    **fields: Any,
) -> Letter:
    head = deadletter.headers(
        original,
        topic=topic,
        partition=3,
        offset=17,
        timestamp_ms=5,
        group="g",
        code=code,
        message="why",
        attempts=2,
        **fields,
    )
    found = deadletter.read(head, partition=1, offset=9, timestamp_ms=4_500, key=key, value=value)
    assert found is not None
    return found


def test_a_letter_is_read_as_it_was_written() -> None:
    found = letter("docs.pages", b'{"document_id":"d","generation":2,"page_no":3,"more":[1]}', b"d/3")
    assert (found.name, found.place, found.died_at) == ("1:9", (1, 9), 4.5)
    assert (found.topic, found.code, found.message, found.group, found.attempts) == (
        "docs.pages",
        "corrupt",
        "why",
        "g",
        2,
    )
    assert (found.document_id, found.generation, found.page_no, found.replays) == ("d", 2, 3, 0)
    assert found.size == 57


def test_the_stage_s_own_word_goes_before_the_record_s() -> None:
    found = letter("docs.incoming", b'{"document_id":"x"}', document=("d", 4))
    assert (found.document_id, found.generation) == ("d", 4)
    told = letter("docs.incoming", b'{"Records":[]}', b"bucket/key", document=("f00d", 0))
    assert told.document_id == "f00d"


@pytest.mark.parametrize(
    ("topic", "value", "key", "code", "wanted"),
    [
        ("docs.incoming", b'{"document_id":"d"}', b"d", ErrorCode.invalid_message, (None, 0)),
        ("docs.incoming", b'{"document_id":"d","generation":1}', b"d", ErrorCode.too_large, ("d", 1)),
        ("docs.incoming.bulk", b'{"Records":[]}', b"bucket", ErrorCode.too_large, (None, 0)),
        ("docs.results", b"\xff\x00", b"d", ErrorCode.invalid_message, ("d", 0)),
        ("docs.rec", None, b"d/7", ErrorCode.crashed, ("d", 0)),
        ("docs.rec", b'{"document_id":7}', b"d/7", ErrorCode.invalid_message, ("d", 0)),
        ("docs.rec", b'{"document_id":"a b"}', b"a b/7", ErrorCode.invalid_message, (None, 0)),
        ("docs.rec", b"[]", None, ErrorCode.invalid_message, (None, 0)),
        ("docs.rec", b'{"document_id":"d","generation":-3}', b"d/7", ErrorCode.internal, ("d", 0)),
    ],
)
def test_whose_letter_it_is(topic: str, value: bytes | None, key: bytes | None, code: ErrorCode, wanted: Any) -> None:
    found = letter(topic, value, key, code)
    assert (found.document_id, found.generation) == wanted
    assert found.size == (None if value is None else len(value))


def test_by_its_key_a_letter_has_the_generation_of_its_header() -> None:
    original: list[tuple[str, bytes | None]] = [("generation", b"3")]
    assert letter("docs.rec", b"?", b"d/7", ErrorCode.invalid_message, original).generation == 3


def test_a_second_death_knows_of_the_replay() -> None:
    original: list[tuple[str, bytes | None]] = [(deadletter.REPLAYS, b"2"), ("dlt.document.id", b"old")]
    found = letter("docs.incoming", b"?", None, ErrorCode.invalid_message, original)
    assert (found.replays, found.document_id) == (2, None)


@pytest.mark.parametrize("head", [None, [], [("dlt.error.code", b"corrupt")], [("dlt.mark", b"dropped")]])
def test_other_records_are_no_letters(head: Any) -> None:
    assert deadletter.read(head, partition=0, offset=0, timestamp_ms=0, key=None, value=b"{}") is None


def test_numbers_that_are_none_count_as_absent() -> None:
    found = deadletter.read(
        [
            ("dlt.error.code", b"corrupt"),
            ("dlt.original.topic", b"t"),
            ("dlt.attempts", b"\x00\x01"),
            ("replay.count", "²".encode()),
        ],
        partition=0,
        offset=0,
        timestamp_ms=0,
        key=None,
        value=None,
    )
    assert found is not None
    assert (found.attempts, found.replays) == (1, 0)
