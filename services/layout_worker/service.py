"""layout_worker: where is everything on a page, which of its text can be trusted, and who reads the rest.

For one page: look for its stored layout first (a page that comes again gives the same records), else fetch the source (once per worker),
open the page in the document child, look at it in the engine child, write picture and layout once, and name the tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from pathlib import Path
from typing import Literal

import msgspec

from services.layout_worker import route
from services.layout_worker.found import Lines, LinesRequest, Look, LookRequest
from services.layout_worker.page import Plan, assemble, plan
from services.layout_worker.sources import Sources
from shared.children.child import Child
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import Inspection, PageLayout
from shared.contracts.records import PageLaidOut, PageTask, RecTask
from shared.documents.opener import Documents
from shared.documents.page import OpenedPage, Pictures
from shared.documents.passwords import password_of
from shared.engines.processor import cores
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings, for_engine_child
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
        self._documents = Documents(settings.limits)
        self._engine = Child(
            "services.layout_worker.program:create",
            for_engine_child(settings),
            name="layout-engine",
            recycle_bytes=settings.engines.recycle_bytes,
            call_timeout_s=settings.stage(self.name).call_timeout_s,
            threads=settings.engines.streams or cores(),
        )
        self.sources = Sources(self._store, settings.layout.source_cache, settings.layout.source_cache_bytes)
        self._inspections: OrderedDict[tuple[str, int], Inspection] = OrderedDict()

    def decode(self, value: bytes, key: bytes | None) -> PageTask:
        return decode(value, PageTask)

    def cost(self, record: PageTask) -> int:
        return PAGE_BYTES

    async def start(self) -> None:
        await self._documents.start()
        await self._engine.start()

    async def stop(self) -> None:
        await self.sources.close()
        await self._engine.close()
        await self._documents.close()
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
        started = time.monotonic()
        async with self.sources.file(inspection.source) as path:
            layout = await self._page(path, task.page_no, inspection)
        return msgspec.structs.replace(layout, layout_s=round(time.monotonic() - started, 4))

    async def _page(self, path: Path, page_no: int, inspection: Inspection) -> PageLayout:
        """The layout of a page; its picture is stored when the layout names one."""
        options = inspection.options
        how: Literal["none", "auto", "always"] = "auto"
        if options.pictures or options.ocr == "force":
            how = "always"
        elif options.ocr == "off":
            how = "none"
        with contextlib.ExitStack() as held:
            opened, shown = await self._open(path, page_no, inspection, how, layout_picture=True)
            held.enter_context(shown)
            look, scale = await self._look(opened, shown, layout=options.layout != "fast")
            planned = await asyncio.to_thread(plan, opened, look, scale, inspection, page_no, self._settings)
            if planned.picture and shown.full is None:
                _, shown = await self._open(path, page_no, inspection, "always", layout_picture=False)
                held.enter_context(shown)
            lines = await self._lines(opened, planned, shown)
            size = (shown.full[0].width, shown.full[0].height) if shown.full is not None else None
            models = [*look.models, *lines.models]
            layout = await asyncio.to_thread(
                assemble, opened, planned, lines.lines, size, models, inspection, page_no, self._settings
            )
            if layout.picture_key is not None and shown.jpeg is not None:
                await self._store.put_once(self._bucket, layout.picture_key, shown.jpeg[1].tobytes(), "image/jpeg")
        return layout

    async def _open(
        self,
        path: Path,
        page_no: int,
        inspection: Inspection,
        picture: Literal["none", "auto", "always"],
        *,
        layout_picture: bool,
    ) -> tuple[OpenedPage, Pictures]:
        return await self._documents.open_page(
            path,
            inspection.source.mime_type or "",
            page_no,
            password=password_of(self._settings, inspection.options.password_ref),
            picture=picture,
            layout_picture=layout_picture,
            dpi=self._settings.layout.dpi,
        )

    async def _look(self, opened: OpenedPage, shown: Pictures, *, layout: bool) -> tuple[Look, tuple[float, float]]:
        """What the engine child sees at a glance, and pixels per page unit of the picture it was shown.

        The full picture where there is one: the network wants another shape than the page's, and what is resampled twice it reads
        worse (a scanned page of two columns: 12 sure boxes of the full picture, 2 of the small one).
        """
        picture = shown.full or shown.small
        if picture is None or opened.blank:
            return Look(boxes=[], seals=[], ink=0.0), (1.0, 1.0)
        size, pixels = picture
        request = LookRequest(width=size.width, height=size.height, layout=layout)
        look, _ = await self._engine.call("look", request, [pixels], returns=Look)
        return look, (size.width / opened.width, size.height / opened.height)

    async def _lines(self, opened: OpenedPage, planned: Plan, shown: Pictures) -> Lines:
        """Text lines of the full picture, where any are wanted."""
        if planned.search != "lines" or shown.full is None:
            return Lines(lines=[])
        size, pixels = shown.full
        scale = (size.width / opened.width, size.height / opened.height)
        request = LinesRequest(
            width=size.width,
            height=size.height,
            seals=[[s[0] * scale[0], s[1] * scale[1], s[2] * scale[0], s[3] * scale[1]] for s in planned.seals],
        )
        lines, _ = await self._engine.call("lines", request, [pixels], returns=Lines)
        return lines


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
