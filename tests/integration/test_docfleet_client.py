"""The client against a broker and a store; the fleet's part is played by the test."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from confluent_kafka import Consumer, Producer

from docfleet import Client
from shared.contracts import records as r
from shared.contracts.codec import decode, encode
from shared.contracts.document import Block, Lineage, Page, ParsedDocument, Provenance
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.contracts.layout import ComposedPage
from shared.contracts.options import Options
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.clients import producer_config, reader_config
from shared.streams.local import LocalBroker

pytestmark = pytest.mark.integration


@pytest.fixture
def settings(tmp_path):
    with LocalBroker() as broker:
        yield Settings(
            kafka={"embedded": True, "bootstrap_servers": broker.bootstrap_servers},
            objects={"kind": "folder", "folder": tmp_path / "objects"},
        )


def _read(settings: Settings, topic: str, count: int) -> list:
    consumer = Consumer({**reader_config(settings, "test"), "enable.partition.eof": False})
    try:
        consumer.subscribe([topic])
        return consumer.consume(count, timeout=15)
    finally:
        consumer.close()


def _publish(settings: Settings, topic: str, *recs: r.DocumentParsed | r.DocumentProgress) -> None:
    producer = Producer(producer_config(settings))
    for record in recs:
        producer.produce(topic, key=record.document_id, value=encode(record))
    assert producer.flush(10) == 0


def _parsed(document_id: str, **more) -> r.DocumentParsed:
    return r.DocumentParsed(
        document_id=document_id, generation=0, status="success", source=r.SourceInfo(bucket="b", key="k"), **more
    )


def _put(settings: Settings, key: str, value) -> None:
    async def put() -> None:
        store = open_store(settings)
        await store.ensure_bucket(settings.objects.bucket)
        await store.put_once(settings.objects.bucket, key, encode(value) if not isinstance(value, bytes) else value)
        await store.close()

    asyncio.run(put())


def test_a_file_is_uploaded_and_announced_with_the_headers_of_every_record(settings, tmp_path):
    (tmp_path / "a b.pdf").write_bytes(b"%PDF-1.7")
    with Client(settings) as client:
        done = client.submit(tmp_path / "a b.pdf", options=Options(ocr="force"), document_id="one", priority="bulk")
        assert client.background.run(client.store.get(done.source.bucket, done.source.key)) == b"%PDF-1.7"
    (message,) = _read(settings, "docs.incoming", 1)
    record = decode(message.value(), r.DocumentSubmitted)
    assert (record.document_id, record.options.ocr, record.priority, record.source) == (
        "one",
        "force",
        "bulk",
        done.source,
    )
    assert record.source.key.endswith("/a b.pdf")
    assert message.key() == b"one"
    headers = dict(message.headers())
    assert headers["ce_type"] == b"DocumentSubmitted"
    assert headers["traceparent"].startswith(b"00-")


def test_objects_are_named_and_not_copied(settings):
    with Client(settings) as client:
        done = client.submit("s3://invoices/2026/a b.pdf")
    assert (done.source.bucket, done.source.key) == ("invoices", "2026/a b.pdf")
    assert len(done.document_id) == 32


def test_results_come_each_once_and_only_ours(settings):
    with Client(settings) as client:
        for name in ("a", "b"):
            client.submit("s3://x/y", document_id=name)
        _publish(settings, "docs.parsed", _parsed("other"), _parsed("b"), _parsed("b"), _parsed("a"))
        assert sorted(record.document_id for record in client.results(timeout_s=20)) == ["a", "b"]
        assert list(client.results(timeout_s=1)) == []


def test_waiting_and_progress(settings):
    with Client(settings) as client:
        client.submit("s3://x/y", document_id="a")
        assert client.progress("a") is None
        report = r.DocumentProgress(
            document_id="a", generation=0, state="open", pages_total=4, pages_done=3, pages_failed=0, pages_ready="", updated_at=datetime.now(UTC)
        )  # fmt: skip
        _publish(settings, "docs.progress", report)
        with pytest.raises(TimeoutError):
            client.wait("a", timeout_s=1.5)
        assert client.progress("a") == report
        _publish(settings, "docs.parsed", _parsed("a"))
        assert client.wait("a", timeout_s=20).document_id == "a"
        with pytest.raises(KeyError):
            client.wait("a")


def test_a_tombstone_and_a_foreign_record_are_passed_over(settings):
    with Client(settings) as client:
        client.submit("s3://x/y", document_id="a")
        producer = Producer(producer_config(settings))
        producer.produce("docs.parsed", key="a", value=None)
        producer.produce("docs.parsed", key="a", value=b"garbage")
        producer.flush(10)
        _publish(settings, "docs.parsed", _parsed("a"))
        assert client.wait("a", timeout_s=20).status == "success"


def test_cancel_goes_to_the_control_topic(settings):
    with Client(settings) as client:
        client.cancel("a", generation=2)
    (message,) = _read(settings, "docs.control", 1)
    record = decode(message.value(), r.CancelDocument)
    assert (record.document_id, record.generation, message.key()) == ("a", 2, b"a")


def test_documents_and_pages_are_typed_and_the_latest_generation_is_read(settings):
    page = Page(page_no=1, width=1, height=1, unit="pt", status="ok", kind="native")
    for generation in (0, 2, 10):
        document = ParsedDocument(
            document_id="a",
            generation=generation,
            source=r.SourceInfo(bucket="b", key="k"),
            status="success",
            pages=[page],
            lineage=Lineage(pipeline_version="", pipeline_fingerprint="", options_hash=""),
        )
        _put(settings, keys.document("a", generation), document)
    _put(settings, keys.markdown("a", 2), "# é".encode())
    for number in (2, 1):
        composed = ComposedPage(document_id="a", generation=0, page=page, blocks=[])
        _put(settings, keys.composed_page("a", 0, number), composed)
    with Client(settings) as client:
        assert client.document("a").generation == 10
        assert client.document("a", 2).generation == 2
        assert client.markdown("a") == "# é"
        assert [composed.page for composed in client.pages("a", follow=False)] == [page, page]
        with pytest.raises(DocfleetError) as raised:
            client.document("nobody")
        assert raised.value.code is ErrorCode.source_missing


def test_pages_of_a_document_answered_from_the_cache_are_those_of_its_result(settings):
    pages = [Page(page_no=n, width=10, height=10, unit="pt", status="ok", kind="native") for n in (1, 2)]
    over = [Provenance(page_no=1, bbox=[1, 8, 9, 9]), Provenance(page_no=2, bbox=[1, 1, 9, 2])]
    blocks = [
        Block(id="b1", order=0, label="text", raw_label="text", prov=over, text="from one page to the next"),
        Block(id="b2", order=1, label="text", raw_label="text", prov=over[1:], text="below it"),
    ]
    document = ParsedDocument(
        document_id="copy",
        generation=0,
        source=r.SourceInfo(bucket="b", key="k"),
        status="success",
        pages=pages,
        blocks=blocks,
        lineage=Lineage(pipeline_version="", pipeline_fingerprint="", options_hash=""),
    )
    _put(settings, keys.document("copy", 0), document)
    _put(settings, keys.envelope("copy", 0), b"{}")  # all that ingest stores of work when the cache has the answer
    with Client(settings) as client:
        found = list(client.pages("copy", follow=False))
        assert [(page.document_id, page.page.page_no) for page in found] == [("copy", 1), ("copy", 2)]
        assert [[block.id for block in page.blocks] for page in found] == [["b1"], ["b2"]]
        assert client.page("copy", 2) == found[1]
        with pytest.raises(DocfleetError) as raised:
            client.page("copy", 3)
        assert raised.value.code is ErrorCode.source_missing


def test_a_broker_that_is_away_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("docfleet.feed.CONNECT_S", 0.5)
    settings = Settings(
        kafka={"bootstrap_servers": "127.0.0.1:1"}, objects={"kind": "folder", "folder": tmp_path / "objects"}
    )
    with Client(settings) as client, pytest.raises(Unavailable, match="bootstrap_servers"):
        client.submit("s3://x/y")
