"""Which of two lanes goes next, wherever work waits: for admission to a stage, for an inspection, for a child process.

`first` is for people who wait, `bulk` for long or patient documents. The first is preferred, the second never starves (one turn in
`BULK_EVERY` is its own while both wait). Where bulk work could take every place it leaves some free, so that a record of the first lane
finds one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar

from shared.contracts.options import Lane

BULK_EVERY = 5
"""While both lanes wait, every fifth turn is of the bulk lane."""

_LANE: ContextVar[Lane] = ContextVar("lane", default="first")


def current_lane() -> Lane:
    """The lane of the record that is being worked on here; `first` where nobody has said."""
    return _LANE.get()


@contextlib.contextmanager
def in_lane(lane: Lane) -> Iterator[None]:
    """What is called in this context, and tasks that are made in it, belong to `lane`."""
    token = _LANE.set(lane)
    try:
        yield
    finally:
        _LANE.reset(token)


def bulk_places(total: int) -> int:
    """How many of `total` places the bulk lane may hold: all but a quarter (at least one), and at least one."""
    return max(1, total - max(1, total // 4))


class Preference:
    """Chooses the lane of the next turn. Pure: its state is one counter."""

    def __init__(self) -> None:
        self._since_bulk = 0

    def choose(self, waiting: Mapping[Lane, bool], bulk_held: int, bulk_limit: int) -> Lane | None:
        """The lane whose turn it is, given which lanes have somebody waiting; none when nobody may have it.

        `bulk_held` places are held by the bulk lane, which may hold `bulk_limit`."""
        bulk = waiting.get("bulk", False) and bulk_held < bulk_limit
        first = waiting.get("first", False)
        if first and bulk:
            return "bulk" if self._since_bulk + 1 >= BULK_EVERY else "first"
        if first:
            return "first"
        return "bulk" if bulk else None

    def taken(self, lane: Lane, bulk_waiting: bool) -> None:
        """Note a turn. Turns of the first lane count only while bulk work waits."""
        if lane == "bulk":
            self._since_bulk = 0
        elif bulk_waiting:
            self._since_bulk += 1
