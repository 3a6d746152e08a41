"""What was submitted and what came out, as plain data: `tests.faults.checker` compares the two.

Nothing here uses docfleet's own client or store, so that the check shares no code with what is checked.
"""

from __future__ import annotations

import msgspec


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was submitted, and what a fault-free run made of the same source (`tests.faults.reference`)."""

    document_id: str
    template: str
    status: str
    pages: int
    digest: str | None
    """Of the canonical result; none where there is none (a planted poison)."""
    objects: frozenset[str]
    """Keys it leaves, with the document's id replaced by `{id}`."""
    generation: int = 0
    poison: str | None = None
    """The code with which its record becomes a dead letter; none where it does not."""


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """A record of docs.parsed, and the result it points to."""

    document_id: str
    generation: int
    status: str
    pages: tuple[str, ...] = ()
    """Status of every page that the result lists, in its order."""
    page_numbers: tuple[int, ...] = ()
    digest: str | None = None
    codes: frozenset[str] = frozenset()
    """Of all errors in the result, or in the record where there is none."""
    warnings: frozenset[str] = frozenset()
    """Codes of all warnings in the result."""


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter. `place`: topic, partition and offset of the record it copies; one record may die twice over a crash."""

    place: tuple[str, int, int]
    code: str
    document_id: str | None


class Lag(msgspec.Struct, frozen=True, kw_only=True):
    """A partition of a group at rest. `committed` is -1 where nothing was ever committed."""

    group: str
    topic: str
    partition: int
    committed: int
    end: int


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """A process that ended and was not asked to."""

    role: str
    exit: int
    tail: str = ""
    """The end of its log."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is looked at after one injection."""

    terminals: list[Terminal] = []
    letters: list[Letter] = []
    lags: list[Lag] = []
    objects: dict[str, frozenset[str]] = {}
    """By document id; keys as in `Expected.objects`."""
    stray: list[str] = []
    """Processes that belong to no living one."""
    deaths: list[Death] = []
