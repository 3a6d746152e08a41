"""A stage as it shows itself: one coroutine, a typed record in, typed records out.

Consuming, admitting, acknowledging, draining, retrying and dead-lettering happen around it (`shared.streams.runner`) and appear
nowhere in a stage. Many calls of `process` run at once and end in any order; each awaits what it needs.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

import msgspec

from shared.contracts.errors import DocfleetError, Phase
from shared.contracts.options import Lane

T = TypeVar("T")


class Emit(msgspec.Struct, frozen=True):
    """A record to be produced. `topic` is the base name: the runner picks the `.bulk` twin where the record says so."""

    topic: str
    key: str
    record: msgspec.Struct
    headers: dict[str, str] = {}
    """Added to the headers every record has (`shared.streams.headers`)."""


class Delivery(msgspec.Struct, Generic[T], frozen=True):
    """A record that a stage is to work on, and where it came from."""

    record: T
    lane: Lane
    key: bytes | None
    headers: dict[str, bytes]
    timestamp: float
    """Seconds since the epoch, as the broker has it."""
    attempts: int
    """1 at the first try of this process."""
    topic: str
    partition: int
    offset: int
    trace_id: str | None
    """32 hex of the W3C trace this document belongs to."""
    raw: bytes
    """The value, unchanged."""


class Stage(Protocol[T]):
    """One consumer group's work.

    What may come out of `process` and `failed`, and what the runner makes of it:

    - `DocfleetError`: the outcome of this record. `failed` is asked for the failure record; the original goes to
      `docs.dlq` as well, except for the code `cancelled`.
    - `Unavailable`: nothing is wrong with the record. Admission stops, readiness turns false, the same record is tried again
      after a back-off; no attempt is counted. An `OSError` for want of disk space or descriptors counts as one.
    - `shared.children.ChildDied`, `ChildStalled`: the record runs again alone; dead alone twice it is `crashed` or `stalled`.
    - `asyncio.CancelledError`: revoked or cancelled; let it through.
    - anything else is a bug: tried once more, alone, then `internal`, dead-lettered with its stack.
    """

    @property
    def name(self) -> str:
        """Key in `shared.settings.GROUPS`."""
        ...

    @property
    def phase(self) -> Phase:
        """Named in errors that happen here."""
        ...

    def decode(self, value: bytes, key: bytes | None) -> T:
        """The typed record. Raises `DocfleetError(invalid_message)`: a dead letter, and nothing else happens."""
        ...

    def cost(self, record: T) -> int:
        """Decoded bytes that work on this record will hold, estimated; 0 where it does not matter."""
        ...

    async def start(self) -> None:
        """Warm engines and models; the process is not ready until this returns.

        A stage whose start can take long has an attribute `starting` as well: how far it is, in words.
        """
        ...

    async def process(self, delivery: Delivery[T]) -> list[Emit]:
        """Do the work. Outputs are stored before it returns; what it returns is produced before the offset is committed."""
        ...

    async def failed(self, delivery: Delivery[T], error: DocfleetError) -> list[Emit]:
        """Store the error where it belongs and return the failure record."""
        ...

    async def stop(self) -> None:
        """Let engines and connections go. Called once, after everything has ended."""
        ...
