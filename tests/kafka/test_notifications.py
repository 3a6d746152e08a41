"""An object lands in an S3 server, the server tells Kafka, and the document comes out of docs.parsed: nobody submitted it."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator

import pytest

from tests.conftest import without
from tests.support.fleet import Fleet
from tests.support.pdfs import contents
from tests.support.processes import Missing
from tests.support.versitygw import VersityGateway

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]
RULES = [
    {"name": "no-notes", "suffixes": [".txt"], "accept": False},
    {"name": "native", "bucket": "incoming", "options": {"layout": "fast", "ocr": "off"}},
]


@pytest.fixture
def gateway(fresh_kafka) -> Iterator[VersityGateway]:
    try:
        with VersityGateway(fresh_kafka.bootstrap, "docs.incoming") as server:
            yield server
    except Missing as missing:
        without(missing)


def test_an_object_that_lands_is_parsed_and_its_twin_is_answered_from_the_cache(tmp_path, fresh_kafka, gateway):
    page = contents(["An invoice that nobody submitted", "Total 42"])
    with Fleet(tmp_path, fresh_kafka.bootstrap, gateway.endpoint, gateway.access_key, gateway.secret_key) as fleet:
        fleet.env["DOCFLEET_INGEST__RULES"] = json.dumps(RULES)
        fleet.start_all("join", "ingest", "layout_worker", "compose")

        def put(key: str, data: bytes) -> None:
            fleet.store.put_object("incoming", key, io.BytesIO(data), len(data))

        put("post/a b/发票+1%.pdf", page)
        put("post/readme.txt", b"nothing to parse")
        put("post/broken.pdf", b"%PDF-1.7 and no more")
        by_key = {records[0]["source"]["key"]: records for records in fleet.parsed(2, seconds=120, idle_s=2).values()}
        assert sorted(by_key) == ["post/a b/发票+1%.pdf", "post/broken.pdf"]
        assert {key: [r["status"] for r in records] for key, records in by_key.items()} == {
            "post/a b/发票+1%.pdf": ["success"],
            "post/broken.pdf": ["failure"],
        }
        assert by_key["post/broken.pdf"][0]["errors"][0]["code"] == "corrupt"
        (parsed,) = by_key["post/a b/发票+1%.pdf"]
        document = json.loads(fleet.read(parsed["result"]))
        assert document["blocks"][0]["text"].startswith("An invoice that nobody")

        began = time.time()
        put("post/twin.pdf", page)
        fleet.store.remove_object("incoming", "post/broken.pdf")
        twins = [
            r[0] for r in fleet.parsed(3, seconds=60, idle_s=2).values() if r[0]["source"]["key"] == "post/twin.pdf"
        ]
        assert [(twin["cached"], twin["status"]) for twin in twins] == [(True, "success")]
        assert twins[0]["timings"]["total_s"] < 1.0 or time.time() - began < 1.0

        other = contents(["Four at once"])
        for number in range(4):
            put(f"at-once/{number}.pdf", other)
        records = [r for r in fleet.parsed(7, seconds=90, idle_s=3).values() if "at-once/" in r[0]["source"]["key"]]
        assert sorted(record["source"]["key"] for record, *_ in records) == [f"at-once/{n}.pdf" for n in range(4)]
        assert [len(r) for r in records] == [1, 1, 1, 1]
        assert sorted(record["cached"] for record, *_ in records) == [False, True, True, True], "one is computed"
        letters = fleet.records("docs.dlq", 0, seconds=5, idle_s=1)
        codes = [dict(letter.headers())["dlt.error.code"] for letter in letters]
        assert codes == [b"corrupt"], "the fleet's own objects, told of by the server too, were no documents"
