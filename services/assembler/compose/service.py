"""compose: build one page, or one document, from what the other stages stored.

Outputs are written once and looked for first, so a record that comes again gives the same answer. Pages and documents are
built in two child processes: a document of thousands of pages delays no page, and documents share theirs.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from importlib.metadata import version

import msgspec
import structlog

from services.assembler.compose.cache import reusable
from services.assembler.compose.calls import DocumentReply, DocumentRequest, PageReply, PageRequest, StoredDocument
from services.assembler.compose.inputs import Inputs, lost_error
from services.assembler.document.document import DocumentInput, expressed
from shared import faultpoints
from shared.children.block import Block
from shared.children.child import Child
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.ids import task_id as page_task_id
from shared.contracts.layout import CacheEntry, DoneMark
from shared.contracts.records import (
    CloseDocument,
    ComposeDocument,
    ComposePage,
    DocumentComposed,
    DocumentFailed,
    ObjectRef,
    PageComposed,
    PageStatus,
    decode_compose,
)
from shared.contracts.records import (
    Compose as Task,
)
from shared.objects import keys
from shared.objects.ended import mark_ended
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.failure import page_failed
from shared.streams.stage import Delivery, Emit

log = structlog.get_logger()

RESULTS = "docs.results"
PAGE_BYTES = 2 * 2**20
"""Estimate of what composing a page holds: layout and readings of a dense page, decoded."""
DOCUMENT_PAGE_BYTES = 128 * 1024
"""The same for each page of a document."""
DOCUMENTS_AT_ONCE = 4
"""Documents that share the document child; the interpreter switches between them, so a short one passes a long one. One place is never
taken by the bulk lane: however many long documents there are, a short one finds it."""
PAGE_S = 0.1
"""Seconds a page of a document may take on top of the call's time before its child counts as stalled."""


class _Status(msgspec.Struct, frozen=True):
    status: PageStatus


class _StoredPage(msgspec.Struct, frozen=True):
    page: _Status


class Compose:
    """The stage `compose`."""

    name = "compose"
    phase = Phase.assemble

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = open_store(settings)
        self._bucket = settings.objects.bucket
        self._inputs = Inputs(self._store, self._bucket)
        self._timeout_s = settings.stage(self.name).call_timeout_s
        program = "services.assembler.compose.program:create"
        self._pages = Child(program, None, name="compose-pages", call_timeout_s=self._timeout_s)
        self._bulk = asyncio.Semaphore(DOCUMENTS_AT_ONCE - 1)
        self._documents = Child(
            program,
            None,
            name="compose-documents",
            call_timeout_s=self._timeout_s,
            threads=DOCUMENTS_AT_ONCE,
            bulk_threads=DOCUMENTS_AT_ONCE - 1,
        )

    def decode(self, value: bytes, key: bytes | None) -> Task:
        return decode_compose(value)

    def cost(self, record: Task) -> int:
        if isinstance(record, ComposeDocument):
            return PAGE_BYTES + DOCUMENT_PAGE_BYTES * record.pages_total
        return PAGE_BYTES if isinstance(record, ComposePage) else 0

    async def start(self) -> None:
        await self._pages.start()
        await self._documents.start()

    async def stop(self) -> None:
        await self._pages.close()
        await self._documents.close()
        await self._store.close()

    @property
    def document_pid(self) -> int | None:
        """Process id of the child that composes documents."""
        return self._documents.pid

    async def process(self, delivery: Delivery[Task]) -> list[Emit]:
        """`PageComposed`, `DocumentComposed`, or nothing for `CloseDocument`, whose output is an object."""
        record = delivery.record
        if isinstance(record, ComposePage):
            return [Emit(RESULTS, record.document_id, await self._page(record))]
        if isinstance(record, ComposeDocument):
            return [Emit(RESULTS, record.document_id, await self._document(record))]
        await self._close(record)
        return []

    async def failed(self, delivery: Delivery[Task], error: DocfleetError) -> list[Emit]:
        """`PageFailed`, its error stored for the document, or `DocumentFailed`. Closing has no failure record."""
        record = delivery.record
        if isinstance(record, ComposePage):
            failure = await page_failed(
                self._store, self._bucket, record, [record.page_no], record.task_id, error, self.phase
            )
            return [failure]
        if isinstance(record, ComposeDocument):
            document_failed = DocumentFailed(
                document_id=record.document_id,
                generation=record.generation,
                task_id=record.task_id,
                error=error.info(self.phase),
            )
            return [Emit(RESULTS, record.document_id, document_failed)]
        return []

    # --- a page -------------------------------------------------------------------------------------------------------

    async def _page(self, task: ComposePage) -> PageComposed:
        key = keys.composed_page(task.document_id, task.generation, task.page_no)
        stored = await self._inputs.optional(key)
        if stored is None:
            stored = await self._store.put_once(self._bucket, key, await self._composed_page(task))
        return PageComposed(
            document_id=task.document_id,
            generation=task.generation,
            page_no=task.page_no,
            task_id=task.task_id,
            status=decode(stored, _StoredPage).page.status,
            sha256=sha256(stored),
        )

    async def _composed_page(self, task: ComposePage) -> bytes:
        inspection = await self._inputs.inspection(task.document_id, task.generation)
        if task.page_no > len(inspection.pages):
            raise DocfleetError(ErrorCode.internal, f"the document has {len(inspection.pages)} pages")
        geometry = inspection.pages[task.page_no - 1]
        block, errors = await self._inputs.page(task)
        errors += [lost_error(task_id, task.page_no) for task_id in sorted(task.lost)]
        request = PageRequest(
            document_id=task.document_id,
            generation=task.generation,
            page_no=task.page_no,
            width=geometry.width,
            height=geometry.height,
            unit=inspection.unit,
            rotation=geometry.rotation,
            laid_out=task.laid_out,
            errors=errors,
            image_uri=await self._inputs.kept_picture(task, inspection),
        )
        with block:
            _, out = await self._pages.call("page", request, [block], returns=PageReply)
        with out[0] as page:
            return page.tobytes()

    # --- a document ---------------------------------------------------------------------------------------------------

    async def _document(self, task: ComposeDocument) -> DocumentComposed:
        key = keys.document(task.document_id, task.generation)
        stored = await self._inputs.optional(key)
        described = None
        if stored is None:
            async with self._bulk if task.lane == "bulk" else nullcontext():
                built, described = await self._composed_document(task)
            faultpoints.reached("after_markdown_before_document")
            stored = await self._store.put_once(self._bucket, key, built)
            if stored != built:
                described = None
        if described is None:
            described = await self._described(stored)
        if described.status == "cancelled":
            raise DocfleetError(ErrorCode.internal, "the stored document says that it was cancelled")
        return DocumentComposed(
            document_id=task.document_id,
            generation=task.generation,
            task_id=task.task_id,
            status=described.status,
            source=described.source,
            result=_reference(self._bucket, key, stored),
            markdown=await self._markdown_reference(task.document_id, task.generation, described),
            totals=described.totals,
            errors=described.errors,
            errors_total=described.errors_total,
            warnings_total=described.warnings_total,
            timings=described.timings,
        )

    async def _composed_document(self, task: ComposeDocument) -> tuple[bytes, DocumentReply]:
        """`document.json`; the Markdown is stored first, so that a document that is there has all it names."""
        name = (task.document_id, task.generation)
        inspection = await self._inputs.inspection(*name)
        total = len(inspection.pages)
        wanted = sorted(expressed(task.selected, total) - expressed(task.unfinished, total))
        blocks, failures = await self._inputs.pages(*name, wanted)
        for number in expressed(task.lost, total):
            if failures.get(str(number)) == []:
                failures[str(number)] = [lost_error(page_task_id("compose", task.generation, [number]), number)]
        try:
            given = DocumentInput(
                inspection=inspection,
                selected=task.selected,
                unfinished=task.unfinished,
                now=time.time(),
                pipeline_version=version("docfleet"),
                markdown_uri=keys.markdown(*name),
                failures=failures,
            )
            described, out = await self._documents.call(
                "document",
                DocumentRequest(given=given),
                blocks,
                returns=DocumentReply,
                timeout_s=self._timeout_s + PAGE_S * total,
            )
        finally:
            for block in blocks:
                block.close()
        with out[0] as document:
            data = document.tobytes()
        for block in out[1:]:
            with block as markdown:
                await self._store.put_once(
                    self._bucket, keys.markdown(*name), markdown.tobytes(), "text/markdown; charset=utf-8"
                )
        return data, described

    async def _described(self, document: bytes) -> DocumentReply:
        with Block.of(document) as block:
            described, _ = await self._documents.call("describe", StoredDocument(), [block], returns=DocumentReply)
        return described

    async def _markdown_reference(
        self, document_id: str, generation: int, described: DocumentReply
    ) -> ObjectRef | None:
        if not described.markdown:
            return None
        key = keys.markdown(document_id, generation)
        return _reference(self._bucket, key, await self._store.get(self._bucket, key))

    # --- the end ------------------------------------------------------------------------------------------------------

    async def _close(self, task: CloseDocument) -> None:
        """Write `done/`, and the cache entry of a success."""
        if task.status == "success":
            try:
                await self._remember(task)
            except DocfleetError as error:
                # Removed meanwhile. Without an entry a twin is computed; without the mark it waits, and nothing of the document is ever cleared.
                log.warning("not_remembered", document_id=task.document_id, error=str(error))
        mark = DoneMark(document_id=task.document_id, generation=task.generation, status=task.status)
        await mark_ended(self._store, self._bucket, mark, decided=True)

    async def _remember(self, task: CloseDocument) -> None:
        name = (task.document_id, task.generation)
        stored = await self._inputs.optional(keys.document(*name))
        if stored is None:
            return  # purged meanwhile
        described = await self._described(stored)
        if not reusable(described, self._settings):
            return
        inspection = await self._inputs.inspection(*name)
        entry = CacheEntry(
            document_id=task.document_id,
            generation=task.generation,
            source=described.source,
            result=_reference(self._bucket, keys.document(*name), stored),
            markdown=await self._markdown_reference(*name, described),
            totals=described.totals,
            warnings_total=described.warnings_total,
        )
        key = keys.cache(
            inspection.tenant, described.source.sha256 or "", inspection.options_hash, inspection.pipeline_fingerprint
        )
        await self._store.put(self._bucket, key, encode(entry), "application/json")


def _reference(bucket: str, key: str, data: bytes) -> ObjectRef:
    return ObjectRef(bucket=bucket, key=key, sha256=sha256(data), bytes=len(data))
