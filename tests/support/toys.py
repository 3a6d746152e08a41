"""Toy services on a broker: processes of `tests.support.toy_service`, what they were given and what they did."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any, Self

from shared.contracts.codec import encode
from tests.support import topic
from tests.support.processes import free_ports, leave, spawn
from tests.support.toy import task

ROOT = Path(__file__).parents[2]


class Toys:
    """Context manager: ends what it started."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.log = folder / "toys.log"
        self.log.touch()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ports: dict[int, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        leave(self.processes)

    def start(self, instance: str | None = None, **stage: Any) -> subprocess.Popen[bytes]:
        """One more process. `instance`: its static membership. `stage`: settings of the stage."""
        (port,) = free_ports(1)
        options = {"max_in_flight": 8, "commit_interval_s": 0.2, "drain_s": 10, "http_port": port, **stage}
        environment = {
            "TOY_LOG": str(self.log),
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": self.bootstrap,
            "DOCFLEET_KAFKA__SESSION_TIMEOUT_MS": "6000",
            "DOCFLEET_HTTP_HOST": "127.0.0.1",
            "DOCFLEET_TELEMETRY__FORMAT": "text",
            **{f"DOCFLEET_STAGES__REC_WORKER__{name.upper()}": str(value) for name, value in options.items()},
        }
        if instance is not None:
            environment["DOCFLEET_KAFKA__GROUP_INSTANCE_ID"] = instance
        log = self.folder / f"service-{len(self.processes)}.log"
        command = [sys.executable, "-m", "tests.support.toy_service"]
        process = spawn(command, log, ROOT, environment)
        self.processes.append(process)
        self.ports[process.pid] = port
        return process

    def tries(self, what: str = "start", process: subprocess.Popen[bytes] | None = None) -> Counter[str]:
        """How often each task was begun (or `done`), by one process or by all."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return Counter(
            name for pid, word, name in lines if word == what and (process is None or pid == str(process.pid))
        )

    def until(self, condition: Any, timeout_s: float = 180.0) -> None:
        limit = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < limit, self.report()
            time.sleep(0.05)

    def metric(self, process: subprocess.Popen[bytes], start: str) -> float:
        """Sum of the process's metrics whose lines begin so; 0 where it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[process.pid]}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return 0.0
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start))

    def partitions(self, process: subprocess.Popen[bytes]) -> float:
        return self.metric(process, "docfleet_assigned_partitions")

    def lanes(self, process: subprocess.Popen[bytes]) -> tuple[float, float]:
        """How many partitions of the first lane it owns, and of the bulk lane."""
        first, bulk = (f'docfleet_assigned_partitions{{topic="{topic}"}}' for topic in ("docs.rec", "docs.rec.bulk"))
        return self.metric(process, first), self.metric(process, bulk)

    def report(self) -> str:
        logs = "\n".join(path.read_text()[-1500:] for path in sorted(self.folder.glob("service-*.log")))
        return f"{len(self.tries('done'))} done\n{logs}"

    def stop(self, process: subprocess.Popen[bytes]) -> int:
        process.send_signal(signal.SIGTERM)
        return process.wait(30)

    def put(self, *names: str) -> None:
        writer = topic.Writer(self.bootstrap)
        for number, name in enumerate(names):
            writer.write("docs.rec", encode(task(name, f"doc-{number % 50}", number + 1)), key=f"k{number}".encode())
        writer.flush()


def answers(bootstrap: str, count: int) -> Counter[str]:
    return Counter(json.loads(m.value())["task_id"] for m in topic.read(bootstrap, "docs.results", count, 60, 1.0))


def lag(bootstrap: str) -> int:
    from shared.settings import Settings
    from shared.streams.cluster import Cluster

    with Cluster(Settings(kafka={"bootstrap_servers": bootstrap})) as cluster:  # type: ignore[arg-type]
        return cluster.lag("rec-worker", "docs.rec")
