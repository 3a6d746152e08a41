"""Answers as servers send them: whole, in events cut anywhere, and broken ones."""

from __future__ import annotations

import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vl_worker.answers import call_of
from services.vl_worker.retry import Faulty
from services.vl_worker.wire import said
from shared.contracts.errors import DocfleetError
from shared.vlm.profile import profile_named
from shared.vlm.request import request_of

pytestmark = pytest.mark.unit
REQUEST = request_of(profile_named("glm-ocr"), "table", [b"jpeg"])
STREAM = "text/event-stream; charset=utf-8"


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def piece(text: str | None, finish: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


WHOLE = (
    event({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
    + piece("表 ")
    + b": keep-alive\n\n"
    + piece("two\n")
    + piece(None, "stop")
    + event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    + b"data: [DONE]\n\n"
)


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_a_stream_cut_anywhere_reads_the_same(cuts: list[int]) -> None:
    reader = call_of(REQUEST).reader(STREAM)
    edges = [0, *sorted(cuts), len(WHOLE)]
    tokens = sum(reader.feed(WHOLE[a:b]) for a, b in pairwise(edges))
    answer = reader.answer()
    assert (tokens, answer.text, answer.finish_reason) == (2, "表 two\n", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (7, 3)


def test_windows_line_ends_are_read() -> None:
    reader = call_of(REQUEST).reader(STREAM)
    reader.feed(WHOLE.replace(b"\n", b"\r\n"))
    assert reader.answer().text == "表 two\n"


def test_a_stream_without_end_is_not_an_answer() -> None:
    reader = call_of(REQUEST).reader(STREAM)
    reader.feed(piece("half"))
    with pytest.raises(Faulty, match="middle"):
        reader.answer()
    assert reader.text() == "half"


def test_an_error_in_the_stream_is_one() -> None:
    with pytest.raises(Faulty, match="engine died"):
        call_of(REQUEST).reader(STREAM).feed(event({"error": {"message": "engine died", "code": 500}}))


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"text": "x"}]}', b"\xff\xfe", b"<html>"]
)
def test_what_is_no_completion_is_typed(body: bytes) -> None:
    reader = call_of(REQUEST, stream=False).reader("application/json")
    reader.feed(body)
    with pytest.raises(DocfleetError):
        reader.answer()


def test_a_stream_that_was_asked_for_may_come_whole() -> None:
    reader = call_of(REQUEST).reader("application/json")
    assert reader.feed(b'{"choices": [{"message": {"content": "all"}, "finish_reason": "length"}]}') == 0
    assert (reader.answer().text, reader.answer().finish_reason) == ("all", "length")


def test_streaming_only_adds_to_the_body() -> None:
    plain = msgspec.json.decode(call_of(REQUEST, stream=False).body)
    streamed = msgspec.json.decode(call_of(REQUEST).body)
    assert plain == REQUEST.body
    assert streamed == plain | {"stream": True, "stream_options": {"include_usage": True}}


def test_the_plain_service_has_no_streams() -> None:
    call = call_of(request_of(profile_named("unlimited-ocr-npu"), "page", [b"jpeg"]))
    assert "stream" not in msgspec.json.decode(call.body)
    reader = call.reader("application/json")
    reader.feed(b'{"text": "read", "seconds": 1.5}')
    assert (reader.answer().text, reader.answer().finish_reason) == ("read", None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "no such model", "code": 404}}', "no such model"),
        (b'{"object": "error", "message": "no such  model", "code": 404}', "no such model"),
        (b'{"error": "no such model"}', "no such model"),
        (b'{"detail": "no such model"}', "no such model"),
        (b'{"detail": [{"msg": "field required"}]}', "field required"),
        (b"<html>", ""),
        (b"", ""),
    ],
)
def test_the_servers_own_words(body: bytes, message: str) -> None:
    assert message in said(body)
    assert len(said(body)) <= 200
