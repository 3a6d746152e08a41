"""How far behind the records of this process are: the lag, and the age of the oldest one. For the gauges; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from shared.streams.work import Assignment, Item, Place


def lag(assignments: Iterable[Assignment], ends: Mapping[Place, int]) -> Counter[str]:
    """Records behind the acknowledged commit, by topic; a partition whose end is not known yet counts none."""
    found: Counter[str] = Counter()
    for assignment in assignments:
        end = ends.get(assignment.place)
        if end is not None and assignment.committed is not None:
            found[assignment.topic] += max(0, end - assignment.committed[0])
    return found


def oldest(items: Iterable[Item], now: float) -> dict[str, float]:
    """Seconds since the timestamp of the oldest of these records, by topic. `now` in seconds since the epoch."""
    first: dict[str, int] = {}
    for item in items:
        topic, at = item.polled.topic, item.polled.timestamp_ms
        first[topic] = min(at, first.get(topic, at))
    return {topic: max(0.0, now - at / 1000) for topic, at in first.items()}
