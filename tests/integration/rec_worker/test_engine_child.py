"""The real engine child: calls at once share batches, and nobody's text depends on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from services.rec_worker.call import PageRead, PageToRead
from shared.children.block import Block
from shared.children.child import Child
from shared.contracts.codec import encode
from shared.contracts.layout import TextLine
from shared.models.install import install
from shared.settings import Engines, Rec, Settings
from tests.integration.rec_worker.drawing import SCALE, page_of, region_of, without_blanks
from tests.support.networks import READING

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

WORDS = ["Total", "No. 7", "Date", "Paid", "Item", "Unit", "Net", "Page", "VAT 8%", "Sum"]


def call_of(document: str, picture: npt.NDArray[np.uint8], lines: list[TextLine]) -> PageToRead:
    height, width = picture.shape[:2]
    return PageToRead(
        document_id=document,
        page_no=1,
        width=width / SCALE,
        height=height / SCALE,
        picture=(width, height),
        regions=[region_of(picture, lines)],
    )


async def read(child: Child, call: PageToRead, picture: npt.NDArray[np.uint8]) -> PageRead:
    with Block.of(picture) as block:
        answer, _ = await child.call("read", call, [block], returns=PageRead)
    return answer


def texts_of(answer: PageRead) -> list[str]:
    return [line.text for region in answer.regions for line in region.lines]


@pytest.fixture
async def child(request: pytest.FixtureRequest) -> AsyncIterator[Child]:
    kind = getattr(request, "param", "auto")
    settings = Settings(engines=Engines(kind=kind, streams=2), rec=Rec(crop_cache=0, linger_ms=20))
    install(settings.engines.models, READING)
    child = Child("services.rec_worker.program:create", settings, name="rec-engine", call_timeout_s=120, threads=8)
    await child.start()
    yield child
    await child.close()


async def test_it_reads_english_and_chinese(child: Child) -> None:
    texts = ["Packages which are essential, 2026", "文档智能解析系统", "Invoice 1,234.50"]
    answer = await read(child, *call_and_picture("d", texts))
    assert [without_blanks(text) for text in texts_of(answer)] == [without_blanks(text) for text in texts]
    assert all(line.confidence > 0.9 for line in answer.regions[0].lines)
    assert answer.crops == 3
    assert sum(fact.items for fact in answer.facts) == 3


def call_and_picture(document: str, texts: list[str]) -> tuple[PageToRead, npt.NDArray[np.uint8]]:
    picture, lines = page_of(texts)
    return call_of(document, picture, lines), picture


async def test_a_batch_holds_crops_of_at_least_three_documents(child: Child) -> None:
    """Pages of eight documents with a few short lines, no two of a width: a batch of four can't be filled by one of them."""
    texts = {f"document {n}": [f"{n}{n}", f"Total {n}", f"Invoice No. {n}"] for n in range(8)}
    pages = [call_and_picture(*each) for each in texts.items()]
    pages = [(msgspec.structs.replace(call, coming=7 - n), picture) for n, (call, picture) in enumerate(pages)]
    answers = await asyncio.gather(*(read(child, *page) for page in pages))
    for expected, answer in zip(texts.values(), answers, strict=True):
        assert [without_blanks(text) for text in texts_of(answer)] == [without_blanks(text) for text in expected]
    facts = [fact for answer in answers for fact in answer.facts]
    asked = sum(answer.crops for answer in answers)  # with second looks
    assert sum(fact.items for fact in facts) == asked >= 8 * 3, "every crop went in exactly one batch"
    assert max(fact.documents for fact in facts) >= 3


@pytest.mark.parametrize("child", ["openvino", "onnxruntime"], indirect=True)
async def test_a_page_reads_the_same_alone_and_among_fifty_others(child: Child) -> None:
    texts = [f"{word} {n}" for n, word in enumerate(WORDS)] + [
        "This line is long enough to have a bucket of its own, nearly the whole width",
        "规格型号与备注",
        "middling length line",
    ]
    page = call_and_picture("mine", texts)
    alone = await read(child, *page)
    others = [call_and_picture(f"other {n}", [f"{n}{word}" for word in WORDS[n % 5 :: 3]]) for n in range(50)]
    answers = await asyncio.gather(*(read(child, *each) for each in (*others[:4], page, *others[4:])))
    among = answers[4]
    assert max(fact.documents for answer in answers for fact in answer.facts) >= 2, "they did share batches"

    def written(answer: PageRead) -> bytes:
        lines = [msgspec.structs.replace(line, confidence=0.0) for line in answer.regions[0].lines]
        return encode(msgspec.structs.replace(answer.regions[0], lines=lines, confidence=None))

    assert written(among) == written(alone)
    # A kernel for one line and one for four may add up in another order: 1e-6 in f32, more in bf16.
    for mine, again in zip(alone.regions[0].lines, among.regions[0].lines, strict=True):
        assert again.confidence == pytest.approx(mine.confidence, abs=0.02)


async def test_a_region_without_lines_is_looked_at(child: Child) -> None:
    picture, _ = page_of(["Nobody said where this stands", "nor this"])
    answer = await read(child, call_of("d", picture, []), picture)
    assert [without_blanks(text) for text in texts_of(answer)] == ["Nobodysaidwherethisstands", "northis"]


async def test_a_line_on_its_head_among_upright_ones_is_read(child: Child) -> None:
    texts = ["The first line stands upright", "the second one was turned around", "文档智能解析系统处理文件"]
    picture, lines = page_of(texts)
    for line in lines[1:]:
        x0, y0, x1, y1 = (round(value * SCALE) for value in line.bbox)
        picture[y0:y1, x0:x1] = picture[y0:y1, x0:x1][::-1, ::-1].copy()
    answer = await read(child, call_of("d", picture, lines), picture)
    assert [without_blanks(text) for text in texts_of(answer)] == [without_blanks(text) for text in texts]


async def test_a_child_worn_by_memory_is_replaced_and_no_page_is_lost() -> None:
    """Every child is over so low a mark after its first answer; its other calls still end in it."""
    settings = Settings(engines=Engines(streams=2), rec=Rec(crop_cache=0))
    child = Child(
        "services.rec_worker.program:create",
        settings,
        name="rec-engine",
        call_timeout_s=120,
        threads=2,
        recycle_bytes=2**20,
    )
    await child.start()
    first = child.pid
    try:
        texts = [[f"page number {n}", f"line two of {n}"] for n in range(6)]
        answers = await asyncio.gather(*(read(child, *call_and_picture(f"d{n}", each)) for n, each in enumerate(texts)))
        assert child.pid != first
    finally:
        await child.close()
    for expected, answer in zip(texts, answers, strict=True):
        assert [without_blanks(text) for text in texts_of(answer)] == [without_blanks(text) for text in expected]
