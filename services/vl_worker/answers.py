"""Requests of a profile made ready to be sent, and their answers read: whole, or as a stream of events.

Streaming costs some CPU and buys three things: a stalled server is noticed within `vl.stall_s`, a looping answer is broken off
before it has used up its time, and the limiter sees tokens as they come. The plain `/ocr` service has no streams and no finish_reason.
"""

from __future__ import annotations

from typing import Any

import msgspec

from services.vl_worker.retry import Faulty
from services.vl_worker.wire import Answer, Call, Reader, said
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.vlm.request import Request

CHAT = "/chat/completions"


def call_of(request: Request, *, stream: bool = True) -> Call:
    """A request as bytes. Encoding takes milliseconds a megabyte: call it off the event loop."""
    if request.path != CHAT:
        return Call(path=request.path, body=msgspec.json.encode(request.body), reader=lambda _: _Plain())
    body = request.body | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})
    return Call(path=request.path, body=msgspec.json.encode(body), reader=_reader)


def _reader(content_type: str) -> Reader:
    """What was asked for as a stream may still come whole."""
    return _Stream() if content_type.startswith("text/event-stream") else _Whole()


class _Said(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Completion).decode


class _Whole:
    """A completion in one piece."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.length = 0

    def feed(self, data: bytes) -> int:
        self._data += data
        return 0

    def text(self) -> str:
        return ""

    def answer(self) -> Answer:
        try:
            completion = _decode(self._data)
            choice = completion.choices[0]
            assert choice.message is not None
        except (msgspec.DecodeError, UnicodeDecodeError, IndexError, AssertionError) as error:
            raise DocfleetError(
                ErrorCode.model_unavailable, "the VL server's answer is not a chat completion"
            ) from error
        usage = completion.usage or _Usage()
        return Answer(
            text=choice.message.content or "",
            finish_reason=choice.finish_reason,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
        )


class _Read(msgspec.Struct):
    text: str


class _Plain(_Whole):
    """The answer of `/ocr`: `{"text": …}`."""

    def answer(self) -> Answer:
        try:
            return Answer(text=msgspec.json.decode(self._data, type=_Read).text, finish_reason=None)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DocfleetError(ErrorCode.model_unavailable, "the VL server's answer is not one of /ocr") from error


class _Stream:
    """Server-sent events, each a piece of the completion; the last is `[DONE]`."""

    def __init__(self) -> None:
        self._rest = b""
        self.length = 0
        self._pieces: list[str] = []
        self._finish: str | None = None
        self._usage = _Usage()
        self._done = False

    def feed(self, data: bytes) -> int:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return sum(self._event(line[5:].strip()) for line in lines if line.startswith(b"data:"))

    def _event(self, data: bytes) -> int:
        if data == b"[DONE]":
            self._done = True
            return 0
        try:
            piece = _decode(data)
        except msgspec.DecodeError as error:
            raise DocfleetError(
                ErrorCode.model_unavailable, "the VL server's stream is not one of chat completions"
            ) from error
        if piece.error is not None:
            raise Faulty(f"error in the stream: {said(data)}")
        if piece.usage is not None:
            self._usage = piece.usage
        if not piece.choices:
            return 0
        choice = piece.choices[0]
        self._finish = choice.finish_reason or self._finish
        if choice.delta is None:
            return 0
        if choice.delta.content:
            self._pieces.append(choice.delta.content)
            self.length += len(choice.delta.content)
            return 1
        return 1 if choice.delta.reasoning_content else 0

    def text(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def answer(self) -> Answer:
        if not self._done and self._finish is None:
            raise Faulty("the stream ended in the middle of the answer")
        return Answer(
            text=self.text(),
            finish_reason=self._finish,
            prompt_tokens=self._usage.prompt_tokens,
            completion_tokens=self._usage.completion_tokens,
        )
