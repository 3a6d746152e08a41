"""What a stage's process tells of its partitions: how many it has, how many are paused, how far it is behind."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from prometheus_client import Gauge

from shared.contracts.errors import ErrorCode
from shared.streams.admission import Admission
from shared.streams.backlog import lag, oldest
from shared.streams.work import Place
from shared.telemetry import metrics


class Gauges:
    """Of the topics of one consumer group."""

    def __init__(self, topics: list[str], admission: Admission) -> None:
        """What alerts and dashboards look at is there from the start: a rate needs a first value to rise from."""
        self._topics = topics
        self._admission = admission
        for topic in topics:
            metrics.PROCESSED.labels(topic=topic)
            metrics.PAUSED.labels(topic=topic).set(0)
            for code in ErrorCode:
                metrics.DEAD_LETTERED.labels(topic=topic, code=str(code))
        for outcome in ("ok", "refused"):
            metrics.COMMITS.labels(outcome=outcome)

    def behind(self, ends: Mapping[Place, int]) -> None:
        """`ends`: the offset after the last record of each owned partition."""
        behind = lag(self._admission.assignments(), ends)
        ages = oldest(self._admission.oldest(), time.time())
        for topic in self._topics:
            metrics.LAG.labels(topic=topic).set(behind[topic])
            metrics.OLDEST.labels(topic=topic).set(ages.get(topic, 0.0))

    def in_flight(self) -> None:
        """Records that were admitted, and their bytes."""
        metrics.IN_FLIGHT.set(len(self._admission.admitted))
        metrics.IN_FLIGHT_BYTES.set(self._admission.bytes)

    def assigned(self) -> None:
        """Partitions that this process owns."""
        self._count(metrics.ASSIGNED, [assignment.place for assignment in self._admission.assignments()])

    def paused(self, places: Collection[Place]) -> None:
        """Partitions that are not fetched from, as their records wait."""
        self._count(metrics.PAUSED, places)

    def _count(self, gauge: Gauge, places: Collection[Place]) -> None:
        for topic in self._topics:
            gauge.labels(topic=topic).set(sum(place[0] == topic for place in places))
