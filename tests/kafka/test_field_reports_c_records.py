"""Field reports C8 and C9 on one fleet, Apache Kafka and an S3 server: records nobody can read, results too large for a record."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tests.support import topic
from tests.support.fleet import Fleet
from tests.support.kafka import KafkaServer
from tests.support.pdfs import Pdf, contents, text_at

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]
FAST = {"layout": "fast", "ocr": "off"}
PARTS = ("join", "ingest", "layout_worker", "compose")
PAGES = 300


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, kafka, s3) -> Iterator[Fleet]:
    kafka.reset()
    keys = s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    with Fleet(tmp_path_factory.mktemp("fleet"), kafka.bootstrap, s3.endpoint, *keys) as one:
        one.start_all(*PARTS)
        yield one


@pytest.fixture
def run() -> str:
    return f"{time.time_ns():x}"  # the store may hold what an earlier run left


def ended(fleet: Fleet, names: Iterable[str], seconds: float) -> dict[str, Any]:
    """Terminal records of these documents, by id; each has one."""
    wanted = set(names)
    deadline = time.monotonic() + seconds
    while True:
        found = {name: records for name, records in fleet.parsed(0, 30, idle_s=0.5).items() if name in wanted}
        if len(found) == len(wanted):
            assert {len(records) for records in found.values()} == {1}
            return {name: record for name, (record,) in found.items()}
        assert time.monotonic() < deadline, f"{len(wanted) - len(found)} have not ended"


def configure(bootstrap: str, name: str, **options: str) -> None:
    admin = KafkaServer(external=bootstrap).admin()
    entries = [
        ConfigEntry(k.replace("_", "."), v, incremental_operation=AlterConfigOpType.SET) for k, v in options.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def submit(fleet: Fleet, document: str, pages: list[str] | bytes) -> None:
    data = contents(pages) if isinstance(pages, list) else pages
    fleet.store.put_object("incoming", f"{document}.pdf", io.BytesIO(data), len(data))
    fleet.submit(document, f"{document}.pdf", tenant=document, options=FAST)


def dense(pages: int) -> bytes:
    """Full pages of short paragraphs, no two alike."""
    pdf = Pdf()
    for page in range(pages):
        lines = (
            text_at(
                50, 780 - 26 * n, f"Paragraph {n} of page {page} says {page * n:08d}, goes on for a while, and ends."
            )
            for n in range(28)
        )
        pdf.page("".join(lines))
    return pdf.bytes()


def test_c8_what_nobody_can_read_is_kept_with_its_reason_and_what_is_behind_goes_on(fleet, run) -> None:
    configure(fleet.bootstrap, "docs.incoming", max_message_bytes="6000000")
    noise = os.urandom(5_000_000)
    stale = json.dumps({"type": "DocumentSubmitted", "schema_version": "9.0.0", "document_id": run}).encode()
    writer = topic.Writer(fleet.bootstrap)
    for value in (None, b"not-json {{{", stale, noise):
        writer.write("docs.incoming", value, key=b"a key", headers=[("mine", b"\x00\x01")], partition=0)
    writer.flush()
    submit(fleet, f"behind-{run}", ["what is behind"])
    letters = fleet.records("docs.dlq", 4, seconds=90, idle_s=2)
    assert len(letters) == 4
    heads = [dict(letter.headers()) for letter in letters]
    assert {head["dlt.error.code"] for head in heads} == {b"invalid_message"}
    assert all(head["dlt.error.message"] for head in heads)
    assert {letter.key() for letter in letters} == {b"a key"}
    assert {head["mine"] for head in heads} == {b"\x00\x01"}
    by_offset = {int(head["dlt.original.offset"]): letter for head, letter in zip(heads, letters, strict=True)}
    assert [by_offset[n].value() for n in range(3)] == [None, b"not-json {{{", stale]
    # Too large for any record of ours: the letter says where it lies and how large it is, and that its value is not there.
    assert by_offset[3].value() is None
    assert dict(by_offset[3].headers())["dlt.value.omitted"] == b"5000000"
    assert ended(fleet, [f"behind-{run}"], 90)[f"behind-{run}"]["status"] == "success"
    listed = [json.loads(line) for line in fleet.run("dlq", "list", "--json").splitlines()]
    assert sorted(one["code"] for one in listed) == ["invalid_message"] * 4


def test_c9_a_result_of_megabytes_travels_as_a_reference(fleet, run) -> None:
    before = len(fleet.records("docs.dlq", 0, seconds=5, idle_s=1))
    submit(fleet, f"long-{run}", dense(PAGES))
    record = ended(fleet, [f"long-{run}"], 240)[f"long-{run}"]
    assert (record["status"], record["totals"]["pages_ok"]) == ("success", PAGES)
    result = record["result"]
    data = fleet.read(result)
    assert len(data) > 1_500_000, "more than a broker takes as one record"
    assert result["sha256"] == hashlib.sha256(data).hexdigest()
    for name in ("docs.parsed", "docs.results", "docs.compose", "docs.pages.bulk", "docs.progress"):
        sizes = [len(m.value() or b"") for m in fleet.records(name, 1, seconds=20, idle_s=1)]
        assert sizes, name
        assert max(sizes) < 20_000, name
    assert len(fleet.records("docs.dlq", 0, seconds=5, idle_s=1)) == before
