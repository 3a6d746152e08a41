"""The join on a real broker: its rate beside that of an empty Faust agent, and how long it takes to recover."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from benchmarks.lib.assembly import cpu_s
from benchmarks.lib.join_cost import life
from shared.contracts import records as r
from shared.contracts.codec import encode
from shared.settings import Settings
from shared.streams import topics
from tests.support.kafka import KafkaServer
from tests.support.processes import free_ports

PARTITIONS = 12
PAGES = 20


def settings(kafka: KafkaServer) -> Settings:
    return Settings(kafka={"bootstrap_servers": kafka.bootstrap})  # type: ignore[arg-type]


def prepare(kafka: KafkaServer) -> None:
    """The topics of docfleet, empty."""
    found = settings(kafka)
    topics.apply(found, topics.plan(found))


def fill(kafka: KafkaServer, topic: str, records: Iterable[tuple[bytes, bytes]]) -> int:
    """Append records; how many they were."""
    producer: Any = Producer(
        {"bootstrap.servers": kafka.bootstrap, "partitioner": "murmur2_random", "linger.ms": 20, "acks": "all"}
    )
    count = 0
    for key, value in records:
        while True:
            try:
                producer.produce(topic, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        count += 1
        producer.poll(0)
    assert producer.flush(60) == 0
    return count


def events(documents: int) -> Iterable[tuple[bytes, bytes]]:
    """The events of documents of `PAGES` pages, the documents one by one side by side."""
    lives = [life(f"d{number}", PAGES) for number in range(documents)]
    for step in zip(*lives, strict=True):
        yield from ((event.document_id.encode(), encode(event)) for event in step)


class Join:
    """Context manager: the service, its log and its metrics."""

    def __init__(self, kafka: KafkaServer, folder: Path, **env: str) -> None:
        (self.port,) = free_ports(1)
        self.log = folder / f"join-{self.port}.log"
        self._env = {
            **os.environ,
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap,
            "DOCFLEET_TELEMETRY__FORMAT": "text",
            "DOCFLEET_HTTP_HOST": "127.0.0.1",
            "DOCFLEET_STAGES__JOIN__HTTP_PORT": str(self.port),
            **env,
        }

    def __enter__(self) -> Join:
        command = [sys.executable, "-m", "services.assembler.join"]
        with self.log.open("wb") as out:
            self.began = time.monotonic()
            self.process = subprocess.Popen(command, env=self._env, stdout=out, stderr=out)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(10)

    def recovered(self, timeout_s: float = 180) -> float:
        """Seconds from the start of the process until its state was recovered."""
        limit = time.monotonic() + timeout_s
        while "recovered" not in self.log.read_text(errors="replace"):
            assert self.process.poll() is None, self.log.read_text()[-2_000:]
            assert time.monotonic() < limit, self.log.read_text()[-2_000:]
            time.sleep(0.05)
        return time.monotonic() - self.began

    def handled(self) -> int:
        """Events handled so far, those that it sent to itself included; 0 while nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            return 0
        return int(sum(float(n) for n in re.findall(r"^docfleet_join_events_total\{.*\} (\S+)$", text, re.M)))


def join_rate(kafka: KafkaServer, folder: Path, documents: int) -> float:
    """Events a second over a log that is full when the join starts."""
    prepare(kafka)
    total = fill(kafka, "docs.results", events(documents))
    with Join(kafka, folder) as join:
        join.recovered()
        first: tuple[float, int] | None = None
        limit = time.monotonic() + 180
        while True:
            count, now = join.handled(), time.monotonic()
            if first is None and count:
                first = now, count
            if first is not None and count >= total:
                return (count - first[1]) / (now - first[0])
            assert now < limit, f"{count} of {total} events in 180 s"
            time.sleep(0.05)


def empty_rate(kafka: KafkaServer, documents: int) -> float:
    """The same records through the empty agent, events a second."""
    admin: Any = kafka.admin()
    names = ("bench.source", "bench-empty-written-changelog")
    wanted = [NewTopic(name, PARTITIONS, 1, config={"cleanup.policy": "compact"}) for name in names]
    for future in admin.create_topics(wanted).values():
        future.result(30)
    total = fill(kafka, "bench.source", events(documents))
    with tempfile.TemporaryDirectory() as data:
        env = {
            **os.environ,
            "BENCH_BOOTSTRAP": kafka.bootstrap,
            "BENCH_PARTITIONS": str(PARTITIONS),
            "BENCH_EVENTS": str(total),
            "BENCH_FOLDER": data,
        }
        command = [sys.executable, "-m", "benchmarks.lib.join_empty"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240, check=False)
    found = re.search(r"seconds (\S+)", done.stdout)
    assert found is not None, done.stdout + done.stderr
    return total / float(found[1])


class Recovery(NamedTuple):
    """Wall seconds until recovered, and CPU seconds that the records cost."""

    empty_s: float
    marks_s: float
    cpu_s: float


def ended(marks: int) -> Iterable[tuple[bytes, bytes]]:
    """Records of `docs.parsed`, of so many documents."""
    source = r.SourceInfo(bucket="incoming", key="a/document/of/some/length.pdf", sha256="0" * 64, size=1_000_000)
    place = r.ObjectRef(
        bucket="docfleet", key="parsed/00000000000000000000000000000000/0/document.json", sha256="0" * 64
    )
    for number in range(marks):
        name = f"{number:032x}"
        record = r.DocumentParsed(
            document_id=name, generation=0, status="success", source=source, result=place, markdown=place
        )
        yield name.encode(), encode(record)


def recovery(kafka: KafkaServer, folder: Path, marks: int) -> Recovery:
    """From the start of the process until it is recovered, with nothing and with so many ended documents in `docs.parsed`."""
    prepare(kafka)
    with Join(kafka, folder) as join:
        empty_s = join.recovered()
        before = cpu_s(join.process.pid)
    fill(kafka, "docs.parsed", ended(marks))
    with Join(kafka, folder, DOCFLEET_KAFKA__SESSION_TIMEOUT_MS="10000") as join:
        marks_s = join.recovered()
        return Recovery(empty_s, marks_s, cpu_s(join.process.pid) - before)
