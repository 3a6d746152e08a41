"""The join on a real broker, in processes of its own, between a fleet that answers it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from shared.contracts import records as r
from shared.contracts.codec import decode, encode
from tests.support.join_fleet import JoinFleet, Log, opened
from tests.support.kafka import KafkaServer
from tests.support.processes import leave
from tests.support.proxy import LosesAnswers

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

GROUP = "assembler-join"


class Join:
    """The service as a child process."""

    def __init__(self, bootstrap: str, log: Path, **settings: str) -> None:
        self.log = log
        env = {
            **os.environ,
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": bootstrap,
            "DOCFLEET_KAFKA__SESSION_TIMEOUT_MS": "6000",
            "DOCFLEET_TELEMETRY__FORMAT": "text",
            "DOCFLEET_HTTP_HOST": "127.0.0.1",
            **settings,
        }
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "services.assembler.join"], env=env, stdout=out, stderr=out
            )

    def until(self, text: str, timeout_s: float = 60) -> str:
        """Wait for a line of the log that matches; returns it."""
        deadline = time.monotonic() + timeout_s
        while True:
            for line in self.log.read_text(errors="replace").splitlines():
                if re.search(text, line):
                    return line
            assert time.monotonic() < deadline, f"no {text!r} in:\n{self.log.read_text(errors='replace')[-4000:]}"
            time.sleep(0.1)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(30)


Start = Callable[..., Join]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts joins; ends what is left of them."""
    joins: list[Join] = []

    def started(bootstrap: str, **settings: str) -> Join:
        joins.append(Join(bootstrap, tmp_path / f"join-{len(joins)}.log", **settings))
        return joins[-1]

    yield started
    leave([join.process for join in joins], patience_s=4.0)


def once(records: list[Any]) -> bool:
    """Every key has one record."""
    return set(Counter(message.key() for message in records).values()) <= {1}


def committed(bootstrap: str) -> dict[tuple[str, int], int]:
    consumer: Any = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    try:
        places = [TopicPartition(topic, p) for topic in ("docs.results", "docs.control") for p in range(12)]
        return {(p.topic, p.partition): p.offset for p in consumer.committed(places, timeout=10)}
    finally:
        consumer.close()


def limit_parsed(kafka: KafkaServer, size: int) -> None:
    """Set `max.message.bytes` of docs.parsed."""
    entry = ConfigEntry("max.message.bytes", str(size), incremental_operation=AlterConfigOpType.SET)
    admin = kafka.admin()
    resource = ConfigResource(ResourceType.TOPIC, "docs.parsed", incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(20)


def test_documents_run_through_and_leave_no_open_state(fresh_kafka: KafkaServer, start: Start) -> None:
    join = start(fresh_kafka.bootstrap, DOCFLEET_JOIN__WINDOW="4")
    parsed = Log(fresh_kafka.bootstrap, "docs.parsed")
    with JoinFleet(fresh_kafka.bootstrap) as fleet:
        for number in range(30):
            fleet.produce(opened(f"d{number}", number % 12))
        parsed.until(lambda records: len(records) == 30)
        state = Log(fresh_kafka.bootstrap, "docs.join.open")
        rows: dict[bytes, Any] = {}

        def empty(records: list[Any]) -> bool:
            rows.update((message.key(), message.value()) for message in records)
            return bool(rows) and not any(rows.values())

        state.until(empty, 20)
        until(lambda: len(fleet.seen["CloseDocument"]) == 30, 20)
    assert once(parsed.records)
    assert len(fleet.seen["PageTask"]) == sum(number % 12 for number in range(30))
    assert len(fleet.seen["CloseDocument"]) == 30
    assert join.end() == 0


def test_a_failed_send_ends_the_process_before_its_commit(fresh_kafka: KafkaServer, start: Start) -> None:
    bootstrap = fresh_kafka.bootstrap
    parsed = Log(bootstrap, "docs.parsed")
    results = Log(bootstrap, "docs.results")
    limit_parsed(fresh_kafka, 300)
    with JoinFleet(bootstrap) as fleet:
        join = start(bootstrap)
        fleet.produce(opened("d", 2))
        assert join.process.wait(60) == 4
        results.look(0.5)
        ends = [m for m in results.records if decode_type(m) == "DocumentComposed"]
        assert ends
        assert committed(bootstrap)["docs.results", ends[0].partition()] <= ends[0].offset()
        assert parsed.look(0.5) == []
        limit_parsed(fresh_kafka, 1_048_588)
        start(bootstrap)
        parsed.until(lambda records: records)
        parsed.look(1.0)
    assert len(parsed.records) == 1


def until(condition: Callable[[], bool], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def decode_type(message: Any) -> str:
    return dict(message.headers() or []).get("ce_type", b"").decode() or type(r.decode_result(message.value())).__name__


def test_lost_produce_responses_double_nothing(
    kafka_behind_proxy: tuple[KafkaServer, LosesAnswers], start: Start
) -> None:
    kafka, proxy = kafka_behind_proxy
    proxy.lose(0.2)
    start(kafka.bootstrap)
    parsed, pages = Log(kafka.bootstrap, "docs.parsed"), Log(kafka.bootstrap, "docs.pages")
    with JoinFleet(kafka.bootstrap) as fleet:
        for number in range(60):
            fleet.produce(opened(f"d{number}", 5))
            time.sleep(0.02)
        parsed.until(lambda records: len(records) >= 60, 120)
        parsed.look(2.0)
        pages.look(1.0)
        print(f"{proxy.lost} answers lost, {proxy.passed} passed")
        assert proxy.lost > 10
        assert len(parsed.records) == 60
        assert once(parsed.records)
        assert len(pages.records) == 300
        assert once(pages.records)


def test_recovery_of_the_ended_begins_at_now_minus_remember(fresh_kafka: KafkaServer, start: Start) -> None:
    bootstrap = fresh_kafka.bootstrap
    parsed = Log(bootstrap, "docs.parsed")
    with JoinFleet(bootstrap) as fleet:
        now = time.time()
        for number in range(600):
            age_s = 7_200 if number < 500 else 60
            record = r.DocumentParsed(
                document_id=f"d{number}", generation=0, status="success", source=r.SourceInfo(bucket="b", key="k")
            )
            at = int((now - age_s) * 1000)
            fleet.raw("docs.parsed", record.document_id.encode(), encode(record), timestamp=at)
        fleet.flush()
        join = start(bootstrap, DOCFLEET_JOIN__REMEMBER_S="3600")
        assert "ended=100" in join.until("recovered")
        fleet.produce(opened("d550", 1))
        fleet.produce(opened("d100", 1))
        fleet.produce(opened("new", 1))
        parsed.until(lambda records: len(records) == 602)
        parsed.look(1.0)
    again = Counter(message.key() for message in parsed.records)
    assert (again[b"d550"], again[b"d100"], again[b"new"]) == (1, 2, 1)


def test_garbage_in_sources_and_changelogs_is_skipped(fresh_kafka: KafkaServer, start: Start) -> None:
    bootstrap = fresh_kafka.bootstrap
    garbage = {
        ("docs.results", b"a"): b"\xff\x00 results",
        ("docs.results", None): b'{"type": "NoSuchThing"}',
        ("docs.control", b"a"): b"[1, 2]",
        ("docs.parsed", b"a"): b"not a parsed record",
        ("docs.join.open", b"a"): b"not open state",
        ("docs.join.open", b"a/1"): b"\x93\x00not a page",
        ("docs.join.open", b"\xff/x"): b"not a key either",
    }
    letters, parsed = Log(bootstrap, "docs.dlq"), Log(bootstrap, "docs.parsed")
    with JoinFleet(bootstrap) as fleet:
        for (topic, key), value in garbage.items():
            fleet.raw(topic, key, value, headers={"mine": b"kept"})
        fleet.raw("docs.results", b"t", None)
        fleet.flush()
        start(bootstrap)
        for number in range(10):
            fleet.produce(opened(f"d{number}", 2))
        parsed.until(lambda records: len(records) == 11)
        letters.until(lambda records: len(records) == len(garbage) + 1)
    assert {message.value() for message in letters.records} == {*garbage.values(), None}
    for message in letters.records:
        head = dict(message.headers())
        assert head["dlt.error.code"] == b"invalid_message"
        assert head["dlt.group"] == GROUP.encode()
        if message.value() is not None:
            assert head["mine"] == b"kept"
            assert (head["dlt.original.topic"].decode(), message.key()) in garbage


def test_nothing_is_lost_or_doubled_when_workers_are_killed(fresh_kafka: KafkaServer, start: Start) -> None:
    bootstrap = fresh_kafka.bootstrap
    documents = 300
    parsed = Log(bootstrap, "docs.parsed")
    with JoinFleet(bootstrap) as fleet:
        workers = [start(bootstrap, DOCFLEET_JOIN__WINDOW="8") for _ in range(2)]
        workers[0].until("recovered")
        for kill in range(4):
            # A quarter of the documents at a time, so that work is under way at each kill.
            for number in range(documents // 4 * kill, documents // 4 * (kill + 1)):
                fleet.produce(opened(f"d{number}", 20))
            fleet.flush()
            if kill < 3:
                pages = len(fleet.seen["PageTask"])
                until(lambda pages=pages: len(fleet.seen["PageTask"]) > pages + 300, 60)
                workers[kill % 2].kill()
                workers[kill % 2] = start(bootstrap, DOCFLEET_JOIN__WINDOW="8")
        parsed.until(lambda records: len({message.key() for message in records}) == documents, 180)
        parsed.look(3.0)
    assert once(parsed.records)
    assert {p.status for p in parsed.parsed()} == {"success"}
    assert {(task.document_id, task.page_no) for task in fleet.seen["PageTask"]} == {
        (f"d{number}", page) for number in range(documents) for page in range(1, 21)
    }
    print(f"{len(fleet.seen['PageTask'])} page tasks for {documents * 20} pages, 3 SIGKILL, 2 workers")


def test_a_cancel_in_the_wrong_partition_finds_its_document(fresh_kafka: KafkaServer, start: Start) -> None:
    bootstrap = fresh_kafka.bootstrap
    parsed = Log(bootstrap, "docs.parsed")
    join = start(bootstrap)
    join.until("recovered")
    fleet = JoinFleet(bootstrap)  # not entered: nobody answers, the documents stay open
    for number in range(12):
        fleet.produce(opened(f"d{number}", 3))
    fleet.flush()
    time.sleep(1.5)
    began = time.monotonic()
    for number in range(12):
        command = r.CancelDocument(document_id=f"d{number}", generation=0)
        fleet.raw("docs.control", command.document_id.encode(), encode(command), partition=number)
    fleet.flush()
    parsed.until(lambda records: len(records) == 12, 60)
    assert time.monotonic() - began < 30, "at once, which is seconds on a machine with twenty others to serve"
    assert {p.status for p in parsed.parsed()} == {"cancelled"}
    assert once(parsed.records)


def test_it_refuses_to_start_without_offsets_or_at_exactly_once(fresh_kafka: KafkaServer, start: Start) -> None:
    bootstrap = fresh_kafka.bootstrap
    join = start(bootstrap, PROCESSING_GUARANTEE="exactly_once")
    assert join.process.wait(30) == 1
    admin = fresh_kafka.admin()
    for future in admin.delete_consumer_groups([GROUP], request_timeout=10).values():
        future.result(20)
    join = start(bootstrap)
    assert join.process.wait(60) == 1
    join.until("no committed offset")


def test_state_is_recovered_by_whoever_comes_next(fresh_kafka: KafkaServer, start: Start) -> None:
    """A document that is open when its join dies is finished by the next one, from the changelog alone."""
    bootstrap = fresh_kafka.bootstrap
    parsed = Log(bootstrap, "docs.parsed")
    first = start(bootstrap)
    first.until("recovered")
    fleet = JoinFleet(bootstrap)
    fleet.produce(opened("d", 3))
    fleet.flush()
    pages = Log(bootstrap, "docs.pages")
    pages.until(lambda records: len(records) == 3)
    time.sleep(1.5)  # committed: the event does not come again
    first.kill()
    second = start(bootstrap)
    assert "open=1" in second.until("recovered", 90)
    with fleet:  # it reads its work from the beginning, and answers now
        parsed.until(lambda records: records, 60)
    assert [decode(m.value(), r.DocumentParsed).status for m in parsed.records] == ["success"]


def lost_page(work: Any) -> bool:
    """Laying out page 2 is taken, committed and never answered, as if its answer had been deleted."""
    return isinstance(work, r.PageTask) and work.page_no == 2


def test_lost_work_is_proven_and_given_up_and_what_is_forgotten_stays_so(
    fresh_kafka: KafkaServer, start: Start, tmp_path: Path
) -> None:
    bootstrap = fresh_kafka.bootstrap
    parsed, letters = Log(bootstrap, "docs.parsed"), Log(bootstrap, "docs.dlq")
    disk = {"DOCFLEET_JOIN__STORE": "rocksdb", "DOCFLEET_JOIN__DATA": str(tmp_path / "join")}
    first = start(bootstrap, DOCFLEET_JOIN__STALL_S="1", **disk)
    with JoinFleet(bootstrap, loses=lost_page, commits=True) as fleet:
        fleet.produce(opened("d", 4))
        fleet.produce(opened("gone", 2, lane="bulk"))  # its page 2 is lost as well
        first.until("suspected.*gone", 90)
        fleet.produce(r.DocumentForgotten(document_id="gone", generation=0))
        parsed.until(lambda records: len(records) == 3, 60)
        assert [task.attempt for task in fleet.seen["PageTask"] if (task.document_id, task.page_no) == ("d", 2)] == [
            1,
            2,
        ]
        (given_up,) = [task for task in fleet.seen["ComposePage"] if (task.document_id, task.page_no) == ("d", 2)]
        assert given_up.lost == ["layout-g0-p00002"]
        first.kill()
        # The mark of the tombstone is recovered from its header: the document does not begin again.
        second = start(bootstrap, **disk)
        assert "ended=2" in second.until("recovered", 90)
        fleet.produce(opened("gone", 2))
        fleet.produce(opened("gone", 0, generation=1))
        parsed.until(lambda records: len(records) == 4, 60)
    values = [message.value() for message in parsed.records if message.key() == b"gone"]
    ended = [value and decode(value, r.DocumentParsed) for value in values]
    assert [parsed and (parsed.generation, parsed.status) for parsed in ended] == [
        (0, "cancelled"),
        None,
        (1, "success"),
    ]
    assert letters.look(0.2) == []
