"""Which crops share a batch, and when it goes: pure, with the time passed in.

The rules:
- A batch holds crops of one bucket only. A crop is padded to its own bucket and never to a neighbour's width, so what is
  read in it does not depend on its company.
- How many fit is the engine's affair (`BatchProfile`): the items of the bucket's width class, `max_items`, and padded
  width under `max_cost`. A single crop always fits, however wide.
- Batches have the full number of items of their bucket or a power of two below it, never anything between: engines keep
  memory for every input shape they meet, so the set of shapes must be small.
- Of what may go, the most urgent goes first: crops past their due time, then the first lane, then bulk (which counts as
  the first lane once it has waited for `patience_s`, so it can't starve); within that the oldest, and of equally old ones
  the widest, because long work first ends soonest on several streams.
- A batch that is not full waits for `linger_s` from its oldest crop on, but only while more crops are on their way
  (`upstream`): where nothing more can come, waiting buys nothing.
- A failed batch comes back by `retry`; its crops then go one by one, which finds the one to blame.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from shared.contracts.options import Lane
from shared.engines.engine import BatchProfile

T = TypeVar("T")

PATIENCE_S = 1.0
"""Seconds after which a crop of the bulk lane counts as one of the first. A second is about one page on two CPU cores."""


class Flush(StrEnum):
    """Why a batch went."""

    full = "full"
    """It has as many crops as its width class or `max_items` allows."""
    cost = "cost"
    """It has as much padded width as `max_cost` allows; also a crop that is wider than that, alone."""
    linger = "linger"
    idle = "idle"
    """Nothing more was on its way."""
    due = "due"
    retry = "retry"
    """Alone, after the batch it was in had failed."""
    drain = "drain"
    """The reader is being closed."""


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """A crop that waits: its padded width in pixels at the model's height, and whose it is."""

    bucket: int
    payload: T
    document: str = ""
    lane: Lane = "first"
    due: float | None = None
    """Clock time from which it must not linger."""


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    """Crops of one bucket that go through the engine together."""

    bucket: int
    items: tuple[Item[T], ...]
    room: int
    """Items that a full batch of this bucket has."""
    reason: Flush

    @property
    def documents(self) -> int:
        """Different documents whose crops are in it."""
        return len({item.document for item in self.items})


@dataclass(slots=True)
class _Waiting(Generic[T]):
    item: Item[T]
    arrived: float
    number: int


class Batcher(Generic[T]):
    """Crops in, batches out. Every crop added leaves in exactly one batch (again only after `retry`). Not thread safe."""

    def __init__(self, profile: BatchProfile, *, linger_s: float | None = None, patience_s: float = PATIENCE_S) -> None:
        self.profile = profile
        self._linger = profile.linger_ms / 1000.0 if linger_s is None else linger_s
        self._patience = patience_s
        self._groups: dict[int, list[_Waiting[T]]] = {}
        """Bucket to what waits for it, in order of arrival; never empty."""
        self._alone: deque[Item[T]] = deque()
        self._number = 0

    def __len__(self) -> int:
        return len(self._alone) + sum(len(group) for group in self._groups.values())

    def room(self, bucket: int) -> int:
        """Items of a full batch of this bucket; at least 1."""
        return max(1, min(self._items(bucket), self.profile.max_cost // bucket))

    def _items(self, bucket: int) -> int:
        """Items of a full batch if cost were no matter."""
        return min(self.profile.items(bucket), self.profile.max_items)

    def add(self, items: Iterable[Item[T]], now: float) -> None:
        """Crops that came at `now`."""
        for item in items:
            self._groups.setdefault(item.bucket, []).append(_Waiting(item, now, self._number))
            self._number += 1

    def retry(self, batch: Batch[T]) -> None:
        """The engine failed on this batch: its crops come again, each alone, before anything else."""
        self._alone.extend(batch.items)

    def take(self, now: float, *, upstream: bool, drain: bool = False) -> Batch[T] | None:
        """The batch that should go now to a free stream of the engine, or none.

        `upstream`: more crops are on their way (a call that is still cutting, a page that is being fetched).
        """
        if self._alone:
            item = self._alone.popleft()
            return Batch(item.bucket, (item,), self.room(item.bucket), Flush.retry)
        best: tuple[tuple[int, float, int], int, Flush] | None = None
        for bucket, group in self._groups.items():
            reason = self._ready(bucket, group, now, upstream, drain)
            if reason is None:
                continue
            rank, arrived, _ = min(self._urgency(waiting, now) for waiting in group)
            choice = ((rank, arrived, -bucket), bucket, reason)
            if best is None or choice[0] < best[0]:
                best = choice
        return self._cut(best[1], now, best[2]) if best else None

    def wait(self, now: float, *, upstream: bool) -> float | None:
        """Seconds until `take` would give something if nothing else happened; none while nothing waits."""
        if self._alone:
            return 0.0
        times = [self._ready_at(bucket, group, upstream) for bucket, group in self._groups.items()]
        return max(0.0, min(times) - now) if times else None

    def waiting(self) -> Counter[Lane]:
        """Crops that wait, by lane."""
        lanes: Counter[Lane] = Counter(item.lane for item in self._alone)
        lanes.update(waiting.item.lane for group in self._groups.values() for waiting in group)
        return lanes

    def _ready(self, bucket: int, group: list[_Waiting[T]], now: float, upstream: bool, drain: bool) -> Flush | None:
        if len(group) >= self.room(bucket):
            return Flush.cost if self.profile.max_cost // bucket < self._items(bucket) else Flush.full
        if drain:
            return Flush.drain
        if any(waiting.item.due is not None and waiting.item.due <= now for waiting in group):
            return Flush.due
        if not upstream:
            return Flush.idle
        return Flush.linger if group[0].arrived + self._linger <= now else None

    def _ready_at(self, bucket: int, group: list[_Waiting[T]], upstream: bool) -> float:
        first = group[0].arrived
        if len(group) >= self.room(bucket) or not upstream:
            return first
        dues = [waiting.item.due for waiting in group if waiting.item.due is not None]
        return min([first + self._linger, *dues])

    def _urgency(self, waiting: _Waiting[T], now: float) -> tuple[int, float, int]:
        item = waiting.item
        if item.due is not None and item.due <= now:
            return 0, waiting.arrived, waiting.number
        patient = item.lane == "bulk" and now - waiting.arrived < self._patience
        return (2 if patient else 1), waiting.arrived, waiting.number

    def _cut(self, bucket: int, now: float, reason: Flush) -> Batch[T]:
        group = self._groups[bucket]
        room = self.room(bucket)
        size = room if len(group) >= room else 1 << (len(group).bit_length() - 1)
        chosen = sorted(group, key=lambda waiting: self._urgency(waiting, now))[:size]
        numbers = {waiting.number for waiting in chosen}
        self._groups[bucket] = [waiting for waiting in group if waiting.number not in numbers]
        if not self._groups[bucket]:
            del self._groups[bucket]
        return Batch(bucket, tuple(waiting.item for waiting in chosen), room, reason)
