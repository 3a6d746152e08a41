"""Which lane a record takes, and which waiting record goes next.

Two lanes: `first` for people who wait, `bulk` for long or patient documents. The first is preferred, the second never starves
(one admission in `BULK_EVERY` is its own while both wait), and bulk work never takes the last places, so that a record of the first
lane finds one.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shared.contracts.options import Lane
from shared.streams.catalog import BULK, load

BULK_EVERY = 5
"""While both lanes wait, every fifth admission is of the bulk lane."""


def lane_of(topic: str) -> Lane:
    """The lane a topic belongs to."""
    return "bulk" if topic.endswith(BULK) else "first"


def topic_of(base: str, record: msgspec.Struct) -> str:
    """Where a record goes: the bulk twin when the record says so and the topic has one."""
    bulk = getattr(record, "lane", None) == "bulk" or getattr(record, "priority", None) == "bulk"
    return (load().bulk_of(base) or base) if bulk else base


def bulk_places(max_in_flight: int) -> int:
    """How many records of the bulk lane may be in flight at once: all places but a quarter (at least one), and at least one."""
    return max(1, max_in_flight - max(1, max_in_flight // 4))


class Preference:
    """Chooses the lane of the next admission. Pure: its state is one counter."""

    def __init__(self) -> None:
        self._since_bulk = 0

    def choose(self, waiting: Mapping[Lane, bool], bulk_in_flight: int, max_in_flight: int) -> Lane | None:
        """The lane to admit from, given which lanes have something to admit; none when nothing may be admitted."""
        bulk = waiting.get("bulk", False) and bulk_in_flight < bulk_places(max_in_flight)
        first = waiting.get("first", False)
        if first and bulk:
            return "bulk" if self._since_bulk + 1 >= BULK_EVERY else "first"
        if first:
            return "first"
        return "bulk" if bulk else None

    def admitted(self, lane: Lane, bulk_waiting: bool) -> None:
        """Note an admission. Admissions of the first lane count only while bulk work waits."""
        if lane == "bulk":
            self._since_bulk = 0
        elif bulk_waiting:
            self._since_bulk += 1
