"""The in-process broker of the embedded fleet: librdkafka's mock cluster, the real protocol on a loopback port.

It ships inside confluent-kafka and lives in the process that enters it; other processes connect to `bootstrap_servers`. What it
does not do (measured on librdkafka 2.16): keep more than 5 MB a partition, CreateTopics (a topic appears at its
first use, with 4 partitions), survive its process.
"""

from __future__ import annotations

import logging
from types import TracebackType

from confluent_kafka import Producer


class LocalBroker:
    """Context manager around one broker. `bootstrap_servers` is `127.0.0.1:<port>` while it runs."""

    def __init__(self) -> None:
        self._cluster: Producer | None = None
        self.bootstrap_servers = ""

    def start(self) -> LocalBroker:
        """Bring the broker up (milliseconds)."""
        # The client that carries the cluster is itself never used to produce.
        self._cluster = Producer(
            {"bootstrap.servers": "in-process", "test.mock.num.brokers": 1, "log_level": 2, "logger": _logger}
        )
        brokers = self._cluster.list_topics(timeout=10).brokers.values()
        self.bootstrap_servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        return self

    def stop(self) -> None:
        """End the broker and everything it held."""
        # The cluster goes when its client is collected; there is no other reference to it.
        self._cluster = None
        self.bootstrap_servers = ""

    def __enter__(self) -> LocalBroker:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_logger = logging.getLogger("librdkafka")
