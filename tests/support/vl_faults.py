"""What a simulated VL server answers, and what goes wrong with it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

Fault = Literal["reset", "stall", "cut"]


@dataclass(frozen=True)
class Act:
    """One scripted answer: wait, then a status and text.

    `fault`: `reset` closes the connection in the middle of the body, `stall` falls silent there and stays so, `cut` ends the stream
    there as if all were well. `tokens` sets the length for the time model, where there is one; else it is counted from the text.
    """

    text: str = ""
    status: int = 200
    delay_s: float = 0.0
    gate: asyncio.Event | None = None
    """Waited for before the answer."""
    finish_reason: str | None = "stop"
    headers: dict[str, str] = field(default_factory=dict)
    fault: Fault | None = None
    tokens: int | None = None
    error: str = ""
    """Message of a refusal."""
    raw: bytes | None = None
    """Sent as the whole body of a stream, in place of the text."""
    reset: bool = False
    """The same as `fault="reset"`."""


def loop(text: str = "the same line again ", times: int = 200) -> Act:
    """An answer that repeats itself until its token limit."""
    return Act(text=text * times, finish_reason="length")


def truncated(text: str) -> Act:
    """An answer that met its token limit."""
    return Act(text=text, finish_reason="length")


def think(text: str) -> Act:
    """An answer with the model's reasoning left in it."""
    return Act(text=f"<think>what is in the picture?</think>{text}")


Entry = str | int | Act
"""A text, a status, or anything odd."""


def act_of(entry: Entry) -> Act:
    if isinstance(entry, Act):
        return entry
    return Act(text=entry) if isinstance(entry, str) else Act(status=entry)
