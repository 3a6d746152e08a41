"""Ends the process when it is stuck. Kafka does not see it: heartbeats go on in a thread of their own.

Two signs: the event loop does not go round, or events wait, nothing is handled, committed or recovered, and that lasts.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition

from shared.settings import GROUPS, Settings
from shared.streams.clients import consumer_config

log = structlog.get_logger()

LOOP_S = 60.0
"""Longest silence of the event loop."""
STILL_S = 120.0
"""Longest time without progress while events wait. Above what Faust needs to rebalance."""
LOOK_S = 10.0
STUCK = 3
"""Exit code."""


class Watchdog:
    """A thread. `progress` is any value that changes when work is done; `owned` are the source partitions of this process."""

    def __init__(
        self,
        settings: Settings,
        progress: Callable[[], object],
        owned: Callable[[], set[tuple[str, int]]],
        *,
        end: Callable[[int], None] = os._exit,
        loop_s: float = LOOP_S,
        still_s: float = STILL_S,
        look_s: float = LOOK_S,
    ) -> None:
        self._config = consumer_config(settings, GROUPS["join"])
        self._progress = progress
        self._owned = owned
        self._end = end
        self._limits = loop_s, still_s, look_s
        self._beat = time.monotonic()
        self._last: object = None
        self._moved = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._beat = time.monotonic()
        self._thread.start()

    def beat(self) -> None:
        """The event loop goes round."""
        self._beat = time.monotonic()

    def follow(self, loop: asyncio.AbstractEventLoop, while_: Callable[[], bool], every_s: float = 0.25) -> None:
        """Beat as the loop goes round, as long as a condition holds: Faust starts an application's tasks only after a recovery,
        which may take longer than any loop should be silent."""

        def turn() -> None:
            if while_():
                self.beat()
                loop.call_later(every_s, turn)

        loop.call_soon(turn)

    def _run(self) -> None:
        consumer: Any = Consumer(self._config)  # asks for offsets only, never joins the group
        while True:
            time.sleep(self._limits[2])
            if why := self.look(consumer, time.monotonic()):
                log.critical("stuck, ending the process", why=why)
                self._end(STUCK)
                return

    def look(self, consumer: Any, now: float) -> str | None:
        """Why the process is stuck; none when it is not."""
        loop_s, still_s, _ = self._limits
        if now - self._beat > loop_s:
            return f"the event loop has not gone round for {now - self._beat:.0f} s"
        progress = self._progress()
        if progress != self._last:
            self._last, self._moved = progress, now
            return None
        if now - self._moved <= still_s:
            return None
        try:
            waiting = self._waiting(consumer)
        except KafkaException as error:
            log.info("the broker does not say what waits", why=error.args[0].str())
            return None
        if not waiting:
            self._moved = now
            return None
        return f"{waiting} events wait and none was handled for {now - self._moved:.0f} s"

    def _waiting(self, consumer: Any) -> int:
        """Events of our partitions behind the committed offsets."""
        owned = [TopicPartition(topic, partition) for topic, partition in self._owned()]
        if not owned:
            return 0
        waiting = 0
        for place in consumer.committed(owned, timeout=5):
            high = consumer.get_watermark_offsets(TopicPartition(place.topic, place.partition), timeout=5)[1]
            waiting += max(0, high - max(0, place.offset))
        return waiting
