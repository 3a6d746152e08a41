"""Field reports C11 and C21 on Apache Kafka and an S3 server: work that waits longer than anything is kept, and a broker that is gone.

`DOCFLEET_AWAY_S=60` makes that absence longer than any session.
"""

from __future__ import annotations

import io
import os
import time
import urllib.error
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from tests.support.fleet import Fleet, Service
from tests.support.kafka import KafkaServer
from tests.support.pdfs import contents

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]
FAST = {"layout": "fast", "ocr": "off"}
KEPT_S, WAITS_S = 2, 10
AWAY_S = float(os.environ.get("DOCFLEET_AWAY_S", "12"))
DOCUMENTS = 40
STAGES = ("ingest", "layout_worker", "compose")
LINES_AWAY = 120
"""Lines that a service may log while the broker is away, however long: each kind of line once in half a minute."""


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.2)


def fleet_on(server: KafkaServer, s3, tmp_path, **env: str) -> Fleet:
    keys = s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    return Fleet(tmp_path, server.bootstrap, s3.endpoint, *keys, **env)


def store(fleet: Fleet, *names: str) -> None:
    for name in names:
        data = contents([f"Document {name}", "Another page"])
        fleet.store.put_object("incoming", f"{name}.pdf", io.BytesIO(data), len(data))


def forgets(bootstrap: str) -> Callable[[], bool]:
    """Makes a topic as any tool would, with a record; the answer says whether the broker has removed that."""
    admin = KafkaServer(external=bootstrap).admin()
    admin.create_topics([NewTopic("of-somebody-else", 1, 1)])["of-somebody-else"].result(30)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("of-somebody-else", b"a record")
    assert producer.flush(30) == 0

    def forgotten() -> bool:
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "nobody"})
        try:
            first, end = consumer.get_watermark_offsets(TopicPartition("of-somebody-else", 0), timeout=10)
            return bool(first == end == 1)
        finally:
            consumer.close()

    return forgotten


def test_c11_work_has_no_time_to_live_and_results_are_kept_from_their_end_on(tmp_path, kafka, s3) -> None:
    """The broker keeps a record for two seconds, the operator results for two; a page waits ten. (`kafka`: skips where that one does.)"""
    kept = {
        "log.retention.ms": f"{1000 * KEPT_S}",
        "log.retention.check.interval.ms": "500",
        "log.initial.task.delay.ms": "500",
    }
    name = f"waits-{time.time_ns():x}"  # the store may hold what an earlier run left
    bucket = f"c11-{time.time_ns():x}"  # of its own: what is purged here is nobody else's
    with (
        KafkaServer(kept) as server,
        fleet_on(server, s3, tmp_path, DOCFLEET_OBJECTS__BUCKET=bucket) as fleet,
    ):
        fleet.start_all("join", "ingest", "compose")
        forgotten = forgets(server.bootstrap)
        store(fleet, name)
        fleet.submit(name, f"{name}.pdf", tenant=name, options=FAST)
        waits = time.monotonic() + WAITS_S
        assert len(fleet.records("docs.pages", 2, seconds=60, idle_s=0.5)) == 2
        until(forgotten, 60, "the broker removes what is older than two seconds")
        while time.monotonic() < waits:
            assert fleet.run("purge", "--older-than", f"{KEPT_S}s", "--send").startswith("0 documents")
        fleet.start_all("layout_worker")
        (record,) = fleet.parsed(1, seconds=120, idle_s=0.5)[name]
        assert (record["status"], record["totals"]["pages_ok"]) == ("success", 2)
        assert fleet.read(record["result"]), "what took long is there when it has ended"
        told: list[str] = []

        def purged() -> bool:
            told[:] = fleet.run("purge", "--older-than", f"{KEPT_S}s", "--send").splitlines()
            return told[-1].startswith("1 documents")

        until(purged, 60, f"the result goes two seconds after its end: {told}")


def why_not_ready(service: Service) -> str:
    try:
        service.get("/readyz")
        return ""
    except urllib.error.HTTPError as error:
        return error.read().decode()


def lines(service: Service) -> int:
    return len(service.log.read_bytes().splitlines())


def test_c21_a_broker_that_is_gone_is_waited_for_quietly_and_nothing_is_lost(tmp_path, kafka, s3) -> None:
    run = f"{time.time_ns():x}"
    names = [f"{run}-{number}" for number in range(DOCUMENTS)]
    with KafkaServer() as server, fleet_on(server, s3, tmp_path) as fleet:
        running = fleet.start_all("join", *STAGES)
        store(fleet, *names)
        for name in names:
            fleet.submit(name, f"{name}.pdf", tenant=run, options=FAST)
        assert fleet.records("docs.results", 1, seconds=60, idle_s=0), "work has begun"
        server.pause()
        back = time.monotonic() + AWAY_S
        for part in STAGES:
            until(
                lambda part=part: "broker" in why_not_ready(running[part]), 60, f"{part} says that the broker is away"
            )
        logged = {part: lines(service) for part, service in running.items()}
        while time.monotonic() < back:
            for service in running.values():
                service.get("/livez")  # raises where it would be restarted
            time.sleep(0.5)
        assert {part: service.process.poll() for part, service in running.items()} == dict.fromkeys(running)
        flood = {part: lines(service) - logged[part] for part, service in running.items()}
        assert all(count <= LINES_AWAY for count in flood.values()), flood
        server.start()
        parsed = fleet.parsed(DOCUMENTS, seconds=240, idle_s=3)
        assert {name: len(parsed.get(name, [])) for name in names} == dict.fromkeys(names, 1)
        assert {parsed[name][0]["status"] for name in names} == {"success"}
        assert fleet.records("docs.dlq", 0, seconds=5, idle_s=1) == []
        fleet.wait_ready(*running.values(), seconds=120)
