"""The runner on Apache Kafka: processes that die, leave and come, with both group protocols."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.contracts.codec import encode
from tests.support import topic
from tests.support.kafka import KafkaServer
from tests.support.processes import free_ports, spawn
from tests.support.toy import task

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


class Toys:
    """Toy services on a broker, and what they did."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.log = folder / "toys.log"
        self.log.touch()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ports: dict[int, int] = {}

    def start(self, **stage: Any) -> subprocess.Popen[bytes]:
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
        log = self.folder / f"service-{len(self.processes)}.log"
        command = [sys.executable, "-m", "tests.support.toy_service"]
        process = spawn(command, log, Path(__file__).parents[3], environment)
        self.processes.append(process)
        self.ports[process.pid] = port
        return process

    def tries(self, what: str = "start", process: subprocess.Popen[bytes] | None = None) -> Counter[str]:
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return Counter(
            name for pid, word, name in lines if word == what and (process is None or pid == str(process.pid))
        )

    def until(self, condition: Any, timeout_s: float = 60.0) -> None:
        limit = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < limit, self.report()
            time.sleep(0.05)

    def metric(self, process: subprocess.Popen[bytes], start: str) -> float:
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


@pytest.fixture
def toys(fresh_kafka: KafkaServer, tmp_path: Path) -> Iterator[Toys]:
    started = Toys(fresh_kafka.bootstrap, tmp_path)
    yield started
    for process in started.processes:
        process.kill()
        process.wait()


def answers(bootstrap: str, count: int) -> Counter[str]:
    return Counter(json.loads(m.value())["task_id"] for m in topic.read(bootstrap, "docs.results", count, 60, 1.0))


def lag(bootstrap: str) -> int:
    from shared.settings import Settings
    from shared.streams.cluster import Cluster

    with Cluster(Settings(kafka={"bootstrap_servers": bootstrap})) as cluster:  # type: ignore[arg-type]
        return cluster.lag("rec-worker", "docs.rec")


def test_garbage_lands_in_the_dlq_and_the_records_behind_it_go_on(toys: Toys) -> None:
    writer = topic.Writer(toys.bootstrap)
    noise = os.urandom(900_000)
    for value in (b"not-json {{{", None, noise, b'{"type":"RecTask","schema_version":"2.0.0"}'):
        writer.write("docs.rec", value, key=b"a key", headers=[("mine", b"\x00\x01"), ("mine", b"2")], partition=3)
    writer.write("docs.rec", encode(task("ok-behind")), partition=3)
    writer.flush()
    toys.start()
    letters = topic.read(toys.bootstrap, "docs.dlq", 4, 60, 1.0)
    assert len(letters) == 4
    assert {m.value() for m in letters} == {
        b"not-json {{{",
        None,
        noise,
        b'{"type":"RecTask","schema_version":"2.0.0"}',
    }
    for letter in letters:
        assert letter.key() == b"a key"
        assert letter.headers()[:2] == [("mine", b"\x00\x01"), ("mine", b"2")]
        head = dict(letter.headers())
        assert head["dlt.original.topic"] == b"docs.rec"
        assert head["dlt.original.partition"] == b"3"
        assert head["dlt.error.code"] == b"invalid_message"
        assert head["dlt.group"] == b"rec-worker"
    assert answers(toys.bootstrap, 1) == {"ok-behind": 1}
    toys.until(lambda: lag(toys.bootstrap) == 0)


def test_a_killed_worker_loses_nothing(toys: Toys) -> None:
    names = [f"slow-0.05-{n}" for n in range(400)]
    toys.put(*names)
    for kill_at in (60, 200):
        process = toys.start()
        toys.until(lambda kill_at=kill_at: len(toys.tries("done")) >= kill_at)
        process.kill()
        process.wait()
    toys.start()
    toys.until(lambda: lag(toys.bootstrap) == 0, 120)
    found = answers(toys.bootstrap, 400)
    assert set(found) == set(names)
    # What may come twice is what was in flight or not yet committed at a kill: two kills, 0.2 s between commits.
    assert sum(found.values()) - 400 <= 2 * (8 + 0.5 / 0.05 * 8)


def test_sigterm_repeats_nothing(toys: Toys) -> None:
    names = [f"slow-0.2-{n}" for n in range(150)]
    toys.put(*names)
    for stop_at in (30, 80):
        process = toys.start()
        toys.until(lambda stop_at=stop_at: len(toys.tries("done")) >= stop_at)
        assert toys.stop(process) == 0
    toys.start()
    toys.until(lambda: len(toys.tries("done")) == 150)
    assert max(toys.tries("start").values()) == 1
    assert answers(toys.bootstrap, 150) == dict.fromkeys(names, 1)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_two_workers_share_the_partitions_and_repeat_nothing(
    toys: Toys, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCFLEET_KAFKA__GROUP_PROTOCOL", protocol)
    names = [f"slow-0.1-{n}" for n in range(600)]
    toys.put(*names)
    first = toys.start()
    toys.until(lambda: len(toys.tries("done")) >= 50)
    second = toys.start()
    toys.until(lambda: toys.lanes(first) == toys.lanes(second) == (6, 6))
    late = [f"slow-0.1-{n}" for n in range(600, 900)]  # a slow rebalance may have left the second nothing to do
    toys.put(*late)
    names += late
    toys.until(lambda: len(toys.tries("done", second)) > 20)
    assert toys.stop(first) == 0
    toys.until(lambda: len(toys.tries("done")) == 900, 90)
    assert toys.partitions(second) == 24
    assert max(toys.tries("start").values()) == 1
    assert answers(toys.bootstrap, 900) == dict.fromkeys(names, 1)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_each_lane_is_shared_by_all_workers_as_they_come(
    toys: Toys, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sticky assignors even out the number of partitions over both lanes: the second worker got one lane whole, the first the other."""
    monkeypatch.setenv("DOCFLEET_KAFKA__GROUP_PROTOCOL", protocol)
    workers: list[subprocess.Popen[bytes]] = []
    for share in (12, 6, 4):
        workers.append(toys.start())
        toys.until(lambda share=share: all(toys.lanes(worker) == (share, share) for worker in workers))
    assert toys.stop(workers.pop()) == 0
    toys.until(lambda: all(toys.lanes(worker) == (6, 6) for worker in workers))


def test_a_record_that_ends_the_process_is_found_by_running_alone(toys: Toys) -> None:
    writer = topic.Writer(toys.bootstrap)
    names = [*[f"slow-0.3-{n}" for n in range(4)], "exit-now", *[f"ok-{n}" for n in range(20)]]
    for name in names:
        writer.write("docs.rec", encode(task(name)), partition=0)
    writer.flush()
    deaths = 0
    process = toys.start()
    while True:
        toys.until(lambda now=process: now.poll() is not None or len(toys.tries("done")) >= 24)
        if process.poll() is None:
            break
        deaths += 1
        assert deaths < 5, toys.report()
        process = toys.start()
    # Once in company, twice alone.
    assert deaths == 3
    assert toys.tries()["exit-now"] == 3
    found = {
        json.loads(m.value())["task_id"]: json.loads(m.value())
        for m in topic.read(toys.bootstrap, "docs.results", 25, 30, 0.5)
    }
    assert set(found) == set(names)
    assert found["exit-now"]["error"]["code"] == "crashed"
    assert {name for name, value in found.items() if value["type"] == "PageFailed"} == {"exit-now"}
    (letter,) = topic.read(toys.bootstrap, "docs.dlq", 1)
    assert letter.value() == encode(task("exit-now"))
    assert toys.stop(process) == 0


def test_a_group_without_offsets_says_so(toys: Toys) -> None:
    admin = KafkaServer(external=toys.bootstrap).admin()
    admin.delete_consumer_groups(["rec-worker"])["rec-worker"].result(20)
    process = toys.start()
    assert process.wait(60) == 1
    assert "docfleet topics apply" in toys.report()


def test_a_broker_that_goes_away_and_comes_back_loses_nothing(tmp_path: Path, kafka: KafkaServer) -> None:
    # Its own broker: the session's is in use by others. (`kafka` is asked for so that this test skips where that one does.)
    from shared.settings import Settings
    from shared.streams import topics

    with KafkaServer() as server:
        settings = Settings(kafka={"bootstrap_servers": server.bootstrap})  # type: ignore[arg-type]
        topics.apply(settings, topics.plan(settings))
        toys = Toys(server.bootstrap, tmp_path)
        process = toys.start(max_in_flight=4)
        try:
            names = [f"slow-0.1-{n}" for n in range(200)]
            toys.put(*names)
            toys.until(lambda: len(toys.tries("done")) >= 40)
            server.pause()
            time.sleep(8)
            server.start()
            toys.until(lambda: lag(toys.bootstrap) == 0, 90)
            assert set(answers(toys.bootstrap, 200)) == set(names)
            assert process.poll() is None
            with pytest.raises(AssertionError):
                topic.read(toys.bootstrap, "docs.dlq", 1, 3)
            assert toys.stop(process) == 0
        finally:
            process.kill()
            process.wait()
