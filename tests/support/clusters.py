"""Apache Kafka on three nodes of one machine: KRaft, every node broker and controller, for tests of what happens when a leader goes.

Topics get three replicas where they are made by `docfleet topics apply` (topics.yaml asks for three, and two of them in sync). A node
takes some 250 MB.
"""

from __future__ import annotations

import contextlib
import os
import random as rand
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.kafka import KafkaServer, cluster_id
from tests.support.processes import free_ports

Way = Literal["pause", "kill", "freeze"]
"""How a node goes: by SIGTERM (its leaders move first), by SIGKILL, by SIGSTOP."""

REPLICATED = dict.fromkeys(
    (
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "share.coordinator.state.topic.replication.factor",
        "default.replication.factor",
    ),
    "3",
) | dict.fromkeys(
    ("min.insync.replicas", "transaction.state.log.min.isr", "share.coordinator.state.topic.min.isr"), "2"
)
QUICK = {
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "replica.lag.time.max.ms": "6000",
    "leader.imbalance.check.interval.seconds": "3600",
    "auto.leader.rebalance.enable": "false",
}
"""A dead node is noticed in six seconds (default 9), and leaders go back only when a test says so."""


class Node(KafkaServer):
    """One node of a cluster."""

    def __init__(self, number: int, ports: tuple[int, int], voters: str, cluster: str, options: dict[str, str]) -> None:
        super().__init__(options, ports=ports, memory_mb=256)
        self.number = number
        self._voters = voters
        self._cluster = cluster

    def format(self) -> None:
        """Before the first start; takes a second or two, of one core."""
        self._format()

    def launch(self) -> None:
        """Begin to start; a cluster waits for all of them at once."""
        self._launch()

    def wait(self, timeout_s: float = 240.0) -> None:
        """Until it answers."""
        self._wait(timeout_s)

    def freeze(self) -> None:
        """SIGSTOP: it holds its connections and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def _formatting(self) -> list[str]:
        return ["-t", self._cluster]

    def _properties(self, folder: Path) -> dict[str, str]:
        found = super()._properties(folder) | {"node.id": str(self.number), "controller.quorum.voters": self._voters}
        del found["controller.quorum.bootstrap.servers"]
        return found


class KafkaCluster:
    """Context manager: `nodes` by number (1 to 3), each to be paused, killed, frozen and started again."""

    def __init__(self, options: dict[str, str] | None = None, nodes: int = 3) -> None:
        ports = free_ports(2 * nodes)
        pairs = list(zip(ports[::2], ports[1::2], strict=True))
        voters = ",".join(f"{number}@127.0.0.1:{pair[1]}" for number, pair in enumerate(pairs, 1))
        cluster = cluster_id()
        self.nodes = {
            number: Node(number, pair, voters, cluster, REPLICATED | QUICK | (options or {}))
            for number, pair in enumerate(pairs, 1)
        }
        self.bootstrap = ",".join(f"127.0.0.1:{pair[0]}" for pair in pairs)

    def start(self) -> Self:
        """Every node; returns when all are in the cluster. Raises `Missing`."""
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(Node.format, self.nodes.values()))
        for node in self.nodes.values():
            node.launch()  # on this thread: a server dies with the thread that started it
        for node in self.nodes.values():
            node.wait()
        self.until(lambda: len(self.admin().list_topics(timeout=5).brokers) == len(self.nodes), "all nodes are there")
        return self

    def stop(self) -> None:
        """End every node and remove what they held."""
        for node in self.nodes.values():
            if node.pid:
                with contextlib.suppress(ProcessLookupError):
                    node.thaw()
                node.kill()  # one after another they would wait in vain for a quorum
            node.stop()

    def admin(self) -> AdminClient:
        """A client for administration; keep it while its futures are awaited."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})

    def leaders(self, *topics: str) -> dict[tuple[str, int], int]:
        """Leading node of each partition; -1 where there is none."""
        found = self.admin().list_topics(timeout=10).topics
        return {(name, number): p.leader for name in topics for number, p in found[name].partitions.items()}

    def in_sync(self, *topics: str) -> int:
        """Replicas in sync of the partition that has least."""
        found = self.admin().list_topics(timeout=10).topics
        return min(len(p.isrs) for name in topics for p in found[name].partitions.values())

    def until(self, condition: Any, what: str, timeout_s: float = 240.0) -> None:
        """Wait; a cluster that cannot answer counts as not yet."""
        limit = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(KafkaException):
                if condition():
                    return
            assert time.monotonic() < limit, f"not within {timeout_s} s: {what}"
            time.sleep(0.2)

    def healed(self, *topics: str) -> None:
        """Wait until every replica of these topics is in sync again."""
        self.until(lambda: self.in_sync(*topics) == len(self.nodes), "all replicas are in sync")

    def restore_leaders(self, *topics: str) -> int:
        """Give leadership back to the preferred replicas, with every node alive; returns how many partitions moved."""
        before = self.leaders(*topics)
        admin = self.admin()
        asked = [TopicPartition(*place) for place in before]
        # A partition that is led by its preferred replica already is reported as an error; what counts is what moved.
        # Without its timeouts: confluent-kafka 2.16 cannot be given any.
        admin.elect_leaders(ElectionType.PREFERRED, asked).result(60)
        moved: Any = lambda: sum(now != before[place] for place, now in self.leaders(*topics).items())
        with contextlib.suppress(AssertionError):
            self.until(moved, "a leader moves", timeout_s=10)
        return int(moved())

    def change_leaders(self, how: Way, random: rand.Random, *topics: str, still_s: float = 0.0) -> dict[str, float]:
        """Take a leading node out, wait until the others lead all of these topics, bring it back, wait until every replica is in sync, give
        leadership back. A frozen node stays so for `still_s` at least. Returns how many leaders moved, how long it took, how many came back.
        """
        led = self.leaders(*topics)
        number = random.choice(sorted(set(led.values())))
        node = self.nodes[number]
        began = time.monotonic()
        {"pause": node.pause, "kill": node.kill, "freeze": node.freeze}[how]()
        try:
            others = lambda: not {-1, number} & set(self.leaders(*topics).values())
            self.until(others, "the others lead every partition")
            moved = time.monotonic() - began
            if how == "freeze":
                time.sleep(max(0.0, still_s - moved))
        finally:
            if how == "freeze":
                node.thaw()
            else:
                node.start()
        self.healed(*topics)
        back = self.restore_leaders(*topics)
        count = sum(leader == number for leader in led.values())
        return {"leaders_moved": float(count), "moved_s": moved, "leaders_back": float(back)}

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
