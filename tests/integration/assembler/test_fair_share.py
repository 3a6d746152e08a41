"""Long documents that are being composed delay a short one by their share of the child at most, however many they are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.lib.assembly import page_layout
from services.assembler.compose.service import DOCUMENTS_AT_ONCE, Compose
from shared.contracts.codec import encode
from shared.contracts.ids import document_task_id, task_id
from shared.contracts.options import Lane
from shared.contracts.records import ComposeDocument, ComposePage
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from tests.support import pages as make
from tests.support.deliveries import delivered

pytestmark = [pytest.mark.integration, pytest.mark.slow]

BUCKET = "docfleet"
LONG, SHORT = 500, 10
LONG_ONES = DOCUMENTS_AT_ONCE + 1
"""More than the child has places for."""


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Compose]:
    store = FolderStore(tmp_path)
    await store.ensure_bucket(BUCKET)
    pages = {number: encode(make.page(page_layout(number), number)) for number in range(1, LONG + 1)}
    for number in range(SHORT):
        await put_document(store, f"short-{number}", pages, SHORT)
    for number in range(LONG_ONES):
        await put_document(store, f"long-{number}", pages, LONG)
    settings = Settings.model_validate({"objects": {"kind": "folder", "folder": str(tmp_path), "bucket": BUCKET}})
    stage = Compose(settings)
    await stage.start()
    yield stage
    await stage.stop()
    await store.close()


async def put_document(store: FolderStore, name: str, pages: dict[int, bytes], total: int) -> None:
    """What ingest and the pages' stages stored."""
    inspection = replace(make.inspection(total), document_id=name)
    await store.put_once(BUCKET, keys.inspection(name, 0), encode(inspection))
    await store.put_once(BUCKET, keys.layout(name, 0, SHORT), encode(page_layout(SHORT)))
    for number in range(1, total + (total > SHORT)):  # the last page of a short one is composed in the test
        await store.put_once(BUCKET, keys.composed_page(name, 0, number), pages[number])


def document(stage: Compose, name: str, pages: int, lane: Lane) -> asyncio.Task[float]:
    """Composes a document; how long that took, seconds."""

    async def composed() -> float:
        began = time.monotonic()
        task = ComposeDocument(
            document_id=name,
            generation=0,
            task_id=document_task_id(0),
            pages_total=pages,
            selected=f"1-{pages}",
            lane=lane,
        )
        await stage.process(delivered(task, topic="docs.compose", lane=lane))
        return time.monotonic() - began

    return asyncio.create_task(composed())


async def page(stage: Compose, name: str) -> float:
    """Composes a page that was not composed yet; how long that took, seconds."""
    began = time.monotonic()
    task = ComposePage(document_id=name, generation=0, page_no=SHORT, task_id=task_id("compose", 0, [SHORT]))
    await stage.process(delivered(task, topic="docs.compose"))
    return time.monotonic() - began


async def test_short_documents_and_pages_pass_long_documents(stage: Compose) -> None:
    alone = max([await document(stage, f"short-{number}", SHORT - 1, "first") for number in range(3)])
    long_ones = [document(stage, f"long-{number}", LONG, "bulk") for number in range(LONG_ONES)]
    await asyncio.sleep(0.5)  # they are in the child now, or reading their pages
    assert not any(one.done() for one in long_ones)
    beside = [await document(stage, f"short-{number}", SHORT - 1, "first") for number in range(3, 8)]
    pages = [await page(stage, f"short-{number}") for number in (8, 9)]
    still = sum(not one.done() for one in long_ones)
    long_s = [await one for one in long_ones]
    print(
        f"alone {alone:.3f} s, beside {max(beside):.3f} s, pages {max(pages):.3f} s, long {max(long_s):.1f} s, {still} left"
    )
    assert still == LONG_ONES, "the long ones were at work all the time"
    # Its share among DOCUMENTS_AT_ONCE is a fourth; what it waits for the interpreter and the store comes on top, a long one never does.
    assert sorted(beside)[len(beside) // 2] < max(
        10 * alone, 1.0
    )  # the median: on a busy machine one of five may wait for a core
    assert max(beside) < min(long_s) / 3
    assert max(pages) < min(long_s) / 3
