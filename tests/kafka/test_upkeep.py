"""The upkeep of a fleet on Apache Kafka and an S3 server: a lost event found, a document erased, consumed records trimmed, and work goes on."""

from __future__ import annotations

import io
import json
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.fleet import Fleet
from tests.support.pdfs import contents

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]


def begins(fleet: Fleet, topic: str) -> int:
    """First offsets of a topic's partitions, summed: how many records were deleted."""
    consumer = Consumer({"bootstrap.servers": fleet.bootstrap, "group.id": "look"})
    try:
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        return sum(consumer.get_watermark_offsets(TopicPartition(topic, p), 10)[0] for p in partitions)
    finally:
        consumer.close()


def tombstones(fleet: Fleet, key: str, seconds: float = 30) -> int:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = [m for m in fleet.records("docs.parsed", 1, seconds=10, idle_s=1) if m.key().decode() == key]
        if found and found[-1].value() is None:
            return sum(m.value() is None for m in found)
    raise AssertionError(f"no tombstone of {key}")


def test_reconcile_erase_and_trim(tmp_path, fresh_kafka, s3):
    run = f"{time.time_ns():x}"
    place = f"upkeep-{run}"
    with Fleet(
        tmp_path, fresh_kafka.bootstrap, s3.endpoint, s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    ) as fleet:
        rule = {"name": "native", "bucket": place, "options": {"layout": "fast", "ocr": "off"}, "tenant": run}
        fleet.env["DOCFLEET_INGEST__RULES"] = json.dumps([rule])
        fleet.store.make_bucket(place)
        for name in ("one", "two"):
            data = contents([f"Document {name} of {run}"])
            fleet.store.put_object(place, f"{name}.pdf", io.BytesIO(data), len(data))
        fleet.start_all("join", "ingest", "layout_worker", "compose")

        assert "2 new" in fleet.run("reconcile", "--bucket", place, "--older-than", "0s", "--send")
        parsed = {r[0]["source"]["key"]: r[0] for r in fleet.parsed(2, seconds=90, idle_s=2).values()}
        assert {key: record["status"] for key, record in parsed.items()} == {"one.pdf": "success", "two.pdf": "success"}
        deadline = time.monotonic() + 30
        while "2 done" not in (said := fleet.run("reconcile", "--bucket", place, "--older-than", "0s")):
            assert time.monotonic() < deadline, said

        document = parsed["one.pdf"]["document_id"]
        assert f"erased {document}" in fleet.run("erase", document)
        assert tombstones(fleet, document) == 1
        prefixes = (f"work/{document}/", f"parsed/{document}/")
        assert [o.object_name for p in prefixes for o in fleet.store.list_objects("docfleet", p, recursive=True)] == []
        assert fleet.read(parsed["two.pdf"]["result"])

        assert begins(fleet, "docs.results") == 0
        assert "records" in fleet.run("topics", "trim", "--send")
        assert begins(fleet, "docs.results") > 0
        assert begins(fleet, "docs.pages") == 2
        data = contents([f"After the trim of {run}"])
        fleet.store.put_object(place, "three.pdf", io.BytesIO(data), len(data))
        said = fleet.run("submit", f"s3://{place}/three.pdf", "--wait", "--layout", "fast", "--ocr", "off")
        assert "three.pdf  success" in said
        said = fleet.run("reconcile", "--bucket", place, "--older-than", "0s")
        assert "0 new" in said, "what was erased is not submitted again"
        # A restart after a trim: the groups find their places.
        for service in fleet.services:
            if service.part in ("join", "ingest"):
                service.terminate()
        fleet.start_all("join", "ingest")
