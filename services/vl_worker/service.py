"""vl_worker: read one region, or one page, with a vision-language model.

A stage in the plain sense: a VlTask in, a stored reading and `RegionsRead` out. Many calls wait for the network at once; the client
bounds them. An answer that a guard refuses is asked for once more with corrected sampling, and after that the region goes to the
small models as a `RecTask` that answers this task, with the reason: nothing cut or looping is ever stored as a reading.
"""

from __future__ import annotations

import asyncio
import time

from services.vl_worker.client import Answer, VlClient
from services.vl_worker.grammars.html_table import parse_html_table
from services.vl_worker.guards import fault_of
from services.vl_worker.picture import cut, is_blank, to_jpeg
from services.vl_worker.profiles.profile import profile_named
from shared.children.block import Block
from shared.contracts.codec import decode, encode
from shared.contracts.document import ModelRef, Table
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.ids import task_id
from shared.contracts.layout import PageLayout, Reading, RegionReading
from shared.contracts.records import RecTask, RegionsRead, VlTask
from shared.documents.opener import Documents
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.failure import page_failed
from shared.streams.stage import Delivery, Emit

PICTURE_BYTES = 50 * 2**20
"""Estimate of what one page picture costs while a region is cut from it."""


class VlWorker:
    """The stage `vl_worker`."""

    name = "vl_worker"
    phase = Phase.vl

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._profile = profile_named(settings.vl.profile)
        self._client = VlClient(settings.vl, self._profile)
        self._store = open_store(settings)
        self._bucket = settings.objects.bucket
        self._documents = Documents(settings.limits)
        self._decoding = asyncio.Semaphore(2)

    def decode(self, value: bytes, key: bytes | None) -> VlTask:
        return decode(value, VlTask)

    def cost(self, record: VlTask) -> int:
        return 0

    async def start(self) -> None:
        await self._documents.start()

    async def stop(self) -> None:
        await self._client.close()
        await self._documents.close()
        await self._store.close()

    async def process(self, delivery: Delivery[VlTask]) -> list[Emit]:
        """Answer the task, or hand it to the small models. Raises `Unavailable` when no model server answers."""
        task = delivery.record
        if task.mode == "range":
            raise DocfleetError(ErrorCode.model_unavailable, f"profile {self._profile.name} reads no page ranges")
        page_no = task.pages[0]
        stored = keys.reading(task.document_id, task.generation, page_no, task.task_id)
        if not await self._store.exists(self._bucket, stored):
            try:
                reading = await self._read(task, page_no)
            except DocfleetError as error:
                if error.code in (ErrorCode.source_missing, ErrorCode.cancelled):
                    raise
                return [await self._fall_back(task, page_no, error)]
            await self._store.put_once(self._bucket, stored, encode(reading))
        answer = RegionsRead(
            document_id=task.document_id, generation=task.generation, pages=task.pages, task_id=task.task_id, stage="vl"
        )
        return [Emit("docs.results", task.document_id, answer)]

    async def failed(self, delivery: Delivery[VlTask], error: DocfleetError) -> list[Emit]:
        """Store why the task has no answer and say so."""
        task = delivery.record
        return [await page_failed(self._store, self._bucket, task, task.pages, task.task_id, error, self.phase)]

    async def _read(self, task: VlTask, page_no: int) -> Reading:
        started = time.monotonic()
        layout = await self._layout(task, page_no)
        bbox = [0.0, 0.0, layout.width, layout.height]
        if task.mode == "region":
            bbox = next((r.bbox for r in layout.regions if r.region_id == task.region_id), [])
            if not bbox:
                raise DocfleetError(
                    ErrorCode.internal, f"region {task.region_id} is not in the layout", page_no=page_no
                )
        jpeg = await self._picture(task, layout, bbox)
        regions = [] if jpeg is None else [await self._ask(task, page_no, jpeg, bbox)]
        return Reading(
            document_id=task.document_id,
            generation=task.generation,
            page_no=page_no,
            task_id=task.task_id,
            layout_sha256=task.layout_sha256,
            regions=regions,
            models=[ModelRef(stage="vl", name=self._profile.model, version=self._profile.name)],
            seconds=time.monotonic() - started,
        )

    async def _layout(self, task: VlTask, page_no: int) -> PageLayout:
        data = await self._store.get(self._bucket, keys.layout(task.document_id, task.generation, page_no))
        return decode(data, PageLayout)

    async def _picture(self, task: VlTask, layout: PageLayout, bbox: list[float]) -> bytes | None:
        """JPEG of the region; none when it is blank. Decoded pages are large, so only a few are held at once."""
        if layout.picture_key is None:
            raise DocfleetError(ErrorCode.internal, "the layout has no picture to read from", page_no=layout.page_no)
        stored = await self._store.get(self._bucket, layout.picture_key)
        async with self._decoding:
            with Block.of(stored) as jpeg:
                width, height, pixels = await self._documents.decode(jpeg)
            with pixels:
                page = pixels.array((height, width, 3))
                region = cut(page, bbox, width / layout.width, height / layout.height)
                if is_blank(region):
                    return None
                return await asyncio.to_thread(to_jpeg, region.copy(), self._profile)

    async def _ask(self, task: VlTask, page_no: int, jpeg: bytes, bbox: list[float]) -> RegionReading:
        answer = await self._client.ask(jpeg, task.kind)
        fault = self._fault(answer, task.kind)
        if fault is not None:
            answer = await self._client.ask(jpeg, task.kind, corrected=True)
            fault = self._fault(answer, task.kind)
        if fault is not None:
            raise DocfleetError(
                ErrorCode.model_unavailable, f"the VL model's answer was {fault}, twice", page_no=page_no
            )
        text = answer.text.strip()
        table: Table | None = parse_html_table(text, page_no=page_no) if task.kind == "table" else None
        return RegionReading(
            region_id=task.region_id or f"p{page_no:05d}-r000",
            method="vl",
            model=f"{self._profile.model}@{self._profile.name}",
            text=None if table is not None or task.kind == "formula" else text,
            table=table,
            latex=text.strip("$ \n") if task.kind == "formula" else None,
            label="text" if task.mode == "page" else None,
            bbox=bbox if task.mode == "page" else None,
        )

    def _fault(self, answer: Answer, kind: str) -> str | None:
        return fault_of(
            answer.text,
            finish_reason=answer.finish_reason,
            prompt=self._profile.prompt(kind),
            table=kind == "table",
        )

    async def _fall_back(self, task: VlTask, page_no: int, error: DocfleetError) -> Emit:
        layout = await self._layout(task, page_no)
        if task.region_id is not None:
            regions = [task.region_id]
        else:
            regions = [region.region_id for region in layout.regions if region.read_by in ("rec", "vl")]
        rec = RecTask(
            document_id=task.document_id,
            generation=task.generation,
            page_no=page_no,
            task_id=task_id("rec", task.generation, [page_no], [*regions, task.task_id]),
            layout_sha256=task.layout_sha256 or "",
            regions=regions,
            answers=task.task_id,
            fallback_from=self._profile.name,
            fallback_error=error.info(Phase.vl, page_no),
            lane=task.lane,
            deadline=task.deadline,
        )
        return Emit("docs.rec", f"{task.document_id}/{page_no}", rec)
