"""The stage `compose` with its real child processes on a folder store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.assembler.compose.service import Compose
from shared.contracts import ids
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.document import ParsedDocument, content_hash
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import CacheEntry, ComposedPage, DoneMark, Inspection, PageLayout, Reading, TaskError
from shared.contracts.records import (
    CloseDocument,
    ComposeDocument,
    ComposePage,
    DocumentComposed,
    DocumentFailed,
    PageComposed,
    PageFailed,
)
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from shared.streams.stage import Delivery
from tests.support import pages as make
from tests.support.deliveries import delivered
from tests.support.schema import assert_valid, assert_valid_document

pytestmark = pytest.mark.integration
BUCKET = "docfleet"
DOCUMENT_TASK = ids.document_task_id(0)


class World:
    """A stage, its store, and what other stages would have stored."""

    def __init__(self, folder: Path) -> None:
        objects = {"kind": "folder", "folder": str(folder), "bucket": BUCKET}
        self.settings = Settings.model_validate({"objects": objects})
        self.store = FolderStore(folder)
        self.stage = Compose(self.settings)

    async def put(self, key: str, value: Any) -> bytes:
        return await self.store.put_once(BUCKET, key, encode(value))

    async def inspection(self, total: int, **options: Any) -> Inspection:
        inspection = make.inspection(total, **options)
        await self.put(keys.inspection("d", 0), inspection)
        return inspection

    async def layout(self, layout: PageLayout) -> str:
        return sha256(await self.put(keys.layout("d", 0, layout.page_no), layout))

    async def reading(self, reading: Reading) -> None:
        await self.put(keys.reading("d", 0, reading.page_no, reading.task_id), reading)

    async def task_error(self, page_no: int, task_id: str, code: ErrorCode, phase: Phase) -> None:
        error = DocfleetError(code, "made for the test").info(phase, page_no)
        await self.put(keys.task_error("d", 0, page_no, task_id), TaskError(task_id=task_id, error=error))

    def delivery(self, record: Any) -> Delivery[Any]:
        raw = encode(record)
        assert self.stage.decode(raw, None) == record
        return delivered(record, key=b"d", topic="docs.compose", raw=raw)

    async def process(self, record: Any) -> Any:
        emits = await self.stage.process(self.delivery(record))
        assert all(emit.topic == "docs.results" and emit.key == "d" for emit in emits)
        return emits[0].record if emits else None

    async def page(self, page_no: int, **more: Any) -> PageComposed:
        task = ComposePage(
            document_id="d", generation=0, page_no=page_no, task_id=ids.task_id("compose", 0, [page_no]), **more
        )
        composed = await self.process(task)
        assert isinstance(composed, PageComposed)
        return composed

    async def document(self, total: int, **more: Any) -> tuple[DocumentComposed, ParsedDocument, str | None]:
        fields = {"selected": f"1-{total}", **more}
        task = ComposeDocument(document_id="d", generation=0, task_id=DOCUMENT_TASK, pages_total=total, **fields)
        composed = await self.process(task)
        assert isinstance(composed, DocumentComposed)
        assert_valid("document_composed", encode(composed))
        data = await self.store.get(BUCKET, composed.result.key)
        assert composed.result.sha256 == sha256(data)
        assert composed.result.bytes == len(data)
        markdown = None
        if composed.markdown is not None:
            text = await self.store.get(BUCKET, composed.markdown.key)
            assert composed.markdown.sha256 == sha256(text)
            markdown = text.decode()
        return composed, assert_valid_document(data), markdown


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    await world.store.ensure_bucket(BUCKET)
    await world.stage.start()
    yield world
    await world.stage.stop()
    await world.store.close()


async def test_a_native_page_and_a_read_page_become_a_document_that_is_cached(world: World) -> None:
    await world.inspection(2)
    await world.layout(
        make.layout(
            [
                make.region(0, "section_header", make.lines(60, 60, ["1 First"], size=16)),
                make.region(1, "text", make.lines(60, 100, ["Some words."])),
            ]
        )
    )
    scanned = make.region(0, "text", make.lines(60, 100, ["Read from a picture."]), page_no=2, read_by="rec")
    layout_sha256 = await world.layout(make.layout([scanned], 2, kind="scanned"))
    reading = make.reading(
        "rec-g0-p00002",
        [make.read_region(scanned, ["Read from a picture."])],
        2,
        layout_sha256=layout_sha256,
        seconds=0.5,
    )
    await world.reading(reading)

    first = await world.page(1)
    second = await world.page(2, readings=["rec-g0-p00002"])
    assert (first.status, second.status) == ("ok", "ok")
    stored = await world.store.get(BUCKET, keys.composed_page("d", 0, 2))
    assert second.sha256 == sha256(stored)
    assert_valid("composed_page", stored)
    assert decode(stored, ComposedPage).blocks[0].method == "det_rec"

    composed, document, markdown = await world.document(2)
    assert composed.status == document.status == "success"
    assert markdown == "## 1 First\n\nSome words.\n\nRead from a picture.\n"
    assert document.markdown.uri == keys.markdown("d", 0)
    assert document.totals.ocr_regions == 1
    assert document.timings.rec_s == 0.5
    assert document.timings.queue_s == 1.0
    assert document.lineage.options_hash == "o"

    assert await world.process(CloseDocument(document_id="d", generation=0, status="success")) is None
    assert decode(await world.store.get(BUCKET, keys.done("d")), DoneMark).status == "success"
    entry = decode(await world.store.get(BUCKET, keys.cache(None, "0" * 64, "o", "f")), CacheEntry)
    assert (entry.result, entry.markdown, entry.totals) == (composed.result, composed.markdown, composed.totals)


async def test_a_record_that_comes_again_gives_the_same_answer_and_other_workers_the_same_bytes(
    world: World, tmp_path: Path
) -> None:
    await world.inspection(1)
    await world.layout(make.layout([make.region(0, "text", make.lines(60, 100, ["Some words."]))]))
    first = await world.page(1)
    composed, _, _ = await world.document(1)
    assert await world.page(1) == first
    assert (await world.document(1))[0] == composed
    stored = await world.store.get(BUCKET, keys.document("d", 0))
    await world.store.remove(BUCKET, keys.document("d", 0))
    await world.store.remove(BUCKET, keys.composed_page("d", 0, 1))
    await world.page(1)
    await world.document(1)
    assert content_hash(await world.store.get(BUCKET, keys.document("d", 0))) == content_hash(stored)


async def test_every_page_is_listed_whatever_happened_to_it(world: World) -> None:
    await world.inspection(6)
    await world.layout(make.layout([make.region(0, "text", make.lines(60, 100, ["Good."]))]))
    await world.task_error(2, "layout-g0-p00002", ErrorCode.crashed, Phase.layout)
    await world.task_error(3, "compose-g0-p00003", ErrorCode.stalled, Phase.assemble)
    await world.layout(make.layout([], 4, kind="blank"))
    assert (await world.page(1)).status == "ok"
    assert (await world.page(2, laid_out=False, failed=["layout-g0-p00002"])).status == "failed"
    assert (await world.page(4)).status == "blank"
    composed, document, _ = await world.document(6, selected="1-5", unfinished="5")
    assert [page.status for page in document.pages] == ["ok", "failed", "failed", "blank", "failed", "skipped"]
    assert [(e.page_no, e.code, e.phase) for e in document.errors] == [
        (2, "crashed", "layout"),
        (3, "stalled", "assemble"),
        (5, "timeout", "assemble"),
    ]
    assert composed.status == document.status == "partial_success"
    assert composed.errors == document.errors
    await world.process(CloseDocument(document_id="d", generation=0, status="partial_success"))
    assert not await world.store.exists(BUCKET, keys.cache(None, "0" * 64, "o", "f"))


async def test_a_page_with_a_lost_reading_says_so_and_keeps_its_own_text(world: World) -> None:
    await world.inspection(1)
    own = make.region(0, "text", make.lines(60, 100, ["Own text."]))
    other = make.region(1, "text", make.lines(60, 200, ["?"]), read_by="rec")
    await world.layout(make.layout([own, other]))
    await world.task_error(1, "rec-g0-p00001", ErrorCode.timeout, Phase.rec)
    foreign = make.reading("rec-g0-p00001-x", [make.read_region(other, ["of another layout"])], layout_sha256="0" * 64)
    await world.reading(foreign)
    assert (await world.page(1, readings=["rec-g0-p00001-x"], failed=["rec-g0-p00001"])).status == "ok"
    composed, document, _ = await world.document(1)
    assert composed.status == "partial_success"
    assert {error.code for error in document.errors} == {"timeout", "internal"}
    assert [block.text for block in document.blocks] == ["Own text."]


async def test_no_page_at_all_is_a_failure_and_none_asked_for_a_success(world: World) -> None:
    await world.inspection(1)
    await world.task_error(1, "layout-g0-p00001", ErrorCode.corrupt, Phase.layout)
    await world.page(1, laid_out=False, failed=["layout-g0-p00001"])
    composed, document, _ = await world.document(1)
    assert composed.status == document.status == "failure"
    await world.store.remove(BUCKET, keys.document("d", 0))
    composed, document, _ = await world.document(1, selected="")
    assert composed.status == "success"
    assert [page.status for page in document.pages] == ["skipped"]


async def test_formats_decide_about_markdown_and_pictures_are_kept_when_asked_for(world: World) -> None:
    await world.inspection(1, formats=["json"], pictures=True)
    await world.layout(make.layout([make.region(0, "text", make.lines(60, 100, ["Words."]))], picture_key="x"))
    await world.store.put_once(BUCKET, keys.picture("d", 0, 1), b"jpeg", "image/jpeg")
    await world.page(1)
    composed, document, _ = await world.document(1)
    assert composed.markdown is None
    assert document.markdown.uri is None
    assert not await world.store.exists(BUCKET, keys.markdown("d", 0))
    assert document.pages[0].image_uri == keys.page_image("d", 0, 1)
    assert await world.store.get(BUCKET, keys.page_image("d", 0, 1)) == b"jpeg"


async def test_what_fails_is_said_in_the_right_record(world: World) -> None:
    await world.inspection(1)
    page = ComposePage(document_id="d", generation=0, page_no=1, task_id="compose-g0-p00001")
    with pytest.raises(DocfleetError) as raised:
        await world.stage.process(world.delivery(page))
    assert raised.value.code is ErrorCode.internal
    [emit] = await world.stage.failed(world.delivery(page), raised.value)
    assert isinstance(emit.record, PageFailed)
    assert emit.record.error.phase is Phase.assemble
    assert emit.record.error.page_no == 1
    stored = decode(await world.store.get(BUCKET, keys.task_error("d", 0, 1, "compose-g0-p00001")), TaskError)
    assert stored.error == emit.record.error

    whole = ComposeDocument(document_id="d", generation=0, task_id=DOCUMENT_TASK, pages_total=1, selected="1")
    [emit] = await world.stage.failed(world.delivery(whole), DocfleetError(ErrorCode.crashed, "x"))
    assert isinstance(emit.record, DocumentFailed)
    closing = CloseDocument(document_id="d", generation=0, status="failure")
    assert await world.stage.failed(world.delivery(closing), DocfleetError(ErrorCode.internal, "x")) == []


@pytest.mark.parametrize("gone", [keys.inspection("d", 0), keys.markdown("d", 0)])
async def test_what_ended_is_marked_also_when_something_of_it_was_removed_before(
    world: World, tmp_path: Path, gone: str
) -> None:
    await world.inspection(1)
    await world.layout(make.layout([make.region(0, "text", make.lines(60, 100, ["Some words."]))]))
    await world.page(1)
    await world.document(1)
    await world.store.remove(BUCKET, gone)
    other = Compose(world.settings)  # which remembers nothing of it
    await other.start()
    try:
        await other.process(world.delivery(CloseDocument(document_id="d", generation=0, status="success")))
    finally:
        await other.stop()
    assert decode(await world.store.get(BUCKET, keys.done("d")), DoneMark).status == "success"


async def test_an_older_generation_never_replaces_the_mark_of_a_newer_one(world: World) -> None:
    await world.process(CloseDocument(document_id="d", generation=2, status="failure"))
    await world.process(CloseDocument(document_id="d", generation=1, status="cancelled"))
    assert decode(await world.store.get(BUCKET, keys.done("d")), DoneMark).generation == 2


async def test_a_document_of_many_pages_travels_in_few_blocks(world: World) -> None:
    total = 2_000
    await world.inspection(total)
    template = make.page(make.layout([make.region(0, "text", make.lines(60, 100, ["Words of a page."]))]))
    for number in range(1, total + 1):
        block = msgspec.structs.replace(
            template.blocks[0],
            id=f"p{number:05d}-b000",
            text=f"Page number {number}.",
            prov=[msgspec.structs.replace(template.blocks[0].prov[0], page_no=number, char_span=None)],
        )
        page = msgspec.structs.replace(
            template, page=msgspec.structs.replace(template.page, page_no=number), blocks=[block]
        )
        await world.put(keys.composed_page("d", 0, number), page)
    composed, document, markdown = await world.document(total)
    assert composed.status == "success"
    assert len(document.pages) == len(document.blocks) == total
    assert markdown is not None
    assert markdown.splitlines()[-1] == f"Page number {total}."


async def test_tasks_that_were_lost_are_errors_that_name_them(world: World) -> None:
    await world.inspection(2)
    layout = make.layout([make.region(0, "text", make.lines(60, 100, ["Some words."]))])
    await world.layout(layout)
    rec = ids.task_id("rec", 0, [1])
    composed = await world.page(1, lost=[rec])
    assert composed.status == "ok", "what could be read is there"
    _, document, _ = await world.document(2, lost="2")
    assert document.status == "partial_success"
    assert [(e.code, e.phase, e.page_no) for e in document.errors] == [
        (ErrorCode.timeout, Phase.rec, 1),
        (ErrorCode.timeout, Phase.assemble, 2),
    ]
    assert rec in document.errors[0].message
    assert [page.status for page in document.pages] == ["ok", "failed"]
