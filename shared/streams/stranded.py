"""Finds clients that will not come back by themselves: librdkafka forgets every broker, and stops looking for any, when one that is just
starting answers with an empty list of brokers (librdkafka 2.12 to 2.16, its issue 5301; seen in 8 of 20 consumers when a lone broker came back).
Such a client is down for ever while a new one is answered at once. So who is reported down is asked now and then, and when somebody new
was answered and the old client was not, again and again, it is to be replaced.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from shared.settings import Settings
from shared.streams.clients import admin_config

STRANDED_S = 10.0
"""A client without an answer for so long, while new ones get theirs, is stranded. Above the longest pause between two attempts (5 s)."""
ASK_S = 2.0
"""How long a new client may take for its answer."""


class Stranded:
    """For one thread. `reachable`: whether a new client is answered."""

    def __init__(self, reachable: Callable[[], bool], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._reachable = reachable
        self._clock = clock
        self._since: dict[int, float] = {}

    def answered(self, client: object) -> None:
        """It got an answer."""
        self._since.pop(id(client), None)

    def silent(self, client: object) -> bool:
        """It got none. True when it has had none for `STRANDED_S`, while somebody new was answered each time it was asked."""
        if not self._reachable():
            self._since.pop(id(client), None)
            return False
        if self._clock() - self._since.setdefault(id(client), self._clock()) < STRANDED_S:
            return False
        del self._since[id(client)]
        return True


def reachable(settings: Settings) -> bool:
    """Whether a new client is told of a broker."""
    admin: Any = AdminClient(admin_config(settings))
    try:
        return bool(admin.list_topics(timeout=ASK_S).brokers)
    except KafkaException:
        return False
