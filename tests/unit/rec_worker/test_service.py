"""The stage: what it stores, what it announces, what a task that comes again costs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.rec_worker import service
from services.rec_worker.batcher import Flush
from services.rec_worker.call import BatchFact, PageRead, PageToRead
from services.rec_worker.service import RecWorker
from shared.children.block import Block
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import PageLayout, Reading, ReadLine, Region, RegionReading, TaskError
from shared.contracts.records import PageFailed, RecTask, RegionsRead
from shared.engines.open import profile
from shared.objects import keys
from shared.settings import Engines, Objects, Settings, Stage
from shared.streams.stage import Delivery
from shared.telemetry import metrics
from tests.support.deliveries import delivered
from tests.support.schema import assert_valid

pytestmark = pytest.mark.unit

BUCKET = "docfleet"


class Engine:
    """Stands for the engine child: notes its calls and reads every region as its id."""

    def __init__(self) -> None:
        self.calls: list[PageToRead] = []
        self.pixels: list[bytes] = []

    async def call(self, method: str, page: PageToRead, blocks: Sequence[Block], *, returns: type) -> Any:
        assert (method, returns) == ("read", PageRead)
        self.calls.append(page)
        self.pixels += [block.tobytes() for block in blocks]
        regions = [
            RegionReading(
                region_id=region.region_id,
                method="det_rec",
                model="reader@1",
                confidence=0.9,
                lines=[ReadLine(bbox=region.bbox, text=region.region_id, confidence=0.9)],
            )
            for region in page.regions
        ]
        fact = BatchFact(bucket=128, items=4, room=4, documents=3, width=400, flush=Flush.full, seconds=0.01)
        return PageRead(regions=regions, crops=5, cache_hits=1, facts=[fact]), []

    async def start(self) -> None: ...
    async def close(self) -> None: ...


class Documents:
    """Stands for the document child: a picture of 4 x 2 pixels whose values are the bytes' first."""

    async def decode(self, jpeg: Block) -> tuple[int, int, Block]:
        return 4, 2, Block.of(jpeg.tobytes()[:1] * 24)

    async def start(self) -> None: ...
    async def close(self) -> None: ...


def region(number: int, read_by: str) -> Region:
    return Region(
        region_id=f"p00002-r{number:03d}",
        label="text",
        raw_label="text",
        bbox=[0, 0, 10, 10],
        confidence=1.0,
        found_by="model",
        read_by=read_by,  # type: ignore[arg-type]
    )


LAYOUT = PageLayout(
    document_id="d",
    generation=1,
    page_no=2,
    width=100,
    height=50,
    unit="pt",
    kind="scanned",
    picture_key="work/d/1/00002.jpg",
    regions=[region(0, "rec"), region(1, "vl"), region(2, "native"), region(3, "rec")],
)
TASK = RecTask(
    document_id="d", generation=1, page_no=2, task_id="rec-g1-p00002", layout_sha256=sha256(encode(LAYOUT)), lane="bulk"
)


def delivery(task: RecTask = TASK) -> Delivery[RecTask]:
    return delivered(task, lane=task.lane, key=b"d/2", topic="docs.rec")


def changed(**more: Any) -> Delivery[RecTask]:
    return delivery(msgspec.structs.replace(TASK, **more))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[RecWorker]:
    settings = Settings(objects=Objects(kind="folder", folder=tmp_path, bucket=BUCKET), engines=Engines(streams=1))
    stage = RecWorker(settings)
    stage._engine = Engine()  # type: ignore[assignment]
    stage._documents = Documents()  # type: ignore[assignment]
    await stage._store.put_once(BUCKET, keys.layout("d", 1, 2), encode(LAYOUT))
    await stage._store.put_once(BUCKET, "work/d/1/00002.jpg", b"\x07jpeg", "image/jpeg")
    await stage.start()
    yield stage
    await stage.stop()


def engine(stage: RecWorker) -> Engine:
    return stage._engine  # type: ignore[return-value]


async def stored(stage: RecWorker, task_id: str) -> Reading:
    data = await stage._store.get(BUCKET, keys.reading("d", 1, 2, task_id))
    assert_valid("reading", data)
    return decode(data, Reading)


async def test_a_task_without_names_reads_what_is_routed_to_rec(stage: RecWorker) -> None:
    (emit,) = await stage.process(delivery())
    assert (emit.topic, emit.key) == ("docs.results", "d")
    assert emit.record == RegionsRead(document_id="d", generation=1, pages=[2], task_id="rec-g1-p00002", stage="rec")
    reading = await stored(stage, "rec-g1-p00002")
    assert [read.region_id for read in reading.regions] == ["p00002-r000", "p00002-r003"]
    assert (reading.layout_sha256, reading.cache_hits) == (TASK.layout_sha256, 1)
    (call,) = engine(stage).calls
    assert (call.document_id, call.width, call.height, call.picture, call.lane) == ("d", 100, 50, (4, 2), "bulk")
    assert engine(stage).pixels == [b"\x07" * 24]


async def test_a_task_that_comes_again_is_announced_and_not_read(stage: RecWorker) -> None:
    first = await stage.process(delivery())
    assert await stage.process(delivery()) == first
    assert len(engine(stage).calls) == 1


async def test_a_stand_in_answers_the_vl_task(stage: RecWorker) -> None:
    again = changed(task_id="rec-x", answers="vl-x", regions=["p00002-r001"], fallback_from="glm-ocr")
    (emit,) = await stage.process(again)
    assert isinstance(emit.record, RegionsRead)
    assert (emit.record.task_id, emit.record.stage) == ("vl-x", "vl")
    reading = await stored(stage, "vl-x")
    assert reading.task_id == "vl-x"
    assert [read.region_id for read in reading.regions] == ["p00002-r001"]
    assert engine(stage).calls[0].fallback_from == "glm-ocr"


@pytest.mark.parametrize(("truncated", "code"), [(True, "vl_truncated"), (False, "vl_fallback")])
async def test_a_stand_in_says_in_the_region_why_it_stands_in(stage: RecWorker, truncated: bool, code: str) -> None:
    error = DocfleetError(ErrorCode.model_unavailable, "the answer was cut").info(Phase.vl, 2)
    task = changed(
        task_id="rec-x", answers="vl-x", fallback_from="glm-ocr", fallback_error=error, fallback_truncated=truncated
    )
    await stage.process(task)
    (region,) = (await stored(stage, "vl-x")).regions
    (doubt,) = region.doubts
    assert doubt.code == code
    assert doubt.message == "read by the recogniser in place of glm-ocr: the answer was cut"


async def test_a_stand_in_for_a_whole_page_reads_what_was_routed_to_vl(stage: RecWorker) -> None:
    await stage.process(changed(task_id="rec-x", answers="vl-p"))
    assert [each.region_id for each in engine(stage).calls[0].regions] == ["p00002-r001"]


@pytest.mark.parametrize("wrong", [{"layout_sha256": "0" * 64}, {"regions": ["p00002-r009"]}])
async def test_a_task_that_does_not_fit_the_layout_is_a_conflict(stage: RecWorker, wrong: dict[str, Any]) -> None:
    with pytest.raises(DocfleetError) as raised:
        await stage.process(changed(**wrong))
    assert (raised.value.code, raised.value.page_no) == (ErrorCode.conflict, 2)
    assert engine(stage).calls == []


async def test_a_missing_layout_is_a_typed_error(stage: RecWorker) -> None:
    with pytest.raises(DocfleetError) as raised:
        await stage.process(changed(page_no=3))
    assert raised.value.code is ErrorCode.source_missing


async def test_a_failure_is_stored_once_and_announced(stage: RecWorker) -> None:
    (emit,) = await stage.failed(delivery(), DocfleetError(ErrorCode.crashed, "it fell over"))
    assert isinstance(emit.record, PageFailed)
    assert (emit.record.task_id, emit.record.pages, emit.record.error.code) == ("rec-g1-p00002", [2], ErrorCode.crashed)
    data = await stage._store.get(BUCKET, keys.task_error("d", 1, 2, "rec-g1-p00002"))
    assert_valid("task_error", data)
    assert decode(data, TaskError).error == emit.record.error
    (again,) = await stage.failed(delivery(), DocfleetError(ErrorCode.internal, "another reason"))
    assert again == emit, "the first reason stays"


async def test_a_failure_after_a_stored_reading_announces_the_reading(stage: RecWorker) -> None:
    first = await stage.process(delivery())
    assert await stage.failed(delivery(), DocfleetError(ErrorCode.crashed, "later")) == first


async def test_batches_of_the_child_are_counted_here(stage: RecWorker) -> None:
    def value(metric: Any, suffix: str, **labels: str) -> float:
        samples = [s for family in metric.collect() for s in family.samples]
        return next((s.value for s in samples if s.name.endswith(suffix) and s.labels == labels), 0.0)

    def seen() -> tuple[float, ...]:
        return (
            value(metrics.REC_BATCHES, "batches_total", flush="full"),
            value(metrics.REC_BATCH_CROPS, "_sum"),
            value(metrics.REC_BATCH_DOCUMENTS, "_sum"),
            value(metrics.REC_BATCH_FILL, "_sum"),
            value(metrics.REC_CROPS, "crops_total"),
            value(metrics.REC_CACHE_HITS, "hits_total"),
        )

    before = seen()
    await stage.process(delivery())
    assert [round(after - was, 4) for after, was in zip(seen(), before, strict=True)] == [1, 4, 3, 0.7812, 5, 1]


async def test_the_same_page_of_another_document_costs_no_call(stage: RecWorker) -> None:
    await stage.process(delivery())
    twin = msgspec.structs.replace(LAYOUT, document_id="e", picture_key="work/e/1/00002.jpg")
    await stage._store.put_once(BUCKET, keys.layout("e", 1, 2), encode(twin))
    await stage._store.put_once(BUCKET, "work/e/1/00002.jpg", b"\x07jpeg", "image/jpeg")
    await stage.process(changed(document_id="e", layout_sha256=sha256(encode(twin)), lane="first"))
    assert len(engine(stage).calls) == 1
    data = await stage._store.get(BUCKET, keys.reading("e", 1, 2, "rec-g1-p00002"))
    again, first = decode(data, Reading), await stored(stage, "rec-g1-p00002")
    assert (again.regions, again.document_id, again.cache_hits) == (first.regions, "e", 5)


def test_foreign_bytes_are_an_invalid_message(tmp_path: Path) -> None:
    stage = RecWorker(Settings(objects=Objects(kind="folder", folder=tmp_path)))
    assert stage.decode(encode(TASK), b"d/2") == TASK
    with pytest.raises(DocfleetError) as raised:
        stage.decode(b"\xff\x00", None)
    assert raised.value.code is ErrorCode.invalid_message


@pytest.mark.parametrize(("in_flight", "wanted"), [(256, 128), (32, 32)])
def test_pages_in_the_engine_child_are_the_engine_s_choice_up_to_the_stage_s_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_flight: int, wanted: int
) -> None:
    wide = msgspec.structs.replace(profile(Engines()), calls_per_stream=64)
    monkeypatch.setattr(service, "profile", lambda engines: wide)
    settings = Settings(
        objects=Objects(kind="folder", folder=tmp_path, bucket=BUCKET),
        engines=Engines(streams=2),
        stages={"rec_worker": Stage(max_in_flight=in_flight)},
    )
    assert RecWorker(settings)._places._total == wanted
