"""The same content under many ids, at once: it is computed once, and every id has an answer of its own."""

from __future__ import annotations

import asyncio
import io
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from services.ingest import twins
from services.ingest.service import Ingest
from shared.contracts.codec import decode, encode
from shared.contracts.document import ParsedDocument
from shared.contracts.layout import Inspection
from shared.contracts.records import DocumentCached, DocumentOpened, DocumentSubmitted
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from tests.support.deliveries import delivered
from tests.support.ending import end

pytestmark = pytest.mark.integration
BUCKET = "docfleet"


def picture(number: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 8), (number % 256, number // 256, 7)).save(out, "PNG")
    return out.getvalue()


@asynccontextmanager
async def stage(folder: Path, **ingest: object) -> AsyncIterator[Ingest]:
    one = Ingest(Settings(objects={"kind": "folder", "folder": folder}, ingest=ingest))  # type: ignore[arg-type]
    await one.start()
    try:
        yield one
    finally:
        await one.stop()


async def answer(ingest: Ingest, submission: DocumentSubmitted) -> DocumentOpened | DocumentCached | DocumentSubmitted:
    raw = encode(submission)
    (emit,) = await ingest.process(delivered(ingest.decode(raw, b"k"), key=b"k", timestamp=time.time(), raw=raw))
    if isinstance(emit.record, DocumentSubmitted):
        assert emit.topic == "docs.incoming.bulk", "what waits is in nobody's way"
    return emit.record


async def test_200_contents_under_600_ids_at_once_are_computed_200_times(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    submissions = []
    for number in range(600):
        stat = await store.put("in", f"{number}.png", picture(number % 200))
        source = {"bucket": "in", "key": f"{number}.png", "etag": stat.etag}
        submissions.append(msgspec.convert({"source": source, "document_id": f"d{number}"}, DocumentSubmitted))
    random.Random(5).shuffle(submissions)
    opened: Counter[str] = Counter()
    records: dict[str, DocumentOpened | DocumentCached] = {}
    limit = asyncio.Semaphore(32)

    async def lead(ingest: Ingest, submission: DocumentSubmitted) -> None:
        """A submission until it has a terminal answer, as the topic would bring it again."""
        while True:
            async with limit:
                record = await answer(ingest, msgspec.structs.replace(submission, not_before=None))
            if not isinstance(record, DocumentSubmitted):
                break
            assert record.not_before is not None
            await asyncio.sleep(0.05)  # not the 0.5 s it asks for: this is about who computes
        if isinstance(record, DocumentOpened):
            opened[record.document_id] += 1
            await asyncio.sleep(0.3)
            await end(store, BUCKET, record.document_id)
        assert record.document_id not in records
        records[record.document_id] = record

    async with AsyncExitStack() as stack:
        stages = [await stack.enter_async_context(stage(tmp_path)) for _ in range(3)]
        await asyncio.gather(*(lead(stages[n % 3], one) for n, one in enumerate(submissions)))
        assert len(records) == 600
        assert opened.total() == 200
        for submission in submissions:
            record = records[submission.document_id or ""]
            assert record.source.key == submission.source.key
            if isinstance(record, DocumentCached):
                copy = decode(await store.get(BUCKET, record.result.key), ParsedDocument)
                assert (copy.document_id, copy.source.key) == (submission.document_id, submission.source.key)
        # All of them once more: each has the answer it had, which the join knows already.
        for submission in submissions[::12]:
            again = await answer(stages[0], submission)
            before = records[submission.document_id or ""]
            assert type(again) is type(before)
            assert again.document_id == before.document_id
        began = time.monotonic()
        source = {"bucket": "in", "key": "7.png"}
        late = msgspec.convert({"source": source, "document_id": "late"}, DocumentSubmitted)
        assert isinstance(await answer(stages[1], late), DocumentCached)
        assert time.monotonic() - began < 1.0


async def submitted(store: FolderStore, name: str, **fields: object) -> DocumentSubmitted:
    await store.put_once("in", name, picture(1))
    return msgspec.convert({"source": {"bucket": "in", "key": name}, "document_id": name} | fields, DocumentSubmitted)


async def test_who_waits_and_who_does_not(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    async with stage(tmp_path) as ingest:
        first = await answer(ingest, await submitted(store, "a"))
        assert isinstance(first, DocumentOpened)
        waiting = await answer(ingest, await submitted(store, "b"))
        assert isinstance(waiting, DocumentSubmitted)
        assert waiting.document_id == "b"
        assert waiting.source.etag is not None
        again = await answer(ingest, await submitted(store, "a", source={"bucket": "in", "key": "a"}))
        assert isinstance(again, DocumentOpened), "the holder's own submission, come again"
        for others in ({"priority": "interactive"}, {"generation": 1}, {"tenant": "t"}, {"options": {"ocr": "off"}}):
            name = next(iter(others))
            assert isinstance(await answer(ingest, await submitted(store, name, **others)), DocumentOpened), others
        await end(store, BUCKET, first.document_id, "partial_success")
        both = [await answer(ingest, await submitted(store, name)) for name in ("b", "c")]
        assert all(isinstance(one, DocumentOpened) for one in both), "nothing to copy: each is computed by itself"


async def test_a_holder_that_was_lost_is_followed_by_one_other(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    async with stage(tmp_path, twin_wait_s=60) as ingest:
        assert isinstance(await answer(ingest, await submitted(store, "a")), DocumentOpened)
        assert isinstance(await answer(ingest, await submitted(store, "b")), DocumentSubmitted)
        found = decode(await store.get(BUCKET, keys.inspection("b", 0)), Inspection)
        later = time.time() + 61
        assert (await twins.turn(store, BUCKET, found, later, 60)).kind == "own"
        other = msgspec.structs.replace(found, document_id="c")
        assert await twins.turn(store, BUCKET, other, later + 20, 60) == twins.Turn("wait", 10.0)


async def test_nobody_waits_where_that_is_set(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    async with stage(tmp_path, twin_wait_s=0) as ingest:
        for name in ("a", "b"):
            assert isinstance(await answer(ingest, await submitted(store, name)), DocumentOpened)
