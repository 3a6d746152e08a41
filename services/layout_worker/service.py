"""layout_worker: where is everything on a page, which of its text can be trusted, and who reads the rest.

For one page: look for its stored layout first (a page that comes again gives the same records), else fetch the source (once per worker),
open the page in the document child, look at it in the engine child, write picture and layout once, and name the tasks.
"""

from __future__ import annotations

import time
from collections import OrderedDict

import msgspec

from services.layout_worker import route
from services.layout_worker.pages import Pages
from services.layout_worker.sources import Sources
from shared import faultpoints
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import Inspection, PageLayout
from shared.contracts.records import PageLaidOut, PageTask, RecTask
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.failure import page_failed
from shared.streams.stage import Delivery, Emit

PAGE_BYTES = 32 * 2**20
"""Estimate of what one page holds while it is worked on: A4 at 200 dpi is 11.6 MB, decoded once in each child's block, and its JPEG."""
INSPECTIONS = 64
"""Documents whose inspection is remembered; a long one has some 100 kB of page geometry."""


class LayoutWorker:
    """The stage `layout_worker`."""

    name = "layout_worker"
    phase = Phase.layout

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = open_store(settings)
        self._bucket = settings.objects.bucket
        self._pages = Pages(settings)
        self.sources = Sources(self._store, settings.layout.source_cache, settings.layout.source_cache_bytes)
        self._inspections: OrderedDict[tuple[str, int], Inspection] = OrderedDict()

    @property
    def starting(self) -> str:
        """How far the start is; the runner says so in /readyz."""
        return self._pages.starting

    def decode(self, value: bytes, key: bytes | None) -> PageTask:
        return decode(value, PageTask)

    def cost(self, record: PageTask) -> int:
        return PAGE_BYTES

    async def start(self) -> None:
        await self._pages.start()

    async def stop(self) -> None:
        await self.sources.close()
        await self._pages.close()
        await self._store.close()

    async def process(self, delivery: Delivery[PageTask]) -> list[Emit]:
        """`PageLaidOut` and the page's tasks, from the stored layout if there is one."""
        task = delivery.record
        inspection = await self._inspection(task)
        if task.page_no > len(inspection.pages):
            raise DocfleetError(
                ErrorCode.internal, f"the document has {len(inspection.pages)} pages", page_no=task.page_no
            )
        key = keys.layout(task.document_id, task.generation, task.page_no)
        if await self._store.exists(self._bucket, key):
            stored = await self._store.get(self._bucket, key)
        else:
            stored = await self._store.put_once(self._bucket, key, encode(await self._lay_out(task, inspection)))
        return _outputs(task, stored, inspection)

    async def failed(self, delivery: Delivery[PageTask], error: DocfleetError) -> list[Emit]:
        """Store why the page has no layout and say so."""
        task = delivery.record
        failure = await page_failed(self._store, self._bucket, task, [task.page_no], task.task_id, error, self.phase)
        return [failure]

    async def _inspection(self, task: PageTask) -> Inspection:
        name = (task.document_id, task.generation)
        known = self._inspections.get(name)
        if known is None:
            known = decode(await self._store.get(self._bucket, keys.inspection(*name)), Inspection)
            self._inspections[name] = known
            while len(self._inspections) > INSPECTIONS:
                self._inspections.popitem(last=False)
        else:
            self._inspections.move_to_end(name)
        return known

    async def _lay_out(self, task: PageTask, inspection: Inspection) -> PageLayout:
        """The layout of a page; its picture is stored first, when the layout names one."""
        started = time.monotonic()
        async with self.sources.file(inspection.source) as path:
            laid_out = await self._pages.lay_out(path, task.page_no, inspection)
        layout = laid_out.layout
        if layout.picture_key is not None and laid_out.jpeg is not None:
            await self._store.put_once(self._bucket, layout.picture_key, laid_out.jpeg, "image/jpeg")
        for picture in laid_out.pictures:
            await self._store.put_once(self._bucket, picture.key, picture.data, picture.mime_type)
        faultpoints.reached("after_picture_before_layout")
        return msgspec.structs.replace(layout, layout_s=round(time.monotonic() - started, 4))


def _outputs(task: PageTask, stored: bytes, inspection: Inspection) -> list[Emit]:
    """The records of a stored layout: the same for every attempt at the page."""
    layout, layout_sha256 = decode(stored, PageLayout), sha256(stored)
    laid_out = PageLaidOut(
        document_id=task.document_id,
        generation=task.generation,
        page_no=task.page_no,
        task_id=task.task_id,
        layout_sha256=layout_sha256,
        tasks=layout.tasks,
    )
    outputs = [Emit("docs.results", task.document_id, laid_out)]
    for record in route.records_of(task, layout, layout_sha256, inspection):
        page = f"{task.document_id}/{task.page_no}"
        if isinstance(record, RecTask):
            outputs.append(Emit("docs.rec", page, record))
        else:
            outputs.append(Emit("docs.vl", f"{page}/{record.region_id}" if record.region_id else page, record))
    return outputs
