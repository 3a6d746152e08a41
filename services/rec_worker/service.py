"""rec_worker: read the lines of a page.

A task names regions of one page. Layout and picture come from the store (both are written once, so what is read is what was meant), the
picture is decoded in the document child, and one call to the engine child reads all of it; there the crops of all tasks in flight
share batches. The reading is stored once, then announced; a task that comes again finds it and costs one look at the store.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from services.rec_worker.call import PageRead, PageToRead
from services.rec_worker.facts import Busy, count, record_batches
from services.rec_worker.pages import PageCache, page_key, page_with
from shared.children.block import Block
from shared.children.child import Child
from shared.children.places import Places
from shared.children.preference import bulk_places
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import Doubt, PageLayout, Reading, Region, RegionReading
from shared.contracts.records import RecTask, RegionsRead
from shared.documents.opener import Documents
from shared.engines.open import profile, start_timeout_s, streams
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings, for_engine_child
from shared.streams.failure import page_failed
from shared.streams.stage import Delivery, Emit
from shared.telemetry import metrics, spans

PAGE_INCHES = (8.27, 11.69)
"""A4, of which the cost of a task is estimated: its picture in RGB and its JPEG."""


class RecWorker:
    """The stage `rec_worker`."""

    name = "rec_worker"
    phase = Phase.rec

    def __init__(self, settings: Settings) -> None:
        stage = settings.stage(self.name)
        self._store = open_store(settings)
        self._bucket = settings.objects.bucket
        self._page_bytes = int(PAGE_INCHES[0] * PAGE_INCHES[1] * settings.layout.dpi**2 * 4)
        self._documents = Documents(settings.limits)
        lanes = streams(settings.engines)
        calls = min(stage.max_in_flight, profile(settings.engines).calls_per_stream * lanes)
        self._places = Places(calls, bulk_places(calls))
        self._pages = PageCache(settings.rec.page_cache_bytes)
        self._busy = Busy(lanes)
        self._engine = Child(
            "services.rec_worker.program:create",
            for_engine_child(settings),
            name="rec-engine",
            recycle_bytes=settings.engines.recycle_bytes,
            call_timeout_s=stage.call_timeout_s,
            start_timeout_s=start_timeout_s(settings.engines),
            threads=calls,
            noted=self._note,
        )
        self._coming = 0
        self.starting = ""
        """How far the start is; the runner says so in /readyz."""

    def decode(self, value: bytes, key: bytes | None) -> RecTask:
        return decode(value, RecTask)

    def cost(self, record: RecTask) -> int:
        return self._page_bytes

    async def start(self) -> None:
        await self._documents.start()
        await self._engine.start()

    def _note(self, note: str) -> None:
        self.starting = note

    async def stop(self) -> None:
        await self._engine.close()
        await self._documents.close()
        await self._store.close()

    async def process(self, delivery: Delivery[RecTask]) -> list[Emit]:
        """`RegionsRead`, with the reading stored."""
        task = delivery.record
        key = keys.reading(task.document_id, task.generation, task.page_no, _answered(task))
        if not await self._store.exists(self._bucket, key):
            await self._store.put_once(self._bucket, key, encode(await self._read(task)))
        return [_announcement(task)]

    async def failed(self, delivery: Delivery[RecTask], error: DocfleetError) -> list[Emit]:
        """Store why the task has no answer and say so; a reading that an earlier attempt stored is announced instead."""
        task = delivery.record
        place = (task.document_id, task.generation, task.page_no, _answered(task))
        if await self._store.exists(self._bucket, keys.reading(*place)):
            return [_announcement(task)]
        return [await page_failed(self._store, self._bucket, task, [task.page_no], _answered(task), error, self.phase)]

    async def _read(self, task: RecTask) -> Reading:
        started = time.monotonic()
        with self._on_its_way():
            layout = await self._layout(task)
            jpeg = None if layout.picture_key is None else await self._store.get(self._bucket, layout.picture_key)
            page = PageToRead(
                document_id=task.document_id,
                page_no=task.page_no,
                width=layout.width,
                height=layout.height,
                regions=_regions(task, layout),
                fallback_from=task.fallback_from,
                lane=task.lane,
            )
            key = page_key(page, jpeg)
            answer = self._pages.get(key)
            metrics.REC_PAGE_CACHE.labels(result="miss" if answer is None else "hit").inc()
            picture = None
            if answer is None and jpeg is not None:
                with Block.of(jpeg) as block:
                    width, height, picture = await self._documents.decode(block)
                page = page_with(page, layout, width, height)
        if answer is None:
            answer = await self._asked(task, page, picture)
            self._pages.keep(key, answer)
        count(answer)
        return Reading(
            document_id=task.document_id,
            generation=task.generation,
            page_no=task.page_no,
            task_id=_answered(task),
            layout_sha256=task.layout_sha256,
            regions=[_told(region, task) for region in answer.regions],
            models=answer.models,
            warnings=answer.warnings,
            errors=answer.errors,
            cache_hits=answer.cache_hits,
            seconds=round(time.monotonic() - started, 4),
        )

    async def _asked(self, task: RecTask, page: PageToRead, picture: Block | None) -> PageRead:
        """What the engine child reads; closes the picture."""
        try:
            async with self._places.hold(task.lane):
                page = msgspec.structs.replace(
                    page,
                    due_in_s=None if task.deadline is None else task.deadline - time.time(),
                    coming=self._coming,
                    trace=_traced(),
                )
                answer, _ = await self._engine.call(
                    "read", page, [] if picture is None else [picture], returns=PageRead
                )
        finally:
            if picture is not None:
                picture.close()
        self._busy.add(answer.facts)
        record_batches(answer.facts)
        return answer

    async def _layout(self, task: RecTask) -> PageLayout:
        data = await self._store.get(self._bucket, keys.layout(task.document_id, task.generation, task.page_no))
        if sha256(data) != task.layout_sha256:
            raise DocfleetError(
                ErrorCode.conflict,
                "the stored layout of this page is not the one the task was made of",
                page_no=task.page_no,
            )
        return decode(data, PageLayout)

    @contextmanager
    def _on_its_way(self) -> Iterator[None]:
        """A page that is being fetched: batches in the engine child may linger for it."""
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1


def _traced() -> str | None:
    trace = spans.current()
    return str(trace) if trace is not None and spans.recording(trace) else None


def _told(region: RegionReading, task: RecTask) -> RegionReading:
    """A region that a vision-language model should have read says so, and why it did not."""
    if task.fallback_from is None:
        return region
    why = task.fallback_error.message if task.fallback_error is not None else "it could not read this"
    doubt = Doubt(
        code="vl_truncated" if task.fallback_truncated else "vl_fallback",
        message=f"read by the recogniser in place of {task.fallback_from}: {why}",
    )
    return msgspec.structs.replace(region, doubts=[*region.doubts, doubt])


def _answered(task: RecTask) -> str:
    """The task that the reading answers."""
    return task.answers or task.task_id


def _announcement(task: RecTask) -> Emit:
    event = RegionsRead(
        document_id=task.document_id,
        generation=task.generation,
        pages=[task.page_no],
        task_id=_answered(task),
        stage="vl" if task.answers else "rec",
    )
    return Emit("docs.results", task.document_id, event)


def _regions(task: RecTask, layout: PageLayout) -> list[Region]:
    """The regions a task means: those it names; else all that are read by `rec`, or by `vl` where it stands in for a VL task of a page.

    Raises `DocfleetError(conflict)` for a name that is not in the layout.
    """
    if not task.regions:
        reader = "vl" if task.answers else "rec"
        return [region for region in layout.regions if region.read_by == reader]
    known = {region.region_id: region for region in layout.regions}
    unknown = [name for name in task.regions if name not in known]
    if unknown:
        raise DocfleetError(ErrorCode.conflict, f"the layout has no region {unknown[0]}", page_no=task.page_no)
    return [known[name] for name in task.regions]
