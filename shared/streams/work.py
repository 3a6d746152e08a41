"""What the runner passes around: a polled record, the same record on its way through, a partition during one assignment."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from shared.contracts.errors import DocfleetError
from shared.contracts.options import Lane
from shared.streams.lanes import lane_of
from shared.streams.offsets import OffsetTracker
from shared.telemetry.tracing import TraceParent

Place = tuple[str, int]
"""Topic and partition."""


class Polled(msgspec.Struct, frozen=True):
    """A record as the broker gave it. `timestamp_ms` since the epoch; a null value stays none."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp_ms: int


class Commit(msgspec.Struct, frozen=True):
    """An offset to commit, with the metadata of `shared.streams.offsets`."""

    topic: str
    partition: int
    offset: int
    metadata: str


class Assignment:
    """One partition from assign to revoke. Whatever outlives it finds `open` false and changes nothing any more."""

    def __init__(self, topic: str, partition: int, epoch: int, tracker: OffsetTracker) -> None:
        self.topic = topic
        self.partition = partition
        self.epoch = epoch
        """Counts the assignments of this process, for the logs."""
        self.lane: Lane = lane_of(topic)
        self.tracker = tracker
        self.waiting: deque[Item] = deque()
        """Polled, not admitted, in offset order; filled and emptied by the methods below."""
        self.waiting_bytes = 0
        self.open = True
        self.claimed = False
        """Whether the broker knows that this process works on the partition: only then may a record of it be admitted, because a
        process that dies before would leave the clean mark of its predecessor, and its death would go unnoticed."""
        self.committed: tuple[int, str] | None = None
        """The last state that the broker acknowledged."""

    @property
    def place(self) -> Place:
        return self.topic, self.partition

    def push(self, item: Item) -> None:
        """A record begins to wait."""
        self.waiting.append(item)
        self.waiting_bytes += len(item.polled.value or b"")

    def pop(self) -> Item:
        """The record that waited longest."""
        item = self.waiting.popleft()
        self.waiting_bytes -= len(item.polled.value or b"")
        return item

    def forget(self) -> None:
        """Nothing waits any more."""
        self.waiting.clear()
        self.waiting_bytes = 0

    def commit(self, clean: bool = False) -> Commit:
        """The commit that tells the state of now."""
        return Commit(self.topic, self.partition, *self.tracker.state(clean))


class Item:
    """A record on its way through the runner."""

    def __init__(
        self, polled: Polled, assignment: Assignment, trace: TraceParent, parent: TraceParent | None = None
    ) -> None:
        self.polled = polled
        self.assignment = assignment
        self.trace = trace
        self.parent = parent
        """The span that produced the record."""
        self.record: Any = None
        self.cost = 0
        self.error: DocfleetError | None = None
        """The outcome, once it is clear that there will be no other."""
        self.stack = ""
        self.letter = True
        """Whether that outcome is a dead letter too."""
        self.attempts = 0
        self.alone = False
        """Runs, or has to run, with nothing beside it."""
        self.marked = False
        """Its running alone is to be committed first: the death of this whole process is feared."""
        self.faulted = False
        """An untyped error came out of it once."""
        self.cancelled = False
        """Its document was cancelled while it was worked on."""
        self.waits = False
        """Backs off because something is away."""
        self.delivering = False
        """Its outputs are on their way to the broker."""

    @property
    def offset(self) -> int:
        return self.polled.offset

    @property
    def document(self) -> tuple[str, int] | None:
        """Document and generation, where the record names one."""
        document_id = getattr(self.record, "document_id", None)
        return None if document_id is None else (document_id, getattr(self.record, "generation", 0))
