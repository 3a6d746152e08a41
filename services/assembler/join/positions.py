"""Which event comes next in each partition of a source: what may be committed, and what must not be handled yet.

Faust drops what is queued when partitions move and seeks back; what was on its way at that moment may still be delivered, before the
events it jumps over, and its own account of acknowledged offsets starts from whatever came first. So the join keeps its own: an event
is handled only when its predecessor was, and only what was handled this way is committed. Pure.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

Place: TypeAlias = tuple[str, int]
"""Topic and partition."""

SEEKS = 3
"""When the same later event comes after so many seeks, there is none before it: compacted away, or a marker of a transaction."""

Verdict = Literal["handle", "skip", "seek"]


class Positions:
    """Invariant: `next(place)` is the offset of the first event of an owned partition that was not handled."""

    def __init__(self) -> None:
        self._next: dict[Place, int] = {}
        self._sought: dict[Place, tuple[int, int]] = {}
        self._seen: dict[Place, int] = {}
        self._committed: dict[Place, int] = {}

    def begin(self, place: Place, offset: int) -> None:
        """A partition came; its group's committed offset."""
        self._next[place] = self._committed[place] = offset
        self._sought.pop(place, None)

    def committed(self, place: Place, offset: int) -> None:
        """The broker has a commit."""
        if place in self._next:
            self._committed[place] = offset

    def lag(self, ends: dict[Place, int]) -> Counter[str]:
        """Events that are not committed, by topic, of the partitions in `ends` (offset after the last event)."""
        lag: Counter[str] = Counter()
        for place, end in ends.items():
            lag[place[0]] += max(0, end - self._committed.get(place, end))
        return lag

    def drop(self, place: Place) -> None:
        """The partition is not ours any more, or begins anew."""
        self._next.pop(place, None)
        self._sought.pop(place, None)
        self._committed.pop(place, None)

    def next(self, place: Place) -> int | None:
        """What may be committed; none for a partition that is not ours."""
        return self._next.get(place)

    def places(self) -> set[Place]:
        """The partitions that have begun."""
        return set(self._next)

    def judge(self, place: Place, offset: int) -> Verdict:
        """What to do with an event that was delivered.

        `skip`: it was handled, or its partition has not begun (it comes again). `seek`: events before it are missing, the consumer must
        go back to `next`; it comes again as well.
        """
        expected = self._next.get(place)
        if expected is None or offset < expected:
            return "skip"
        if offset > expected:
            last, times = self._sought.get(place, (-1, 0))
            times = times + 1 if last == offset else 1
            self._sought[place] = offset, times
            if times <= SEEKS:
                return "seek"
        return "handle"

    def still(self, ends: dict[Place, int]) -> dict[Place, int]:
        """Partitions that have events (`ends`: offset after the last one) and did not move since the last call; where to read on."""
        still = {
            place: offset
            for place, offset in self._next.items()
            if offset < ends.get(place, 0) and self._seen.get(place) == offset
        }
        self._seen = dict(self._next)
        return still

    def handled(self, place: Place, offset: int) -> None:
        """The event is done."""
        self._next[place] = offset + 1
        self._sought.pop(place, None)
