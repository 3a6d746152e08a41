"""The runner on Apache Kafka: processes that die, leave and come, with both group protocols."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.contracts.codec import encode
from tests.support import topic
from tests.support.kafka import KafkaServer
from tests.support.toy import task
from tests.support.toys import Toys, answers, lag

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


@pytest.fixture
def toys(fresh_kafka: KafkaServer, tmp_path: Path) -> Iterator[Toys]:
    with Toys(fresh_kafka.bootstrap, tmp_path) as started:
        yield started


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


def test_a_sound_record_that_ran_alone_before_the_guilty_one_is_not_convicted_with_it(toys: Toys) -> None:
    """Its partition's commit was behind: of the sound one the broker knew that it ran alone, and not that it was done."""
    writer = topic.Writer(toys.bootstrap)
    names = [f"ok-{n}" for n in range(6)]
    for partition, name in enumerate(names):
        writer.write("docs.rec", encode(task(name)), partition=partition)
    writer.write("docs.rec", encode(task("exit-now")), partition=6)
    writer.flush()
    deaths = 0
    # Nothing is committed by the clock while a process lives: what is known of a record is what went with the marks.
    process = toys.start(commit_interval_s=60)
    while deaths < 3:
        toys.until(lambda now=process: now.poll() is not None)
        deaths += 1
        process = toys.start(commit_interval_s=60)
    found = {
        json.loads(m.value())["task_id"]: json.loads(m.value())["type"]
        for m in topic.read(toys.bootstrap, "docs.results", len(names) + 1, 60, 2.0)
    }
    assert {name for name, kind in found.items() if kind == "PageFailed"} == {"exit-now"}
    assert set(found) == {*names, "exit-now"}
    assert len(topic.read(toys.bootstrap, "docs.dlq", 1)) == 1
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
