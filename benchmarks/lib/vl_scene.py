"""One vl_worker at simulated model servers: the in-process broker, a folder of laid-out pages, real service processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.lib.machine import ROOT
from shared.contracts.codec import encode
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.local import LocalBroker
from tests.support.processes import end, free_ports, spawn
from tests.support.vl_work import Work


class Server:
    """A simulated model server in a process of its own."""

    def __init__(self, folder: Path, name: str, *, speed: float, tokens: str, slots: int = 100) -> None:
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._log = folder / f"server-{name}.log"
        options = {"--port": self.port, "--speed": speed, "--tokens": tokens, "--slots": slots}
        self._command = [
            sys.executable,
            "-m",
            "tests.support.vl_server",
            *(str(part) for pair in options.items() for part in pair),
        ]
        self.start()

    def start(self) -> None:
        self._process = spawn(self._command, self._log, ROOT)
        limit = time.monotonic() + 60
        while self.state() is None:
            if time.monotonic() > limit:
                raise RuntimeError(self._log.read_text())
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL: connections are cut."""
        self._process.kill()
        self._process.wait()

    def state(self) -> dict[str, Any] | None:
        """What it counts; none while it is away."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/state", timeout=5) as answer:
                return json.loads(answer.read())  # type: ignore[no-any-return]
        except OSError:
            return None

    def stop(self) -> None:
        end(self._process)


class Sample(NamedTuple):
    """One look. Tokens and requests of each server (none: away), the limits, CPU seconds and bytes of the worker."""

    at: float
    tokens: list[int | None]
    in_flight: list[int]
    limit: list[int]
    cpu_s: float
    child_cpu_s: float
    resident: int
    child_resident: int


class Scene:
    """A context manager. `put` gives work, `look` samples."""

    def __init__(self, folder: Path, servers: list[Server], work: Work, **vl: Any) -> None:
        self.servers = servers
        self._folder = folder
        self._work = work
        self._vl = vl
        self._broker = LocalBroker()

    def __enter__(self) -> Scene:
        self._broker.start()
        objects = self._folder / "objects"
        (self.port,) = free_ports(1)
        env = {
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": self._broker.bootstrap_servers,
            "DOCFLEET_KAFKA__EMBEDDED": "true",
            "DOCFLEET_KAFKA__GROUP_PROTOCOL": "consumer",
            "DOCFLEET_OBJECTS__KIND": "folder",
            "DOCFLEET_OBJECTS__FOLDER": str(objects),
            "DOCFLEET_HTTP_HOST": "127.0.0.1",
            "DOCFLEET_STAGES__VL_WORKER__HTTP_PORT": str(self.port),
            "DOCFLEET_TELEMETRY__FORMAT": "text",
            "DOCFLEET_VL__ENDPOINTS": json.dumps([server.url for server in self.servers]),
            **{f"DOCFLEET_{name.upper()}": str(value) for name, value in self._vl.items()},
            "WATCHED": str(self._folder / "watched.json"),
        }
        settings = Settings(objects={"kind": "folder", "folder": objects})  # type: ignore[arg-type]
        asyncio.run(self._store(settings))
        self._producer = Producer(
            {"bootstrap.servers": self._broker.bootstrap_servers, "partitioner": "murmur2_random", "log_level": 0}
        )
        self._worker = spawn(
            [sys.executable, "-m", "benchmarks.lib.vl_watched"], self._folder / "worker.log", ROOT, env
        )
        self.started = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker.poll() is None:
            self._worker.send_signal(signal.SIGKILL)
            self._worker.wait()
        for server in self.servers:
            server.stop()
        self._broker.stop()

    async def _store(self, settings: Settings) -> None:
        store = open_store(settings)
        await self._work.store(store, settings.objects.bucket)
        await store.close()

    def put(self) -> int:
        """All tasks; how many."""
        tasks = self._work.tasks()
        for task in tasks:
            key = f"{task.document_id}/{task.pages[0]}/{task.region_id}"
            self._producer.produce("docs.vl", encode(task), key.encode())
            self._producer.poll(0)
        self._producer.flush(60)
        return len(tasks)

    def watched(self) -> dict[str, float]:
        """Gaps between polls and lateness of the loop."""
        return json.loads((self._folder / "watched.json").read_text())  # type: ignore[no-any-return]

    def metric(self, name: str) -> dict[str, float]:
        """Samples of a metric by their labels."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        found = (line.rpartition(" ") for line in lines if line.startswith((name + "{", name + " ")))
        return {labels.removeprefix(name): float(value) for labels, _, value in found}

    def look(self) -> Sample:
        """The state of now. Raises `RuntimeError` when the worker has ended."""
        if self._worker.poll() is not None:
            raise RuntimeError((self._folder / "worker.log").read_text()[-3000:])
        states = [server.state() for server in self.servers]
        limits = self.metric("docfleet_vl_limit_requests")
        children = _children(self._worker.pid)
        return Sample(
            at=time.monotonic() - self.started,
            tokens=[state and state["tokens"] for state in states],
            in_flight=[state["in_flight"] if state else 0 for state in states],
            limit=[int(next((v for k, v in limits.items() if f":{server.port}/" in k), 0)) for server in self.servers],
            cpu_s=_cpu(self._worker.pid),
            child_cpu_s=sum(_cpu(child) for child in children),
            resident=_resident(self._worker.pid),
            child_resident=sum(_resident(child) for child in children),
        )

    def sampled(self, seconds: float, every_s: float = 1.0) -> Iterator[Sample]:
        """Looks for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            yield self.look()
            time.sleep(every_s)

    def records(self, topic: str) -> list[bytes]:
        """Everything that was written to a topic so far."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._broker.bootstrap_servers,
                "group.id": f"look-{time.monotonic_ns()}",
                "log_level": 0,
            }
        )
        try:
            partitions = consumer.list_topics(topic, 10).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
            found: list[bytes] = []
            while batch := consumer.consume(1000, 1.0):
                found += [message.value() for message in batch if message.error() is None]
            return found
        finally:
            consumer.close()


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
