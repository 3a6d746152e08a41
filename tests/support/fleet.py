"""A fleet of real service processes against a real broker and store, and an independent look at what comes out.

What is read here goes through plain confluent-kafka and minio, not through our own client, so that the check shares no code with
what is checked.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Consumer, Producer, TopicPartition
from minio import Minio

from shared.settings import Settings
from shared.streams import topics

PARTS = {
    "ingest": "services.ingest",
    "layout_worker": "services.layout_worker",
    "rec_worker": "services.rec_worker",
    "vl_worker": "services.vl_worker",
    "compose": "services.assembler.compose",
    "join": "services.assembler.join",
}
DEFAULT_PARTS = ("join", "ingest", "layout_worker", "rec_worker", "compose")


class Service:
    """One service process, its log and its HTTP port."""

    def __init__(self, part: str, env: Mapping[str, str], log: Path, port: int) -> None:
        self.part = part
        self.port = port
        self.log = log
        self._out = log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", PARTS[part]],
            env={**os.environ, **env, f"DOCFLEET_STAGES__{part.upper()}__HTTP_PORT": str(port)},
            stdout=self._out,
            stderr=self._out,
        )

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def ready(self) -> bool:
        try:
            return bool(self.get("/readyz"))
        except OSError:
            return False

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.process.kill()
        self.process.wait(10)
        self._out.close()

    def terminate(self, timeout: float = 60) -> int:
        """SIGTERM, as Kubernetes sends it, and the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        finally:
            self._out.close()


class Fleet:
    """Context manager: `start` services by part, kill and replace them, submit, read what was parsed."""

    def __init__(
        self, folder: Path, bootstrap: str, endpoint: str, access_key: str, secret_key: str, **env: str
    ) -> None:
        self.folder = folder
        self.bootstrap = bootstrap
        self.services: list[Service] = []
        self._port = 20_000 + os.getpid() % 20_000
        self.bucket = "docfleet"
        self.store = Minio(endpoint, access_key=access_key, secret_key=secret_key, secure=False, region="us-east-1")
        self.env = {
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": bootstrap,
            "DOCFLEET_OBJECTS__KIND": "s3",
            "DOCFLEET_OBJECTS__ENDPOINT": endpoint,
            "DOCFLEET_OBJECTS__ACCESS_KEY": access_key,
            "DOCFLEET_OBJECTS__SECRET_KEY": secret_key,
            "DOCFLEET_OBJECTS__BUCKET": self.bucket,
            "DOCFLEET_HTTP_HOST": "127.0.0.1",
            "DOCFLEET_TELEMETRY__LEVEL": "info",
            **env,
        }
        self._producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "acks": "all"})

    def __enter__(self) -> Self:
        settings = Settings(kafka={"bootstrap_servers": self.bootstrap})  # type: ignore[arg-type]
        topics.apply(
            settings, topics.plan(settings)
        )  # as `docfleet topics apply` does, without the time of a process's start
        for bucket in (self.bucket, "incoming"):
            if not self.store.bucket_exists(bucket):
                self.store.make_bucket(bucket)
        return self

    def __exit__(self, *_: object) -> None:
        for service in self.services:
            if service.process.poll() is None:
                service.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 30
        for service in self.services:
            try:
                service.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                service.kill()

    def run(self, *command: str) -> str:
        """`docfleet COMMAND…` with this fleet's settings; its standard output."""
        done = subprocess.run(
            [sys.executable, "-m", "docfleet.cli.main", *command],
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, f"docfleet {' '.join(command)}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, part: str, **env: str) -> Service:
        self._port += 1
        log = self.folder / f"{part}-{self._port}.log"
        service = Service(part, {**self.env, **env}, log, self._port)
        self.services.append(service)
        return service

    def start_all(self, *parts: str, ready_s: float = 300) -> dict[str, Service]:
        started = {part: self.start(part) for part in parts or DEFAULT_PARTS}
        self.wait_ready(*started.values(), seconds=ready_s)
        return started

    def wait_ready(self, *services: Service, seconds: float = 300) -> None:
        deadline = time.monotonic() + seconds
        for service in services:
            while not service.ready():
                assert service.process.poll() is None, f"{service.part} ended: {service.log.read_text()[-3000:]}"
                assert time.monotonic() < deadline, f"{service.part} is not ready: {service.log.read_text()[-3000:]}"
                time.sleep(0.1)

    def upload(self, path: Path, key: str | None = None) -> str:
        self.store.fput_object("incoming", key or path.name, str(path))
        return key or path.name

    def submit(self, document_id: str, key: str, **fields: Any) -> None:
        value = {"document_id": document_id, "source": {"bucket": "incoming", "key": key}, **fields}
        self._producer.produce("docs.incoming", json.dumps(value).encode(), document_id.encode())
        self._producer.flush(30)

    def records(self, topic: str, enough: int, seconds: float, idle_s: float = 5.0) -> list[Any]:
        """All records of a topic from its beginning; waits until there are `enough`, then until nothing came for `idle_s`."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": f"check-{time.monotonic_ns()}"})
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found: list[Any] = []
        deadline = time.monotonic() + seconds
        last = time.monotonic()
        while time.monotonic() < deadline:
            for message in consumer.consume(100, 0.3):
                assert not message.error(), message.error()
                found.append(message)
                last = time.monotonic()
            if len(found) >= enough and time.monotonic() - last > idle_s:
                break
        consumer.close()
        return found

    def parsed(self, enough: int, seconds: float, idle_s: float = 5.0) -> dict[str, list[dict[str, Any]]]:
        """Records of docs.parsed by document id; more than one in a list is a duplicate."""
        by_id: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for message in self.records("docs.parsed", enough, seconds, idle_s):
            by_id[message.key().decode()].append(json.loads(message.value()))
        return dict(by_id)

    def read(self, ref: Mapping[str, Any]) -> bytes:
        """A stored result."""
        answer = self.store.get_object(ref["bucket"], ref["key"])
        try:
            return bytes(answer.read())
        finally:
            answer.close()
            answer.release_conn()
