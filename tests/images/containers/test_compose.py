"""`docker-compose up` with the compose file as it is, under podman: a file that is put into the bucket comes out of docs.parsed.

Stand-ins: Apache Kafka and versitygw in images of our own making, in place of those that a registry has. Debian's docker-compose 1.29 speaks
to podman's service; podman starts no health checks without systemd, so a thread does.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from minio import Minio

from tests.conftest import without
from tests.images import compose
from tests.images.containers import standins
from tests.images.containers.podman import environment, podman
from tests.support.processes import Missing, end, free_ports, spawn

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.timeout(2_400)]
PROJECT = "docfleet-test"
FILES = ("docker-compose.yml", "docker/compose.versitygw.yml")
STARTED = ("kafka", "store", "ingest", "layout_worker", "rec_worker", "compose", "join")


class Stack:
    """The compose file, up. `compose` runs docker-compose on it."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.variables = variables
        self._folder = folder
        self._socket = folder / "podman.sock"
        self._service: subprocess.Popen[bytes] | None = None
        self._checking = threading.Event()

    def __enter__(self) -> Stack:
        command = ["podman", "system", "service", "--time=0", f"unix://{self._socket}"]
        self._service = spawn(command, self._folder / "podman.log", self._folder, environment())
        limit = time.monotonic() + 60
        while not self._socket.exists():
            assert time.monotonic() < limit, (self._folder / "podman.log").read_text()
            time.sleep(0.1)
        threading.Thread(target=self._check_health, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            self.compose("down", "--volumes", "--timeout", "10", timeout_s=300)
        self._checking.set()
        end(self._service)

    def compose(self, *arguments: str, timeout_s: float = 900, check: bool = True) -> str:
        files = [one for name in FILES for one in ("--file", str(compose.ROOT / name))]
        done = subprocess.run(
            ["docker-compose", "--project-name", PROJECT, "--project-directory", str(compose.ROOT), *files, *arguments],
            env={**os.environ, **self.variables, "DOCKER_HOST": f"unix://{self._socket}"},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert not check or done.returncode == 0, f"{arguments}: {done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done.stdout + done.stderr

    def containers(self) -> dict[str, dict[str, Any]]:
        """Containers by service, as podman describes them."""
        label = f"label=com.docker.compose.project={PROJECT}"
        found = json.loads(podman("ps", "--all", "--filter", label, "--format", "json"))
        named = {one["Labels"]["com.docker.compose.service"]: one["Id"] for one in found}
        return {name: json.loads(podman("inspect", one))[0] for name, one in named.items()}

    def health(self, service: str) -> str:
        state = self.containers().get(service, {}).get("State", {})
        return str((state.get("Health") or state.get("Healthcheck") or {}).get("Status", ""))

    def wait_healthy(self, *services: str, seconds: float = 600) -> None:
        limit = time.monotonic() + seconds
        for service in services:
            while self.health(service) != "healthy":
                if time.monotonic() > limit:
                    raise AssertionError(
                        f"{service} is {self.health(service)}: {self.compose('logs', '--tail=80', service, check=False)}"
                    )
                time.sleep(1)

    def wait_listening(self, service: str, port: int, seconds: float = 900) -> None:
        """Until a port is open in a container: podman 4.3 says healthy when a first check fails in `start_period`: dependants begin too soon."""
        limit = time.monotonic() + seconds
        look = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo open"
        while "open" not in podman("exec", f"{PROJECT}_{service}_1", "bash", "-c", look, check=False):
            assert time.monotonic() < limit, self.compose("logs", "--tail=80", service, check=False)
            time.sleep(2)

    def _check_health(self) -> None:
        while not self._checking.wait(2):
            with contextlib.suppress(Exception):
                for one in podman("ps", "--quiet", "--filter", f"label=com.docker.compose.project={PROJECT}").split():
                    podman("healthcheck", "run", one, check=False, timeout_s=30)


@pytest.fixture
def stack(image) -> Iterator[Stack]:
    if shutil.which("docker-compose") is None:
        without(Missing("docker-compose is not installed (Debian: apt-get install docker-compose)"))
    try:
        images = {"KAFKA_IMAGE": standins.kafka_image(), "VERSITYGW_IMAGE": standins.versitygw_image()}
    except Missing as missing:
        without(missing)
    kafka, store, console = free_ports(3)
    ports = {"KAFKA_PORT": str(kafka), "STORE_PORT": str(store), "STORE_CONSOLE_PORT": str(console)}
    own = {"CORE_IMAGE": image("core"), "CPU_IMAGE": image("cpu")}
    with (
        tempfile.TemporaryDirectory(prefix="docfleet-") as temporary,
        Stack(Path(temporary), {**images, **ports, **own}) as one,
    ):
        yield one


def test_a_file_in_the_bucket_comes_out_as_a_document(stack, capsys):
    stack.compose("config", "--quiet")
    began = time.monotonic()
    stack.compose("up", "--detach", "--no-build", "kafka")
    stack.wait_listening("kafka", 9092)
    stack.compose("up", "--detach", "--no-build", *STARTED, timeout_s=900)
    stack.wait_healthy("ingest", "layout_worker", "rec_worker", "compose", "join")
    with capsys.disabled():
        print(f"\nup and healthy after {time.monotonic() - began:.0f} s")
    jobs = stack.containers()
    assert [jobs[job]["State"]["ExitCode"] for job in ("topics", "buckets")] == [0, 0]

    store = Minio(
        f"127.0.0.1:{stack.variables['STORE_PORT']}",
        access_key="docfleet",
        secret_key="docfleet-secret",
        secure=False,
        region="us-east-1",
    )
    for name in ("sample.pdf", "scan.pdf"):
        store.fput_object("incoming", f"post/{name}", str(compose.ROOT / "samples" / name))
    records = parsed(stack, 2)
    assert {record["source"]["key"]: record["status"] for found in records.values() for record in found} == {
        "post/sample.pdf": "success",
        "post/scan.pdf": "success",
    }
    assert [len(found) for found in records.values()] == [1, 1]
    for found in records.values():
        reference = found[0]["result"]
        document = json.loads(store.get_object(reference["bucket"], reference["key"]).read())
        assert document["blocks"]

    # Not `run ... ingest`, as in the documentation: docker-compose 1.29 links a one-off container to those of its service that run, and podman
    # takes no links ("link is not supported"). Of `topics`, the same image with the same settings, none runs any more.
    submitted = stack.compose(
        *("run", "--rm", "-T", "--no-deps", "--volume", f"{compose.ROOT}/samples:/samples:ro", "topics"),
        *("docfleet", "submit", "/samples/page.pdf", "--document-id", "by-hand", "--wait"),
        timeout_s=300,
    )
    assert "by-hand" in submitted
    after = parsed(stack, 3)
    assert len(after) == 3, "an upload is a document once, though the store tells of it too"
    assert after["by-hand"][0]["status"] == "success"

    for part in ("ingest", "layout_worker", "rec_worker", "compose", "join"):
        described = stack.containers()[part]
        assert described["HostConfig"]["ReadonlyRootfs"] is True
        assert described["HostConfig"]["Memory"] == compose.bytes_of(compose.loaded()["services"][part]["mem_limit"])
        assert described["EffectiveCaps"] in (None, [])
    stack.compose("stop", timeout_s=300)
    ended = {
        part: stack.containers()[part]["State"]["ExitCode"]
        for part in ("ingest", "layout_worker", "rec_worker", "compose", "join")
    }
    assert ended == dict.fromkeys(ended, 0), "SIGTERM ended each in its own time"


def parsed(stack: Stack, enough: int, seconds: float = 300, idle_s: float = 8) -> dict[str, list[dict[str, Any]]]:
    """Records of docs.parsed by document id, as an application outside reads them."""
    consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{stack.variables['KAFKA_PORT']}", "group.id": "outside"})
    partitions = consumer.list_topics("docs.parsed", 20).topics["docs.parsed"].partitions
    consumer.assign([TopicPartition("docs.parsed", partition, 0) for partition in partitions])
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    limit = last = time.monotonic() + seconds
    while time.monotonic() < limit and (sum(map(len, found.values())) < enough or time.monotonic() < last + idle_s):
        for message in consumer.consume(100, 0.5):
            assert not message.error(), message.error()
            found[message.key().decode()].append(json.loads(message.value()))
            last = time.monotonic()
    consumer.close()
    return dict(found)
