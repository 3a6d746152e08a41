"""The whole fleet on Apache Kafka and an S3 server: processes die, and every document still comes out once, with the same text."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.fleet import Fleet, Service
from tests.support.processes import end, free_ports, spawn
from tests.support.schema import assert_valid_document

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]
DOCUMENTS = 30
KINDS = (["en"], ["zh"], ["en_scan"], ["zh_scan"], ["en", "zh_scan"])


def samples() -> ModuleType:
    path = Path(__file__).parents[2] / "samples" / "make.py"
    spec = importlib.util.spec_from_file_location("samples_make", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts(fleet: Fleet, record: dict) -> list[str]:
    data = fleet.read(record["result"])
    assert_valid_document(data)
    return [block["text"] for block in json.loads(data)["blocks"]]


def replace(fleet: Fleet, service: Service) -> Service:
    """Kill without warning, and start another in its place."""
    service.kill()
    return fleet.start(service.part)


def test_killed_workers_lose_nothing_double_nothing_and_change_no_text(tmp_path, fresh_kafka, s3):
    run = f"{time.time_ns():x}"  # the store may hold what an earlier run left
    make = samples()
    with Fleet(
        tmp_path, fresh_kafka.bootstrap, s3.endpoint, s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    ) as fleet:
        running = fleet.start_all()
        second = fleet.start("rec_worker")
        fleet.wait_ready(second)
        for number in range(DOCUMENTS):
            path = tmp_path / f"{number:02d}.pdf"
            path.write_bytes(make.build(KINDS[number % len(KINDS)], seed=number))
            fleet.upload(path)

        for number in range(DOCUMENTS):
            fleet.submit(f"faulty-{run}-{number:02d}", f"{number:02d}.pdf", tenant=f"faulty-{run}")
        victims = [running["rec_worker"], running["join"], running["compose"]]
        for _ in range(2):
            time.sleep(6)
            victims = [replace(fleet, victim) for victim in victims]
        faulty = fleet.parsed(DOCUMENTS, seconds=300)
        assert sorted(faulty) == [f"faulty-{run}-{n:02d}" for n in range(DOCUMENTS)]
        assert {document: len(records) for document, records in faulty.items() if len(records) != 1} == {}
        assert {records[0]["status"] for records in faulty.values()} == {"success"}
        assert {records[0]["cached"] for records in faulty.values()} == {False}

        shares = [
            _partitions(service) for service in fleet.services if service.part == "rec_worker" and service.ready()
        ]
        assert len(shares) == 2
        assert min(shares) > 0, "two rec_workers share the partitions"
        assert sum(shares) == 24, "12 of docs.rec and 12 of its bulk twin"

        for number in range(DOCUMENTS):
            fleet.submit(f"calm-{run}-{number:02d}", f"{number:02d}.pdf", tenant=f"calm-{run}")
        calm = fleet.parsed(2 * DOCUMENTS, seconds=300)
        for number in range(DOCUMENTS):
            assert texts(fleet, calm[f"calm-{run}-{number:02d}"][0]) == texts(
                fleet, faulty[f"faulty-{run}-{number:02d}"][0]
            ), number


def _partitions(service: Service) -> int:
    """Assigned partitions as the worker's own metrics say."""
    lines = service.get("/metrics").splitlines()
    return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("docfleet_assigned_partitions")))


@pytest.fixture
def vl_endpoint(tmp_path: Path) -> Iterator[str]:
    """A simulated model server: vl_worker takes no record before one has answered it."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "tests.support.vl_server", "--port", str(port)]
    server = spawn(command, tmp_path / "vl-server.log", Path(__file__).parents[2])
    yield f"http://127.0.0.1:{port}/v1"
    end(server)


def test_a_garbage_record_on_each_consumed_topic_is_a_dead_letter_and_the_next_records_go_on(
    tmp_path, kafka, s3, vl_endpoint
):
    topics = ["docs.incoming", "docs.pages", "docs.rec", "docs.vl", "docs.results", "docs.compose"]
    garbage = b"not-json {{{ \xff\x00"
    with Fleet(
        tmp_path, kafka.bootstrap, s3.endpoint, s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    ) as fleet:
        fleet.env["DOCFLEET_VL__ENDPOINTS"] = json.dumps([vl_endpoint])
        before = len(fleet.records("docs.dlq", 0, seconds=3, idle_s=1))
        for topic in topics:
            fleet._producer.produce(topic, garbage, b"nobody", headers={"x-mine": topic.encode()})
        fleet._producer.flush(30)
        fleet.start_all("join", "ingest", "layout_worker", "rec_worker", "vl_worker", "compose")
        fleet.store.fput_object("incoming", "page.pdf", str(Path(__file__).parents[2] / "samples" / "page.pdf"))
        document = f"after-garbage-{time.time_ns()}"
        fleet.submit(document, "page.pdf", options={"vl": "off"}, tenant=document)
        letters = fleet.records("docs.dlq", before + len(topics), seconds=60, idle_s=2)[before:]
        found = {}
        for letter in letters:
            headers = dict(letter.headers())
            if letter.value() == garbage:
                assert headers["dlt.original.topic"] == headers["x-mine"]
                assert headers["dlt.error.code"] == b"invalid_message"
                found[headers["x-mine"].decode()] = letter
        assert sorted(found) == sorted(topics)
        deadline = time.monotonic() + 60
        parsed: dict = {}
        while document not in parsed and time.monotonic() < deadline:
            parsed = fleet.parsed(1, seconds=5, idle_s=1)
        assert parsed[document][0]["status"] == "success"
