"""Which record may be worked on next: bounds, lanes, and the rule that a suspect runs alone.

Pure: no clock, no I/O. The runner asks `next` until it says none, and tells `ended` when one is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from shared.children.preference import Preference, bulk_places
from shared.contracts.options import Lane
from shared.streams.work import Assignment, Item, Place


class Admission:
    """Invariants: at most `max_in_flight` records are admitted; their cost exceeds `max_bytes` only when there is one; while a
    record runs alone there is no other."""

    def __init__(self, max_in_flight: int, max_bytes: int) -> None:
        self._max = max_in_flight
        self._max_bytes = max_bytes
        self._preference = Preference()
        self._assignments: dict[Lane, deque[Assignment]] = {"first": deque(), "bulk": deque()}
        self._alone: deque[Item] = deque()
        self.admitted: set[Item] = set()
        self.bytes = 0

    def assign(self, assignment: Assignment) -> None:
        """Take a partition in."""
        self._assignments[assignment.lane].append(assignment)

    def withdraw(self, places: Iterable[Place]) -> list[Assignment]:
        """Take partitions out and forget what of them was not admitted. Admitted records stay until `ended`."""
        gone = [a for lane in self._assignments.values() for a in lane if a.place in set(places)]
        for assignment in gone:
            self._assignments[assignment.lane].remove(assignment)
            assignment.forget()
        self._alone = deque(item for item in self._alone if item.assignment not in gone)
        return gone

    def assignments(self) -> list[Assignment]:
        """Partitions that are in."""
        return [*self._assignments["first"], *self._assignments["bulk"]]

    def find(self, place: Place) -> Assignment | None:
        """The assignment of a partition, if it is in."""
        return next((a for a in self.assignments() if a.place == place), None)

    def oldest(self) -> list[Item]:
        """Of what is not over: everything admitted, and of each partition the record that waited longest."""
        waiting = [a.waiting[0] for a in self.assignments() if a.waiting]
        return [*self.admitted, *self._alone, *waiting]

    def offer(self, item: Item) -> None:
        """A record was polled."""
        if item.assignment.tracker.suspect(item.offset):
            item.marked = True
            self.offer_alone(item)
        else:
            item.assignment.push(item)

    def offer_alone(self, item: Item) -> None:
        """The record has to run with nothing beside it."""
        item.alone = True
        self._alone.append(item)

    def next(self) -> Item | None:
        """The next record to work on, admitted by this call; none when nothing may be admitted now."""
        if any(item.alone for item in self.admitted):
            return None
        if self._alone:
            free = not self.admitted and self._alone[0].assignment.claimed
            return self._admit(self._alone.popleft()) if free else None
        if len(self.admitted) >= self._max:
            return None
        heads = {lane: self._head(lane) for lane in self._assignments}
        bulk = sum(item.assignment.lane == "bulk" for item in self.admitted)
        lane = self._preference.choose(
            {lane: head is not None for lane, head in heads.items()}, bulk, bulk_places(self._max)
        )
        head = heads[lane] if lane else None
        if lane is None or head is None:
            return None
        item = head.waiting[0]
        if self.admitted and self.bytes + item.cost > self._max_bytes:
            return None
        head.pop()
        # The next record of this lane comes from the next partition.
        queue = self._assignments[lane]
        queue.rotate(-1 - queue.index(head))
        self._preference.taken(lane, heads["bulk"] is not None)
        return self._admit(item)

    def _head(self, lane: Lane) -> Assignment | None:
        for assignment in self._assignments[lane]:
            if (
                assignment.claimed
                and assignment.waiting
                and assignment.tracker.admissible(assignment.waiting[0].offset)
            ):
                return assignment
        return None

    def _admit(self, item: Item) -> Item:
        self.admitted.add(item)
        self.bytes += item.cost
        item.assignment.tracker.start(item.offset)
        return item

    def ended(self, item: Item) -> None:
        """An admitted record is over, whatever became of it."""
        self.admitted.discard(item)
        self.bytes -= item.cost
