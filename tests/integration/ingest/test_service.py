"""ingest against a folder store and a real document child: what a submission becomes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.ingest.service import Ingest
from shared.children.preference import in_lane
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.document import Lineage, ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import CacheEntry, DoneMark, Inspection
from shared.contracts.records import DocumentCached, DocumentOpened, DocumentRejected, ObjectRef
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from shared.streams.stage import Delivery
from tests.support.deliveries import delivered
from tests.support.ending import end

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
        mark = decode(await store.get(BUCKET, keys.done(key)), DoneMark)
        assert (mark.generation, mark.status) == (0, "failure"), "reconcile would submit it for ever"


async def test_a_document_that_ended_stays_so_when_its_object_is_gone(ingest, store):
    parsed = DoneMark(document_id="d", generation=0, status="success")
    await store.put(BUCKET, keys.done("d"), encode(parsed))
    await refusal(ingest, document_id="d", source={"bucket": "in", "key": "gone"})
    assert decode(await store.get(BUCKET, keys.done("d")), DoneMark) == parsed


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
    assert decode(await store.get(BUCKET, keys.done("second")), DoneMark).status == "success"
    for others in [
        {"generation": 1},
        {"tenant": "t", "document_id": "third"},
        {"options": {"ocr": "off"}, "document_id": "f"},
    ]:
        (miss,) = await ingest.process(delivery(ingest, **({"document_id": "second", "source": twin} | others)))
        assert isinstance(miss.record, DocumentOpened), others


def event(stage: Ingest, key: str, bucket: str = "in", **found: object) -> Delivery:
    """A bucket notification."""
    s3 = {"bucket": {"name": bucket}, "object": {"key": key, **found}}
    raw = encode({"Records": [{"eventVersion": "2.0", "eventName": "s3:ObjectCreated:Put", "s3": s3}]})
    return delivered(stage.decode(raw, None), key=b"k", timestamp=time.time(), raw=raw)


async def test_an_object_that_is_announced_before_it_is_whole_is_read_when_it_is(ingest, store):
    data = (SAMPLES / "page.pdf").read_bytes()
    await store.put("in", "a.pdf", data[:2_000])
    answer = asyncio.create_task(ingest.process(event(ingest, "a.pdf", size=len(data))))
    await asyncio.sleep(0.15)
    await store.put("in", "a.pdf", data)
    (emit,) = await answer
    assert isinstance(emit.record, DocumentOpened)
    stat = await store.stat("in", "a.pdf")
    assert (emit.record.source.etag, emit.record.source.size) == (stat.etag, len(data))


async def test_an_object_replaced_between_look_and_read_is_looked_at_again(ingest, store, monkeypatch):
    await store.put_file("in", "a.pdf", SAMPLES / "page.pdf")
    download, reads = ingest._store.download, []

    async def replaced(bucket, key, target, **pins):
        if not reads:
            reads.append(await store.put_file("in", "a.pdf", SAMPLES / "sample.pdf"))
        return await download(bucket, key, target, **pins)

    monkeypatch.setattr(ingest._store, "download", replaced)
    (emit,) = await ingest.process(delivery(ingest, document_id="d1"))
    assert (emit.record.source.etag, emit.record.pages_total) == (reads[0].etag, 4)
    stored = decode(await store.get(BUCKET, keys.inspection("d1", 0)), Inspection)
    assert stored.source.sha256 == sha256((SAMPLES / "sample.pdf").read_bytes())


async def test_one_event_three_times_at_once_is_one_answer(ingest, store):
    stat = await store.put_file("in", "a.pdf", SAMPLES / "page.pdf")
    answers = await asyncio.gather(*(ingest.process(event(ingest, "a.pdf", eTag=stat.etag)) for _ in range(3)))
    assert answers[0] == answers[1] == answers[2]
    assert isinstance(answers[0][0].record, DocumentOpened)


async def test_rules_hold_for_events_and_for_whole_records(tmp_path, store):
    rules = [
        {"name": "no-notes", "suffixes": [".txt"], "accept": False},
        {"name": "acme", "prefix": "acme/", "tenant": "acme", "options": {"pages": "2-3"}, "priority": "bulk"},
    ]
    stage = Ingest(Settings(objects={"kind": "folder", "folder": tmp_path / "store"}, ingest={"rules": rules}))
    try:
        await store.put_file("in", "acme/a.pdf", SAMPLES / "sample.pdf")
        assert await stage.process(event(stage, "gone.txt")) == []
        assert await stage.failed(event(stage, "gone.txt"), DocfleetError(ErrorCode.crashed, "x")) == []
        (moved,) = await stage.process(event(stage, "acme/a.pdf"))
        assert moved.topic == "docs.incoming.bulk", "patient documents are not looked at among those of people who wait"
        raw = encode(moved.record)
        with in_lane("bulk"):
            (emit,) = await stage.process(
                delivered(stage.decode(raw, b"k"), key=b"k", timestamp=time.time(), trace_id="0" * 32, raw=raw)
            )
        assert (emit.record.lane, emit.record.selected) == ("bulk", "2-3")
        inspection = decode(await store.get(BUCKET, keys.inspection(emit.record.document_id, 0)), Inspection)
        assert inspection.tenant == "acme"
        source = {"bucket": "in", "key": "acme/a.pdf"}
        code, emits = await refusal(stage, document_id="spy", source=source, tenant="other")
        assert code is ErrorCode.source_missing
        assert isinstance(emits[0].record, DocumentRejected)
    finally:
        await stage.stop()


@pytest.mark.parametrize("key", ["work/d/0/00001.jpg", "parsed/d/0/document.json", "done/d", "cache/-/x/y"])
async def test_the_fleets_own_outputs_never_become_its_inputs(ingest, store, key):
    await store.put(BUCKET, key, b"x")
    assert await ingest.process(event(ingest, key, bucket=BUCKET)) == []


async def test_results_of_others_are_no_documents_to_read(ingest, store):
    await store.put_file(BUCKET, "parsed/of-somebody/0/images/p00001.pdf", SAMPLES / "page.pdf")
    await store.put_file(BUCKET, "inbox/mine.pdf", SAMPLES / "page.pdf")
    spying = {"bucket": BUCKET, "key": "parsed/of-somebody/0/images/p00001.pdf"}
    assert (await refusal(ingest, document_id="spy", source=spying))[0] is ErrorCode.source_missing
    (emit,) = await ingest.process(
        delivery(ingest, document_id="mine", source={"bucket": BUCKET, "key": "inbox/mine.pdf"})
    )
    assert isinstance(emit.record, DocumentOpened)


@pytest.mark.parametrize("tenant", ["..", "a/../../b", "-", "", "租户" * 60, "\x00"])
async def test_a_tenant_of_any_name_has_a_cache_of_its_own(ingest, store, tenant):
    await store.put_file("in", "a.pdf", SAMPLES / "page.pdf")
    await ingest.process(delivery(ingest, document_id="first"))
    await end(store, BUCKET, "first")
    for document_id in ("second", "third"):
        (emit,) = await ingest.process(delivery(ingest, document_id=document_id, tenant=tenant))
        assert isinstance(emit.record, DocumentCached if document_id == "third" else DocumentOpened)
        if document_id == "second":
            await end(store, BUCKET, "second")


async def test_what_a_killed_ingest_had_fetched_is_removed_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead = tmp_path / "docfleet-ingest-dead"
    dead.mkdir()
    (dead / "source").write_bytes(b"of a document")
    settings = Settings(objects={"kind": "folder", "folder": tmp_path / "store"})
    living = Ingest(settings)
    beside = Ingest(settings)
    assert not dead.exists()
    assert len(list(tmp_path.glob("docfleet-ingest-*"))) == 2
    for stage in (living, beside):
        await stage.stop()
    assert list(tmp_path.glob("docfleet-*")) == []
