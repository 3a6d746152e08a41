"""What is sent to a model server and what comes back, whatever the API: the client knows nothing else of either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a model said. `finish_reason` is the server's; `stopped` says that the client broke off, because nothing good could come
    any more. Tokens are 0 where the server does not count them."""

    text: str
    finish_reason: str | None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    stopped: bool = False


class Reader(Protocol):
    """Takes the body of one answer as it arrives."""

    def feed(self, data: bytes) -> int:
        """The next bytes; returns how many tokens (or pieces, where they are not counted) they brought. Raises `Faulty`."""
        ...

    @property
    def length(self) -> int:
        """Characters so far; 0 where an answer comes whole."""
        ...

    def text(self) -> str:
        """What there is so far."""
        ...

    def answer(self) -> Answer:
        """The whole answer. Raises `Faulty` when it is not whole, `DocfleetError(model_unavailable)` when it is no answer."""
        ...


@dataclass(frozen=True)
class Call:
    """One request, ready to be sent any number of times. `path` is appended to the endpoint's URL."""

    path: str
    body: bytes
    reader: Callable[[str], Reader]
    """A reader for an answer of this content type."""
    foreign: bool = False
    """For another model than the endpoints are there for: that they do not serve it is this request's outcome and no fault of theirs."""


class _Error(msgspec.Struct):
    message: str = ""
    code: int | str | None = None


class _Body(msgspec.Struct):
    """Servers nest the error, older vLLM does not, FastAPI says `detail`."""

    error: _Error | str | None = None
    message: str | None = None
    detail: Any = None


def said(body: bytes) -> str:
    """The server's own message in the body of a refusal, for people; empty when there is none. At most 200 characters."""
    try:
        found = msgspec.json.decode(body, type=_Body)
    except msgspec.DecodeError:
        return ""
    error = found.error.message if isinstance(found.error, _Error) else found.error
    detail = "" if found.detail is None else str(found.detail)
    return " ".join((error or found.message or detail).split())[:200]
