"""vl_worker: read one region, one page or a range of pages with a vision-language model.

A stage in the plain sense: a VlTask in, a stored reading for each page of it and `RegionsRead` out. Many calls wait for the network at
once; the client bounds them. What cannot be believed is never stored: a region or page then goes to the small models as a `RecTask` that
answers this task, with the reason, and a range goes back to the join, which has its pages read one by one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from services.vl_worker.answers import call_of
from services.vl_worker.asking import Asker, Disbelieved
from services.vl_worker.client import VlClient
from services.vl_worker.guards import WARNINGS
from services.vl_worker.modes.page import page
from services.vl_worker.modes.range import page_range
from services.vl_worker.modes.region import region
from services.vl_worker.pictures import PagePictures
from services.vl_worker.probe import Probe
from services.vl_worker.reading import PageBlocks
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.document import ModelRef
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.ids import task_id
from shared.contracts.layout import PageLayout, Reading
from shared.contracts.records import RangeMismatched, RecTask, RegionsRead, VlTask
from shared.documents.opener import Documents
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.failure import page_failed
from shared.streams.stage import Delivery, Emit
from shared.telemetry import metrics
from shared.vlm.profile import Profile, profile_named
from shared.vlm.request import probe

HOPELESS = frozenset({ErrorCode.source_missing, ErrorCode.cancelled, ErrorCode.internal})
"""Errors that the small models would meet as well."""


class VlWorker:
    """The stage `vl_worker`."""

    name = "vl_worker"
    phase = Phase.vl

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        profile = profile_named(settings.vl.profile, settings.vl.profiles)
        model = settings.vl.model or profile.model
        self._client = VlClient(
            settings.vl, Probe(call_of(probe(profile, model=model)), model, settings.vl.probe_timeout_s)
        )
        self._store = open_store(settings)
        self._bucket = settings.objects.bucket
        self._documents = Documents(settings.limits)
        self._pictures = PagePictures(
            self._store, self._bucket, self._documents, settings.vl.page_cache_bytes, settings.vl.page_cache_pages
        )

    def decode(self, value: bytes, key: bytes | None) -> VlTask:
        return decode(value, VlTask)

    def cost(self, record: VlTask) -> int:
        return 0

    async def start(self) -> None:
        await self._documents.start()
        await self._client.start()

    async def stop(self) -> None:
        await self._client.close()
        self._pictures.close()
        await self._documents.close()
        await self._store.close()

    async def process(self, delivery: Delivery[VlTask]) -> list[Emit]:
        """Answer the task, or hand it on. Raises `Unavailable` when no model server answers."""
        task = delivery.record
        if not await self._is_read(task):
            self._client.check()
            try:
                readings = await self._read(task)
            except DocfleetError as error:
                if error.code in HOPELESS:
                    raise
                if task.mode == "range":
                    return [self._page_by_page(task)]
                metrics.VL_TASKS.labels(outcome="fallback").inc()
                return [await self._fall_back(task, error)]
            for reading in readings:
                await self._store.put_once(self._bucket, _key(task, reading.page_no), encode(reading))
            metrics.VL_TASKS.labels(outcome="read").inc()
        answer = RegionsRead(
            document_id=task.document_id, generation=task.generation, pages=task.pages, task_id=task.task_id, stage="vl"
        )
        return [Emit("docs.results", task.document_id, answer)]

    async def failed(self, delivery: Delivery[VlTask], error: DocfleetError) -> list[Emit]:
        """Store why the task has no answer and say so."""
        task = delivery.record
        return [await page_failed(self._store, self._bucket, task, task.pages, task.task_id, error, self.phase)]

    async def _is_read(self, task: VlTask) -> bool:
        for page_no in task.pages:
            if not await self._store.exists(self._bucket, _key(task, page_no)):
                return False
        return True

    async def _read(self, task: VlTask) -> list[Reading]:
        """A reading for each page of the task."""
        started = time.monotonic()
        asker = Asker(self._client, self._settings.vl, self._profile(task))
        layouts = [await self._layout(task, page_no) for page_no in task.pages]
        if task.mode == "region":
            found = [PageBlocks([await region(asker, self._pictures, layouts[0], task.region_id)])]
        elif task.mode == "page":
            found = [await page(asker, self._pictures, layouts[0])]
        else:
            found = await page_range(asker, self._pictures, layouts)
        seconds = round((time.monotonic() - started) / len(found), 4)
        return [
            _reading(task, page_no, blocks, asker, seconds) for page_no, blocks in zip(task.pages, found, strict=True)
        ]

    def _profile(self, task: VlTask) -> Profile:
        return profile_named(task.profile or self._settings.vl.profile, self._settings.vl.profiles)

    async def _layout(self, task: VlTask, page_no: int) -> PageLayout:
        data = await self._store.get(self._bucket, keys.layout(task.document_id, task.generation, page_no))
        return decode(data, PageLayout)

    async def _layout_sha256(self, task: VlTask, page_no: int) -> str:
        """Of the stored layout: tasks of the join do not name it."""
        return sha256(await self._store.get(self._bucket, keys.layout(task.document_id, task.generation, page_no)))

    def _page_by_page(self, task: VlTask) -> Emit:
        event = RangeMismatched(
            document_id=task.document_id, generation=task.generation, pages=task.pages, task_id=task.task_id
        )
        return Emit("docs.results", task.document_id, event)

    async def _fall_back(self, task: VlTask, error: DocfleetError) -> Emit:
        page_no = task.pages[0]
        regions: Sequence[str] = (
            [task.region_id] if task.region_id is not None else []
        )  # none: all that are for the VL model
        rec = RecTask(
            document_id=task.document_id,
            generation=task.generation,
            page_no=page_no,
            task_id=task_id("rec", task.generation, [page_no], [*regions, task.task_id]),
            layout_sha256=task.layout_sha256 or await self._layout_sha256(task, page_no),
            regions=list(regions),
            answers=task.task_id,
            fallback_from=task.profile or self._settings.vl.profile,
            fallback_error=error.info(Phase.vl, page_no),
            fallback_truncated=isinstance(error, Disbelieved) and WARNINGS.get(error.fault) == "vl_truncated",
            lane=task.lane,
            deadline=task.deadline,
        )
        return Emit("docs.rec", f"{task.document_id}/{page_no}", rec)


def _key(task: VlTask, page_no: int) -> str:
    return keys.reading(task.document_id, task.generation, page_no, task.task_id)


def _reading(task: VlTask, page_no: int, blocks: PageBlocks, asker: Asker, seconds: float) -> Reading:
    profile = asker.profile
    return Reading(
        document_id=task.document_id,
        generation=task.generation,
        page_no=page_no,
        task_id=task.task_id,
        layout_sha256=task.layout_sha256,
        regions=blocks.regions,
        models=[ModelRef(stage="vl", name=asker.model, version=f"{profile.name}@{profile.sha256()[:12]}")],
        warnings=blocks.warnings,
        seconds=seconds,
    )
