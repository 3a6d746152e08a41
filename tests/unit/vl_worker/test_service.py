"""The stage: what it stores, what it announces, what it hands on, and what it never asks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.vl_worker.service import VlWorker
from services.vl_worker.wire import Answer, Call
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.contracts.layout import PageLayout, Reading
from shared.contracts.records import RangeMismatched, RecTask, RegionsRead, VlTask
from shared.objects import keys
from shared.settings import Objects, Settings, Vl
from shared.streams.stage import Delivery
from shared.vlm.profile import Bounds
from tests.support import pages as make
from tests.support.deliveries import delivered
from tests.unit.vl_worker import samples

pytestmark = pytest.mark.unit


class Client:
    """Stands for the client: answers in turn, the last one for ever."""

    def __init__(self) -> None:
        self.script: list[str | Answer | Exception] = ["said"]
        self.bodies: list[dict[str, Any]] = []
        self.away = False

    def check(self) -> None:
        if self.away:
            raise Unavailable("vl", "away")

    async def ask(self, call: Call, hopeless: Callable[[str], bool] | None = None) -> Answer:
        self.bodies.append(msgspec.json.decode(call.body))
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Answer) else Answer(text=said, finish_reason="stop")

    async def start(self) -> None: ...
    async def close(self) -> None: ...


class Pictures:
    """Stands for the page pictures: a page number in place of a JPEG, none for pages that are blank."""

    def __init__(self) -> None:
        self.blank: set[int] = set()
        self.bounds: list[Bounds] = []

    async def jpeg(self, layout: PageLayout, bbox: list[float] | None, bounds: Bounds) -> bytes | None:
        self.bounds.append(bounds)
        return None if layout.page_no in self.blank else f"page {layout.page_no}".encode()


def layout_of(page_no: int) -> PageLayout:
    text = make.region(0, "text", make.lines(60, 60, ["said"]), page_no=page_no, read_by="vl")
    table = make.region(1, "table", [], page_no=page_no, bbox=[60, 100, 500, 300], read_by="vl")
    return make.layout([text, table], page_no, picture_key=f"p{page_no}" if page_no != 4 else None)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[VlWorker]:
    settings = Settings(
        objects=Objects(kind="folder", folder=tmp_path), vl=Vl(endpoints=["http://127.0.0.1:1/v1"], model="served")
    )
    made = VlWorker(settings)
    made._client = Client()  # type: ignore[assignment]
    made._pictures = Pictures()  # type: ignore[assignment]
    for page_no in (1, 2, 3, 4):
        await made._store.put_once("docfleet", keys.layout("d", 0, page_no), encode(layout_of(page_no)))
    yield made
    await made._store.close()


def client(stage: VlWorker) -> Client:
    assert isinstance(stage._client, Client)
    return stage._client


def pictures(stage: VlWorker) -> Pictures:
    assert isinstance(stage._pictures, Pictures)
    return stage._pictures


def delivery(**fields: Any) -> Delivery[VlTask]:
    task = VlTask(
        **{
            "document_id": "d",
            "generation": 0,
            "mode": "region",
            "pages": [1],
            "task_id": "vl-t",
            "profile": "glm-ocr",
            "region_id": "p00001-r000",
            "kind": "text",
            "layout_sha256": sha256(encode(layout_of(1))),
            **fields,
        }
    )
    return delivered(task, lane=task.lane, topic="docs.vl")


async def stored(stage: VlWorker, page_no: int = 1) -> Reading:
    return decode(await stage._store.get("docfleet", keys.reading("d", 0, page_no, "vl-t")), Reading)


async def done(stage: VlWorker, **fields: Any) -> Any:
    (emit,) = await stage.process(delivery(**fields))
    return emit.record


UNLIMITED = {"mode": "range", "profile": "unlimited-ocr", "region_id": None, "kind": "page", "layout_sha256": None}


async def test_a_region_is_stored_announced_and_not_asked_for_again(stage: VlWorker) -> None:
    record = await done(stage)
    assert isinstance(record, RegionsRead)
    assert (record.pages, record.task_id, record.stage) == ([1], "vl-t", "vl")
    reading = await stored(stage)
    assert [(region.region_id, region.text, region.doubts) for region in reading.regions] == [
        ("p00001-r000", "said", [])
    ]
    assert (reading.models[0].name, reading.models[0].version[:8]) == ("served", "glm-ocr@")
    client(stage).away = True
    assert await done(stage) == record
    assert len(client(stage).bodies) == 1


async def test_while_no_server_answers_nothing_is_prepared(stage: VlWorker) -> None:
    client(stage).away = True
    with pytest.raises(Unavailable):
        await done(stage)
    assert pictures(stage).bounds == []


async def test_a_blank_region_is_answered_with_nothing_and_never_asked(stage: VlWorker) -> None:
    pictures(stage).blank = {1}
    assert isinstance(await done(stage), RegionsRead)
    (region,) = (await stored(stage)).regions
    assert (region.region_id, region.text, region.table) == ("p00001-r000", None, None)
    assert client(stage).bodies == []


@pytest.mark.parametrize(
    ("said", "truncated"),
    [
        (Answer(text="cut", finish_reason="length"), True),
        ("", False),
        (DocfleetError(ErrorCode.timeout, "late"), False),
    ],
)
async def test_what_cannot_be_believed_goes_to_the_small_models(stage: VlWorker, said: Any, truncated: bool) -> None:
    client(stage).script = [said]
    record = await done(stage, lane="bulk", deadline=9.0)
    assert isinstance(record, RecTask)
    assert (record.answers, record.regions, record.fallback_from) == ("vl-t", ["p00001-r000"], "glm-ocr")
    assert record.fallback_truncated is truncated
    assert (record.lane, record.deadline, record.layout_sha256) == ("bulk", 9.0, sha256(encode(layout_of(1))))
    assert not await stage._store.exists("docfleet", keys.reading("d", 0, 1, "vl-t"))


async def test_a_page_that_cannot_be_believed_goes_with_all_its_regions_and_the_stored_layout(stage: VlWorker) -> None:
    client(stage).script = [""]
    record = await done(stage, mode="page", region_id=None, layout_sha256=None, profile="deepseek-ocr-2")
    assert isinstance(record, RecTask)
    assert (record.regions, record.layout_sha256) == ([], sha256(encode(layout_of(1))))


async def test_a_document_may_name_another_profile_and_one_that_there_is_not(stage: VlWorker) -> None:
    client(stage).script = [samples.DEEPSEEK_PAGE]
    assert isinstance(
        await done(stage, mode="page", region_id=None, profile="deepseek-ocr-2", task_id="vl-t"), RegionsRead
    )
    assert client(stage).bodies[0]["model"] == "deepseek-ai/DeepSeek-OCR-2"
    record = await done(stage, profile="nobody", task_id="vl-u")
    assert isinstance(record, RecTask)
    assert record.fallback_error is not None
    assert "nobody" in record.fallback_error.message
    assert len(client(stage).bodies) == 1


async def test_a_region_that_is_not_in_the_layout_is_nobodys(stage: VlWorker) -> None:
    with pytest.raises(DocfleetError) as caught:
        await done(stage, region_id="p00001-r009")
    assert caught.value.code is ErrorCode.internal


async def test_a_range_is_one_request_and_a_reading_for_each_page(stage: VlWorker) -> None:
    client(stage).script = [samples.UNLIMITED_RANGE]
    record = await done(stage, pages=[1, 2], **UNLIMITED)
    assert isinstance(record, RegionsRead)
    assert record.pages == [1, 2]
    (body,) = client(stage).bodies
    assert len(body["messages"][0]["content"]) == 3
    assert {bounds.max_pixels for bounds in pictures(stage).bounds} == {1_048_576}
    texts = [[region.text for region in (await stored(stage, page_no)).regions] for page_no in (1, 2)]
    assert texts[1] == ["The second page."]
    assert "Total: 123.45 USD" in texts[0]
    assert (await stored(stage, 2)).regions[0].region_id == "p00002-v000"


async def test_blank_pages_of_a_range_are_not_shown_and_one_alone_is_asked_for_as_a_page(stage: VlWorker) -> None:
    pictures(stage).blank = {2}
    client(stage).script = [samples.UNLIMITED_PAGE]
    record = await done(stage, pages=[1, 2, 4], **UNLIMITED)  # page 4 has no picture at all
    assert isinstance(record, RegionsRead)
    (body,) = client(stage).bodies
    assert body["messages"][0]["content"][0]["text"] == "<image>\ndocument parsing."
    assert [len((await stored(stage, page_no)).regions) for page_no in (1, 2, 4)] == [6, 0, 0]


@pytest.mark.parametrize(
    "said",
    [
        f"<PAGE>{samples.UNLIMITED_PAGE}",
        samples.UNLIMITED_RANGE + "<PAGE>more",
        samples.UNLIMITED_PAGE,
        Answer(text=samples.UNLIMITED_RANGE, finish_reason="length"),
        "<PAGE>fine<PAGE>" + "round and round " * 100,
        DocfleetError(ErrorCode.timeout, "late"),
    ],
)
async def test_a_range_with_anything_wrong_goes_back_to_be_read_page_by_page(stage: VlWorker, said: Any) -> None:
    client(stage).script = [said]
    record = await done(stage, pages=[1, 2], **UNLIMITED)
    assert isinstance(record, RangeMismatched)
    assert (record.pages, record.task_id) == ([1, 2], "vl-t")
    assert len(client(stage).bodies) == 1
    assert not await stage._store.exists("docfleet", keys.reading("d", 0, 1, "vl-t"))


async def test_a_range_for_a_profile_that_reads_none_is_read_page_by_page(stage: VlWorker) -> None:
    record = await done(stage, pages=[1, 2], **{**UNLIMITED, "profile": "glm-ocr"})
    assert isinstance(record, RangeMismatched)
    assert client(stage).bodies == []


async def test_the_plain_service_is_asked_in_its_own_way(stage: VlWorker) -> None:
    client(stage).script = [Answer(text=samples.UNLIMITED_PAGE, finish_reason=None)]
    record = await done(stage, mode="page", region_id=None, profile="unlimited-ocr-npu")
    assert isinstance(record, RegionsRead)
    (body,) = client(stage).bodies
    assert set(body) >= {"image_base64", "prompt", "max_length"}
    assert "messages" not in body
