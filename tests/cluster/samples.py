"""What is looked at while a fleet scales, once a second: lag of the group, replicas wanted and there, pages read and documents parsed."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

import msgspec
from confluent_kafka import Consumer, TopicPartition

PERIOD_S = 1.0


class Sample(msgspec.Struct, frozen=True):
    """At `at` seconds after the start. `lag` in records, `pages` and `documents` so far."""

    at: float
    lag: int
    wanted: int
    ready: int
    pages: int
    documents: int


class Parsed:
    """Reads docs.parsed from its beginning with a plain client; `documents` counts terminal records by id."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"look-{time.monotonic_ns()}"})
        partitions = self._consumer.list_topics("docs.parsed", 30).topics["docs.parsed"].partitions
        self._consumer.assign([TopicPartition("docs.parsed", one, 0) for one in partitions])
        self.documents: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()

    def read(self) -> None:
        """Take what has come."""
        for message in self._consumer.consume(500, 0.05):
            assert not message.error(), message.error()
            record = json.loads(message.value())
            self.documents[record["document_id"]] += 1
            self.statuses[record["status"]] += 1

    def close(self) -> None:
        self._consumer.close()


class Lag:
    """Committed lag of a group over topics, as KEDA counts it."""

    def __init__(self, bootstrap: str, group: str, topics: tuple[str, ...]) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
        self._places = [
            TopicPartition(topic, partition)
            for topic in topics
            for partition in self._consumer.list_topics(topic, 30).topics[topic].partitions
        ]

    def records(self) -> int:
        """All of it."""
        waiting = 0
        for place in self._consumer.committed(self._places, timeout=10):
            end = self._consumer.get_watermark_offsets(TopicPartition(place.topic, place.partition), timeout=10)[1]
            waiting += end - max(0, place.offset)
        return waiting

    def close(self) -> None:
        self._consumer.close()


class Sampler:
    """Context manager: calls `look` once a second on a thread and keeps what it says."""

    def __init__(self, look: Callable[[float], Sample]) -> None:
        self._look = look
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._began = time.monotonic()
        self.samples: list[Sample] = []
        self.faults = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._ending.wait(PERIOD_S):
            try:
                self.samples.append(self._look(time.monotonic() - self._began))
            except Exception:  # a look that fails on a busy machine leaves a gap, and is counted
                self.faults += 1

    def write(self, path: Path) -> None:
        """As CSV."""
        rows = [",".join(Sample.__struct_fields__)]
        rows += [f"{s.at:.1f},{s.lag},{s.wanted},{s.ready},{s.pages},{s.documents}" for s in self.samples]
        path.write_text("\n".join(rows) + "\n")
