"""docfleet's own work on pages, without what joins and moves them: the stages `layout_worker` and `rec_worker` as their services run them.

Included: both workers' code with all their children (two that open documents, two that hold engines), the folder store, the records
between the two stages, and the bounds on what is in flight. Left out: Kafka, ingest, the join and compose.
Both work on the machine's cores at once, as they do in a fleet. The crop cache is off: no page is known from the round before.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from services.layout_worker.service import LayoutWorker
from services.rec_worker.service import RecWorker
from shared.contracts.codec import decode, encode
from shared.contracts.layout import Inspection, PageLayout, Reading
from shared.contracts.options import Options, page_ranges
from shared.contracts.records import PageTask, RecTask, RegionsRead, SourceInfo
from shared.documents.opener import Documents
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.stage import Stage
from tests.support.deliveries import delivered

T = TypeVar("T")
UPLOADS = "benchmark"
SILENT = ("seal", "picture")
"""Labels whose text the bench's scores leave out."""


class PageResult(NamedTuple):
    """A page, read."""

    layout: PageLayout
    readings: list[Reading]

    @property
    def text(self) -> str:
        """Its lines, one a line, in no particular order."""
        skipped = {region.region_id for region in self.layout.regions if region.label in SILENT}
        own = [line.text for region in self.layout.regions if region.read_by == "native" for line in region.lines]
        read = [
            line.text
            for reading in self.readings
            for region in reading.regions
            if region.region_id not in skipped
            for line in region.lines
        ]
        return "\n".join(text for text in [*own, *read] if text)


def settings_for(folder: Path, **more: dict[str, Any]) -> Settings:
    """Settings of workers that keep everything below `folder` and remember nothing that was read."""
    groups: dict[str, Any] = {
        "objects": {"kind": "folder", "folder": folder / "objects", "bucket": "docfleet"},
        "layout": {"source_cache": folder / "sources"},
        "rec": without_caches(),
    }
    return Settings(**{name: {**groups.get(name, {}), **more.get(name, {})} for name in {**groups, **more}})


def without_caches() -> dict[str, int]:
    """The settings of `rec` by which it forgets what it has read."""
    return {name: 0 for name in type(Settings().rec).model_fields if "_cache" in name}


class DocumentRead(NamedTuple):
    """A document as its stages leave it: what ingest knows, and its pages in order."""

    inspection: Inspection
    pages: list[PageResult]


class RecPath:
    """Two stages and what is between them. `start`, then `read` documents, then `stop`; all on one event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._layout = LayoutWorker(settings)
        self._rec = RecWorker(settings)
        self._documents = Documents(settings.limits, name="inspect")
        self._store = open_store(settings)
        self._places = {
            name: asyncio.Semaphore(settings.stage(name).max_in_flight) for name in ("layout_worker", "rec_worker")
        }
        self._count = 0

    async def start(self) -> None:
        await asyncio.gather(self._layout.start(), self._rec.start(), self._documents.start())

    async def stop(self) -> None:
        await self._layout.stop()
        await self._rec.stop()
        await self._documents.close()
        await self._store.close()

    async def read(self, pdf: Path, *, one_by_one: bool = False) -> list[PageResult]:
        """All pages of a file, in order; side by side within the stages' bounds, or one after the other. Raises what the stages raise."""
        return (await self.document(pdf, one_by_one=one_by_one)).pages

    async def document(self, pdf: Path, *, one_by_one: bool = False) -> DocumentRead:
        """As `read`, with what ingest knows of the file."""
        self._count += 1
        name = f"document-{self._count}"
        inspection = await self._opened(name, pdf)
        numbers = range(1, len(inspection.pages) + 1)
        if one_by_one:
            return DocumentRead(inspection, [await self._page(name, number) for number in numbers])
        pages = await asyncio.gather(*(self._page(name, number) for number in numbers))
        return DocumentRead(inspection, list(pages))

    async def _opened(self, name: str, pdf: Path) -> Inspection:
        await self._store.ensure_bucket(UPLOADS)
        stat = await self._store.put_file(UPLOADS, f"{name}/{pdf.name}", pdf, "application/pdf")
        found = await self._documents.inspect(pdf, filename=pdf.name)
        key = f"{name}/{pdf.name}"
        source = SourceInfo(bucket=UPLOADS, key=key, etag=stat.etag, size=stat.size, mime_type=found.mime_type)
        inspection = Inspection(
            document_id=name,
            generation=0,
            source=source,
            options=Options(),
            options_hash="benchmark",
            pipeline_fingerprint="benchmark",
            unit=found.unit,
            pages=found.pages,
            selected=page_ranges(list(range(1, len(found.pages) + 1))),
            outline=found.outline,
        )
        await self._store.put_once(self.settings.objects.bucket, keys.inspection(name, 0), encode(inspection))
        return inspection

    async def _page(self, name: str, number: int) -> PageResult:
        task = PageTask(document_id=name, generation=0, page_no=number, task_id=f"layout-g0-p{number:05d}")
        emitted = await self._through("layout_worker", self._layout, task)
        bucket = self.settings.objects.bucket
        asked = [record for record in emitted if isinstance(record, RecTask)]
        answers = await asyncio.gather(*(self._through("rec_worker", self._rec, one) for one in asked))
        read = [record for answer in answers for record in answer if isinstance(record, RegionsRead)]
        readings = [
            decode(await self._store.get(bucket, keys.reading(name, 0, number, one.task_id)), Reading) for one in read
        ]
        layout = decode(await self._store.get(bucket, keys.layout(name, 0, number)), PageLayout)
        return PageResult(layout, readings)

    async def _through(self, name: str, stage: Stage[T], record: T) -> list[object]:
        async with self._places[name]:
            return [emit.record for emit in await stage.process(delivered(record))]
