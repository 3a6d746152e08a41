"""What a client hears of a document that nothing new is published of: submitted again, or under an id that is taken."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer

from docfleet import Client
from shared.contracts import records as r
from shared.contracts.codec import encode
from shared.contracts.document import Lineage, Markdown, ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import DoneMark
from shared.objects import keys
from shared.settings import Settings
from shared.streams.clients import producer_config
from shared.streams.local import LocalBroker

pytestmark = pytest.mark.integration


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("docfleet.waiting.LOOK_S", 0.2)
    with LocalBroker() as broker:
        settings = Settings(
            kafka={"embedded": True, "bootstrap_servers": broker.bootstrap_servers},
            objects={"kind": "folder", "folder": tmp_path / "objects"},
        )
        with Client(settings) as client:
            client.background.run(client.store.ensure_bucket(settings.objects.bucket))
            yield client


def _put(client: Client, key: str, value) -> None:
    client.background.run(client.store.put(client.settings.objects.bucket, key, encode(value)))


def _publish(client: Client, record: r.DocumentParsed) -> None:
    producer = Producer(producer_config(client.settings))
    producer.produce("docs.parsed", key=record.document_id, value=encode(record))
    assert producer.flush(10) == 0


def _parsed(document_id: str, generation: int) -> r.DocumentParsed:
    source = r.SourceInfo(bucket="b", key="k")
    return r.DocumentParsed(document_id=document_id, generation=generation, status="success", source=source)


def test_a_document_that_had_ended_before_is_answered_from_the_store(client: Client):
    source = r.SourceInfo(bucket="x", key="y", sha256="00")
    document = ParsedDocument(
        document_id="a",
        generation=0,
        source=source,
        status="partial_success",
        markdown=Markdown(uri=keys.markdown("a", 0)),
        totals=r.Totals(pages=3, pages_ok=2),
        lineage=Lineage(pipeline_version="", pipeline_fingerprint="", options_hash=""),
    )
    submitted = client.submit("s3://x/y", document_id="a")
    _put(client, keys.envelope("a", 0), r.DocumentSubmitted(source=submitted.source, document_id="a"))
    _put(client, keys.document("a", 0), document)
    _put(client, keys.done("a"), DoneMark(document_id="a", generation=0, status="partial_success"))
    record = client.wait("a", timeout_s=20)
    assert (record.status, record.source, record.totals) == ("partial_success", source, document.totals)
    assert record.result is not None
    assert record.result.key == keys.document("a", 0)
    assert record.markdown == r.ObjectRef(bucket=client.settings.objects.bucket, key=keys.markdown("a", 0))
    assert client.document("a").status == "partial_success"


def test_of_a_failure_or_a_removed_document_the_mark_is_all_there_is(client: Client):
    client.submit("s3://x/y", document_id="a")
    _put(client, keys.done("a"), DoneMark(document_id="a", generation=0, status="failure"))
    (record,) = client.results(timeout_s=20)
    assert (record.status, record.result, record.source.key) == ("failure", None, "y")


def test_another_source_under_an_id_that_is_taken_is_a_conflict(client: Client):
    _put(
        client,
        keys.envelope("a", 0),
        r.DocumentSubmitted(source=r.SourceRef(bucket="x", key="other"), document_id="a"),
    )
    _put(client, keys.done("a"), DoneMark(document_id="a", generation=0, status="success"))
    client.submit("s3://x/y", document_id="a")
    client.submit("s3://x/z", document_id="b")
    with pytest.raises(DocfleetError, match="another source") as raised:
        client.wait("a", timeout_s=20)
    assert raised.value.code is ErrorCode.conflict
    _publish(client, _parsed("b", 0))
    assert [record.document_id for record in client.results(timeout_s=20)] == ["b"]


def test_an_earlier_attempt_is_no_answer_to_a_later_one(client: Client):
    client.submit("s3://x/y", document_id="a", generation=1)
    _publish(client, _parsed("a", 0))
    _put(client, keys.done("a"), DoneMark(document_id="a", generation=0, status="failure"))
    with pytest.raises(TimeoutError):
        client.wait("a", timeout_s=2)
    _publish(client, _parsed("a", 1))
    assert client.wait("a", timeout_s=20).generation == 1


def test_an_end_that_nobody_took_is_not_that_of_the_next_attempt(client: Client):
    client.submit("s3://x/y", document_id="a")
    _publish(client, _parsed("a", 0))
    deadline = time.monotonic() + 20
    while not client.poll():
        assert time.monotonic() < deadline
    client.submit("s3://x/y", document_id="a", generation=1)
    _publish(client, _parsed("a", 1))
    assert client.wait("a", timeout_s=20).generation == 1


def test_another_file_of_the_same_name_replaces_nothing(client: Client, tmp_path: Path):
    path = tmp_path / "a.pdf"
    path.write_bytes(b"one")
    first = client.submit(path, document_id="a")
    assert client.submit(path, document_id="a").source.key == first.source.key
    path.write_bytes(b"another")
    second = client.submit(path, document_id="a", generation=1)
    assert client.background.run(client.store.get(first.source.bucket, first.source.key)) == b"one"
    assert client.background.run(client.store.get(second.source.bucket, second.source.key)) == b"another"


def test_a_name_that_is_no_text_is_submitted_all_the_same(client: Client, tmp_path: Path):
    path = Path(str(tmp_path) + "/\udcff\udcfe.pdf")
    path.write_bytes(b"%PDF-1.7")
    assert client.submit(path).source.key.endswith("/\ufffd\ufffd.pdf")


@pytest.mark.parametrize(
    "wrong",
    [
        {"document_id": "no id/.."},
        {"generation": -1},
        {"priority": "urgent"},
        {"tenant": "t" * 200},
        {"deadline": datetime(2026, 1, 1)},  # without a zone
        {"tenant": "\udcff"},
    ],
)
def test_what_no_reader_would_understand_is_told_and_nothing_is_uploaded(client: Client, tmp_path: Path, wrong):
    path = tmp_path / "a.pdf"
    path.write_bytes(b"one")
    with pytest.raises(DocfleetError) as raised:
        client.submit(path, **wrong)
    assert raised.value.code is ErrorCode.invalid_message
    assert not list((tmp_path / "objects").rglob("a.pdf"))


def test_a_cancel_of_what_is_no_document_is_told(client: Client):
    with pytest.raises(DocfleetError, match="document id"):
        client.cancel("no id/..")
