"""Apache Kafka 4.3.1 for tests: one KRaft node from its Maven jars, on 127.0.0.1, on Java 17 or newer."""

from __future__ import annotations

import base64
import contextlib
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from tests.support.processes import Missing, cache_folder, end, free_ports, locked, spawn, until_up

VERSION = "4.3.1"
POM = Path(__file__).with_name("kafka-pom.xml")


def jars() -> Path:
    """Folder of Kafka's jars, fetched with Maven on first use. Raises `Missing`."""
    folder = cache_folder() / f"kafka-{VERSION}"
    with locked(cache_folder() / "kafka.lock"):
        if folder.exists():
            return folder
        if shutil.which("mvn") is None:
            raise Missing("Apache Kafka is fetched with Maven, which is not installed (package maven)")
        with tempfile.TemporaryDirectory(dir=cache_folder()) as temporary:
            (Path(temporary) / "pom.xml").write_bytes(POM.read_bytes())
            goal = ["dependency:copy-dependencies", "-DoutputDirectory=libs", "-DincludeScope=runtime"]
            fetched = subprocess.run(
                ["mvn", "-q", "-B", *goal], cwd=temporary, capture_output=True, text=True, check=False
            )
            if fetched.returncode:
                raise Missing(f"Maven could not fetch Apache Kafka: {(fetched.stdout + fetched.stderr)[-500:]}")
            (Path(temporary) / "libs").rename(folder)
    return folder


def java() -> str:
    """The Java to run it with. Raises `Missing`."""
    program = shutil.which("java")
    if program is None:
        raise Missing("Apache Kafka needs Java 17 or newer, which is not installed (package openjdk-17-jre-headless)")
    text = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', text)
    if found is None or int(found[1]) < 17:
        raise Missing(f"Apache Kafka needs Java 17 or newer; this is {text.splitlines()[:1]}")
    return program


class KafkaServer:
    """One broker. `options` are server.properties (for example `{"message.max.bytes": "5000"}`).

    With `external` it stands for a cluster that somebody else runs: it is neither started nor stopped. `ports` are those of clients and of
    the controller; 0 takes a free one. `memory_mb` is the heap.
    """

    def __init__(
        self,
        options: dict[str, str] | None = None,
        external: str | None = None,
        *,
        ports: tuple[int, int] = (0, 0),
        memory_mb: int = 512,
    ) -> None:
        self._options = options or {}
        self._external = external
        self._memory_mb = memory_mb
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self.port, self._controller = ports
        self.bootstrap = external or ""

    def start(self) -> Self:
        """Format a new log folder (at the first start) and start; returns when the broker answers. Raises `Missing`."""
        if self._external:
            return self
        self._format()
        self._launch()
        self._wait()
        return self

    def _java(self) -> list[str]:
        """The command that runs a class of Kafka. Raises `Missing`."""
        libs = f"{jars()}/*"
        return [java(), "-Xms128m", f"-Xmx{self._memory_mb}m", *_JAVA, *self._java_options(), "-cp", libs]

    def _format(self) -> None:
        """Before the first start: choose ports, write the properties, format a log folder. Raises `Missing`."""
        if self._folder is not None:
            return
        tool = [*self._java(), "kafka.tools.StorageTool"]
        folder = Path(tempfile.mkdtemp(prefix="docfleet-kafka-"))
        if not self.port:
            self.port, self._controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{self.port}"
        lines = (f"{name}={value}\n" for name, value in self._properties(folder).items())
        (folder / "server.properties").write_text("".join(lines))
        formatting = [*tool, "format", "-c", "server.properties", *self._formatting()]
        subprocess.run(formatting, cwd=folder, check=True, capture_output=True)
        self._folder = folder

    def _launch(self) -> None:
        """Spawn; does not wait for an answer."""
        assert self._folder is not None
        command = [*self._java(), "kafka.Kafka", "server.properties"]
        self._process = spawn(command, self._folder / "server.log", self._folder)

    def _java_options(self) -> list[str]:
        """More options of the Java machine."""
        return []

    def _formatting(self) -> list[str]:
        """Options of the tool that formats a log folder."""
        return ["--standalone", "-t", cluster_id()]

    def _properties(self, folder: Path) -> dict[str, str]:
        """server.properties."""
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self._controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(folder / "logs"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "2",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
            "group.consumer.min.session.timeout.ms": "3000",
            "group.consumer.session.timeout.ms": "6000",
            "group.consumer.min.heartbeat.interval.ms": "500",
            "group.consumer.heartbeat.interval.ms": "1000",
            "auto.create.topics.enable": "false",
            "log.segment.delete.delay.ms": "500",
            **self._options,
        }

    def _wait(self, timeout_s: float = 240.0) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        assert self._folder is not None
        log = self._folder / "server.log"
        until_up(
            "Apache Kafka",
            self._process,
            log,
            lambda: admin.list_topics(timeout=1),
            KafkaException,
            self.stop,
            timeout_s,
        )

    def pause(self) -> None:
        """End the broker and keep what it holds; `start` brings it back on the same port."""
        if self._external:
            raise RuntimeError("a cluster of somebody else is not stopped")
        end(self._process)
        self._process = None

    def kill(self) -> None:
        """SIGKILL: no controlled shutdown, nothing flushed. `start` brings it back on the same port."""
        if self._process is None:
            raise RuntimeError("there is no process of ours to kill")
        self._process.kill()
        self._process.wait(10)
        self._process = None

    @property
    def pid(self) -> int:
        """Of the running broker; 0 while there is none (of ours)."""
        return self._process.pid if self._process is not None else 0

    def stop(self) -> None:
        """End the broker and remove what it held."""
        end(self._process)
        self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def admin(self) -> AdminClient:
        """A client for administration; keep it while its futures are awaited."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 3})

    def reset(self, timeout_s: float = 40.0) -> None:
        """Remove every topic and consumer group of docfleet. Members that died without a word keep their group until their session ends."""
        admin = self.admin()
        limit = time.monotonic() + timeout_s
        while left := self._remove(admin):
            if time.monotonic() > limit:
                raise AssertionError(f"could not be removed: {left}")
            time.sleep(0.3)

    def _remove(self, admin: AdminClient) -> list[str]:
        from shared.settings import GROUPS
        from shared.streams.catalog import load

        groups: Any = admin.list_consumer_groups(request_timeout=10).result()
        ours = [g for g in groups.valid if g.group_id in GROUPS.values()]
        idle = [g.group_id for g in ours if g.state in (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)]
        if idle:
            for future in admin.delete_consumer_groups(idle, request_timeout=10).values():
                _ignore(future)
        present = admin.list_topics(timeout=10).topics
        topics = [name for name in present if name in load().names() or name.startswith("assembler-join-")]
        if topics:
            for future in admin.delete_topics(topics, operation_timeout=10).values():
                _ignore(future)
        return topics + [g.group_id for g in ours]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _ignore(future: Any) -> None:
    with contextlib.suppress(KafkaException):  # looked at again in the next round
        future.result(timeout=15)


def cluster_id() -> str:
    """A new cluster's identity."""
    # One in 64 would begin with a dash, which the tool takes for an option.
    return "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


_JAVA = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
"""A small broker that starts quickly; the tests measure nothing about it."""
