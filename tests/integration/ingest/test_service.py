"""ingest against a folder store and a real document child: what a submission becomes."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.ingest.service import Ingest
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.document import Lineage, ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import CacheEntry, Inspection
from shared.contracts.records import DocumentCached, DocumentOpened, DocumentRejected, ObjectRef
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from shared.streams.stage import Delivery
from tests.support.deliveries import delivered

pytestmark = pytest.mark.integration
SAMPLES = Path(__file__).parents[3] / "samples"
BUCKET = "docfleet"


@pytest.fixture
async def ingest(tmp_path, monkeypatch) -> AsyncIterator[Ingest]:
    monkeypatch.setenv("DOCFLEET_OBJECTS__KIND", "folder")
    monkeypatch.setenv("DOCFLEET_OBJECTS__FOLDER", str(tmp_path / "store"))
    stage = Ingest(Settings())
    await stage.start()
    yield stage
    await stage.stop()


@pytest.fixture
def store(tmp_path) -> FolderStore:
    return FolderStore(tmp_path / "store")


def delivery(stage: Ingest, **fields: object) -> Delivery:
    raw = encode({"source": {"bucket": "in", "key": "a.pdf"}} | fields)
    return delivered(stage.decode(raw, None), key=b"k", timestamp=time.time(), trace_id="0" * 32, raw=raw)


async def test_a_pdf_is_opened_and_everything_later_stages_need_is_stored(ingest, store):
    await store.put_file("in", "a.pdf", SAMPLES / "sample.pdf")
    (emit,) = await ingest.process(delivery(ingest, document_id="d1", options={"pages": "2-"}))
    assert isinstance(emit.record, DocumentOpened)
    assert (emit.topic, emit.key) == ("docs.results", "d1")
    assert (emit.record.pages_total, emit.record.selected, emit.record.lane) == (4, "2-4", "first")
    stored = decode(await store.get(BUCKET, keys.inspection("d1", 0)), Inspection)
    assert stored.source.sha256 == sha256((SAMPLES / "sample.pdf").read_bytes())
    assert stored.source.mime_type == "application/pdf"
    assert [(page.width, page.height) for page in stored.pages] == [(595, 842)] * 4
    assert stored.vl_profile is None


@pytest.mark.parametrize(
    ("options", "env", "size"),
    [
        ({"vl": "document", "vl_profile": "unlimited-ocr"}, {}, 8),
        ({"vl": "document", "vl_profile": "unlimited-ocr"}, {"RANGE_PAGES": "3"}, 3),
        ({"vl": "document", "vl_profile": "unlimited-ocr"}, {"RANGE_PAGES": "0"}, 0),
        ({"vl": "document", "vl_profile": "unlimited-ocr", "ocr": "off"}, {}, 0),
        ({"vl": "document"}, {}, 0),
        ({"vl": "document"}, {"PROFILE": "unlimited-ocr"}, 8),
        ({"vl": "page", "vl_profile": "unlimited-ocr"}, {}, 0),
        ({"vl": "document", "vl_profile": "nobody"}, {}, 0),
    ],
)
async def test_ranges_of_pages_are_as_long_as_the_profile_or_the_setting_says(
    tmp_path, store, monkeypatch, options, env, size
):
    monkeypatch.setenv("DOCFLEET_OBJECTS__KIND", "folder")
    monkeypatch.setenv("DOCFLEET_OBJECTS__FOLDER", str(tmp_path / "store"))
    monkeypatch.setenv("DOCFLEET_VL__ENDPOINTS", '["http://127.0.0.1:1/v1"]')
    for name, value in env.items():
        monkeypatch.setenv(f"DOCFLEET_VL__{name}", value)
    await store.put_file("in", "a.pdf", SAMPLES / "page.pdf")
    stage = Ingest(Settings())
    try:
        (emit,) = await stage.process(delivery(stage, document_id="d1", options=options))
    finally:
        await stage.stop()
    assert emit.record.range_size == size


async def test_the_same_submission_again_is_the_same_answer(ingest, store):
    await store.put_file("in", "a.pdf", SAMPLES / "page.pdf")
    first = await ingest.process(delivery(ingest, document_id="d1"))
    again = await ingest.process(delivery(ingest, document_id="d1"))
    assert first[0].record == again[0].record


async def test_an_object_without_an_id_is_named_by_place_and_version(ingest, store):
    await store.put("in", "a.pdf", (SAMPLES / "page.pdf").read_bytes())
    (one,) = await ingest.process(delivery(ingest))
    await store.put("in", "a.pdf", (SAMPLES / "page.pdf").read_bytes() + b"\n% changed")
    (two,) = await ingest.process(delivery(ingest))
    assert one.key != two.key


async def refusal(stage: Ingest, **fields: object) -> tuple[ErrorCode, list]:
    given = delivery(stage, **fields)
    with pytest.raises(DocfleetError) as caught:
        await stage.process(given)
    return caught.value.code, await stage.failed(given, caught.value)


async def test_what_cannot_be_opened_is_rejected_with_its_code(ingest, store):
    await store.put("in", "empty", b"")
    await store.put("in", "noise", b"\x01\x02\x03" * 100)
    for key, code in [
        ("missing", ErrorCode.source_missing),
        ("empty", ErrorCode.empty_file),
        ("noise", ErrorCode.unsupported_type),
    ]:
        got, emits = await refusal(ingest, document_id=key, source={"bucket": "in", "key": key})
        assert got is code
        assert isinstance(emits[0].record, DocumentRejected)
        assert emits[0].record.error.code is code


async def test_an_object_replaced_after_its_event_is_source_changed(ingest, store):
    await store.put_file("in", "a.pdf", SAMPLES / "page.pdf")
    source = {"bucket": "in", "key": "a.pdf", "etag": "of-another-one"}
    assert (await refusal(ingest, document_id="d", source=source))[0] is ErrorCode.source_changed


async def test_an_id_that_belongs_to_another_source_is_a_conflict_and_answers_nothing(ingest, store):
    await store.put_file("in", "a.pdf", SAMPLES / "page.pdf")
    await store.put_file("in", "b.pdf", SAMPLES / "scan.pdf")
    await ingest.process(delivery(ingest, document_id="d"))
    code, emits = await refusal(ingest, document_id="d", source={"bucket": "in", "key": "b.pdf"})
    assert code is ErrorCode.conflict
    assert emits == []


async def test_an_overdue_submission_is_rejected_and_one_that_is_not_due_goes_back(ingest, store):
    assert (await refusal(ingest, document_id="d", deadline="2020-01-01T00:00:00Z"))[0] is ErrorCode.timeout
    due = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3_600))
    (emit,) = await ingest.process(delivery(ingest, document_id="d", not_before=due))
    assert emit.topic == "docs.incoming.bulk"


async def test_limits_are_kept(tmp_path, store, monkeypatch):
    monkeypatch.setenv("DOCFLEET_OBJECTS__KIND", "folder")
    monkeypatch.setenv("DOCFLEET_OBJECTS__FOLDER", str(tmp_path / "store"))
    monkeypatch.setenv("DOCFLEET_LIMITS__MAX_PAGES", "3")
    monkeypatch.setenv("DOCFLEET_LIMITS__MAX_FILE_BYTES", "600000")
    monkeypatch.setenv("DOCFLEET_OBJECTS__SOURCES", '["in"]')
    stage = Ingest(Settings())
    await store.put_file("in", "a.pdf", SAMPLES / "sample.pdf")
    await store.put("in", "big", b"x" * 600_001)
    await store.put_file("elsewhere", "a.pdf", SAMPLES / "page.pdf")
    assert (await refusal(stage, document_id="d1"))[0] is ErrorCode.too_large
    assert (await refusal(stage, document_id="d2", source={"bucket": "in", "key": "big"}))[0] is ErrorCode.too_large
    refused = await refusal(stage, document_id="d3", source={"bucket": "elsewhere", "key": "a.pdf"})
    assert refused[0] is ErrorCode.source_missing
    await stage.stop()


async def test_content_that_was_parsed_before_is_answered_with_a_copy_of_its_own(ingest, store):
    await store.put_file("in", "a.pdf", SAMPLES / "page.pdf")
    await ingest.process(delivery(ingest, document_id="first"))
    inspection = decode(await store.get(BUCKET, keys.inspection("first", 0)), Inspection)
    lineage = Lineage(
        pipeline_version="1", pipeline_fingerprint=inspection.pipeline_fingerprint, options_hash=inspection.options_hash
    )
    parsed = ParsedDocument(
        document_id="first", generation=0, source=inspection.source, status="success", lineage=lineage
    )
    await store.put_once(BUCKET, keys.document("first", 0), encode(parsed))
    entry = CacheEntry(
        document_id="first",
        generation=0,
        source=inspection.source,
        result=ObjectRef(bucket=BUCKET, key=keys.document("first", 0)),
    )
    key = keys.cache(None, inspection.source.sha256 or "", inspection.options_hash, inspection.pipeline_fingerprint)
    await store.put_once(BUCKET, key, encode(entry))

    await store.put_file("in", "twin.pdf", SAMPLES / "page.pdf")
    twin = {"bucket": "in", "key": "twin.pdf"}
    (hit,) = await ingest.process(delivery(ingest, document_id="second", source=twin))
    assert isinstance(hit.record, DocumentCached)
    copy = decode(await store.get(BUCKET, hit.record.result.key), ParsedDocument)
    assert (copy.document_id, copy.source.key) == ("second", "twin.pdf")
    for others in [
        {"generation": 1},
        {"tenant": "t", "document_id": "third"},
        {"options": {"ocr": "off"}, "document_id": "f"},
    ]:
        (miss,) = await ingest.process(delivery(ingest, **({"document_id": "second", "source": twin} | others)))
        assert isinstance(miss.record, DocumentOpened), others
