"""ingest: look at a submitted document and say what it is.

For one submission: apply the rules, pin the object (size, etag), keep the envelope, fetch and hash, inspect in a document child, look for
a result of the same content, then one answer: `DocumentOpened`, `DocumentCached`, or (through `failed`) `DocumentRejected`. Everything
stored is written once, so a submission that comes again finds what the first one stored and gives the same answer. One that has to wait
(for its time, or for a document with the same content) goes back to the topic, on the second lane, where it is in nobody's way.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential

from services.ingest import intake, rules, twins
from services.ingest.cache import cached_answer
from shared.contracts import ids
from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import Inspection
from shared.contracts.options import Lane, Options, options_hash, page_ranges, selected_pages
from shared.contracts.records import (
    DocumentOpened,
    DocumentRejected,
    DocumentSubmitted,
    SourceInfo,
    SourceRef,
)
from shared.documents.opener import Documents
from shared.documents.passwords import password_of
from shared.models.fingerprint import pipeline_fingerprint
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.catalog import load
from shared.streams.stage import Delivery, Emit
from shared.telemetry import metrics
from shared.vlm.profile import profile_named

RESUBMIT_WAIT_S = 2.0
"""A submission that is not due yet (`not_before`) goes back to the topic after at most this long."""
WAITING = load().bulk_of("docs.incoming") or "docs.incoming"
"""Where it goes."""


class Ingest:
    """The stage `ingest`."""

    name = "ingest"
    phase = Phase.ingest

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = open_store(settings)
        self._bucket = settings.objects.bucket
        self._documents = Documents(settings.limits)
        self._inspecting = asyncio.Semaphore(settings.ingest.inspections)
        self._fingerprint = pipeline_fingerprint(settings)
        self._folder = tempfile.TemporaryDirectory(prefix="docfleet-ingest-", ignore_cleanup_errors=True)

    def decode(self, value: bytes, key: bytes | None) -> intake.Intake:
        return intake.read(value, key)

    def cost(self, record: intake.Intake) -> int:
        return 0

    async def start(self) -> None:
        await self._documents.start()

    async def stop(self) -> None:
        await self._documents.close()
        await self._store.close()
        self._folder.cleanup()

    async def process(self, delivery: Delivery[intake.Intake]) -> list[Emit]:
        """Answer every submission of a record. With more than one, the failure of one is its own answer only."""
        submissions = delivery.record.submissions
        outputs: list[Emit] = []
        for submission in submissions:
            try:
                outputs.extend(await self._answer(submission, delivery))
            except DocfleetError as error:
                if len(submissions) == 1:
                    raise
                outputs.extend(await self._rejected(submission, error, delivery))
        return outputs

    async def failed(self, delivery: Delivery[intake.Intake], error: DocfleetError) -> list[Emit]:
        """`DocumentRejected` for each submission of the record."""
        return [emit for s in delivery.record.submissions for emit in await self._rejected(s, error, delivery)]

    async def _rejected(
        self, submission: DocumentSubmitted, error: DocfleetError, delivery: Delivery[intake.Intake]
    ) -> list[Emit]:
        if error.code is ErrorCode.conflict:
            return []  # the id belongs to another source: answering would end that document
        with contextlib.suppress(DocfleetError):  # a rule that refuses is the very error
            if self._ruled(submission, delivery) is None:
                return []
        source = submission.source
        if submission.document_id is None and source.etag is None:
            with contextlib.suppress(
                DocfleetError
            ):  # an object that is not there has no etag: its id is that of the bare key
                source = msgspec.structs.replace(
                    source, etag=(await self._store.stat(source.bucket, source.key, version_id=source.version_id)).etag
                )
        document_id = _document_id(source, submission.document_id)
        event = DocumentRejected(
            document_id=document_id,
            generation=submission.generation,
            source=_source_info(source),
            error=error.info(Phase.ingest),
            submitted_at=delivery.timestamp,
            trace_id=delivery.trace_id,
        )
        metrics.INGEST_DOCUMENTS.labels(outcome="rejected").inc()
        return [Emit("docs.results", document_id, event)]

    def _ruled(self, submission: DocumentSubmitted, delivery: Delivery[intake.Intake]) -> DocumentSubmitted | None:
        source, event = submission.source, delivery.record.event
        if event and source.bucket == self._bucket and keys.is_ours(source.key):
            return (
                None  # a server that tells of all its buckets tells of our outputs too, and they must not become inputs
            )
        return rules.applied(self._settings.ingest.rules, submission, event=event)

    async def _answer(self, submission: DocumentSubmitted, delivery: Delivery[intake.Intake]) -> list[Emit]:
        """The answer to a submission; none to an event that a rule ignores."""
        ruled = self._ruled(submission, delivery)
        if ruled is None:
            metrics.INGEST_DOCUMENTS.labels(outcome="ignored").inc()
            return []
        submission = ruled
        now = datetime.now(UTC)
        if submission.not_before is not None and submission.not_before > now:
            await asyncio.sleep(min((submission.not_before - now).total_seconds(), RESUBMIT_WAIT_S))
            metrics.INGEST_DOCUMENTS.labels(outcome="deferred").inc()
            return [Emit(WAITING, (delivery.key or b"").decode(errors="replace"), submission)]
        if submission.deadline is not None and submission.deadline <= now:
            raise DocfleetError(ErrorCode.timeout, "the deadline had passed before the document was opened")
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(_changed),
            stop=stop_after_attempt(1 + self._settings.ingest.changed_retries),
            wait=wait_exponential(multiplier=0.1, max=2.0),
            reraise=True,
        ):
            with attempt:
                submission, opened = await self._looked_into(ruled, delivery)
        return [await self._decided(submission, opened)]

    async def _looked_into(
        self, submission: DocumentSubmitted, delivery: Delivery[intake.Intake]
    ) -> tuple[DocumentSubmitted, Inspection]:
        """Pin the object and find out what it is. Raises `source_changed` when it is replaced meanwhile: then all of this again."""
        pinned = await self._pin(submission.source)
        submission = msgspec.structs.replace(submission, document_id=_document_id(pinned, submission.document_id))
        await self._keep_envelope(submission)
        inspection = await self._inspection(msgspec.structs.replace(submission, source=pinned), delivery)
        if inspection.source.etag != pinned.etag:
            raise _conflict()  # the same id and place, but another object than the one that was inspected first
        return msgspec.structs.replace(submission, source=pinned), inspection

    async def _decided(self, submission: DocumentSubmitted, opened: Inspection) -> Emit:
        """Answer from the cache, wait for a twin, or open. Replays (generation above 0) are always computed."""
        document_id = opened.document_id
        if opened.generation == 0:
            cached = await cached_answer(self._store, self._bucket, opened)
            if cached is None and submission.priority != "interactive" and self._settings.ingest.twin_wait_s > 0:
                turn = await twins.turn(
                    self._store, self._bucket, opened, time.time(), self._settings.ingest.twin_wait_s
                )
                if turn.kind == "ended":
                    cached = await cached_answer(self._store, self._bucket, opened)
                elif turn.kind == "wait":
                    metrics.INGEST_DOCUMENTS.labels(outcome="waiting").inc()
                    due = datetime.now(UTC) + timedelta(seconds=turn.wait_s)
                    return Emit(WAITING, document_id, msgspec.structs.replace(submission, not_before=due))
            if cached is not None:
                metrics.INGEST_DOCUMENTS.labels(outcome="cached").inc()
                return Emit("docs.results", document_id, cached)
        metrics.INGEST_DOCUMENTS.labels(outcome="opened").inc()
        return Emit("docs.results", document_id, self._opened(submission, opened))

    async def _pin(self, source: SourceRef) -> SourceRef:
        """The source with size and etag of the object as it is now. Raises `source_changed` when the event named another."""
        allowed = self._settings.objects.sources
        if allowed and source.bucket not in allowed:
            raise DocfleetError(
                ErrorCode.source_missing, "documents are not read from this bucket; add it to objects.sources"
            )
        stat = await self._store.stat(source.bucket, source.key, version_id=source.version_id)
        if source.version_id is None and (
            (source.etag is not None and _bare(source.etag) != stat.etag)
            or (source.size is not None and source.size != stat.size)
        ):
            raise DocfleetError(
                ErrorCode.source_changed, "the object was replaced after it was submitted; submit it again"
            )
        if stat.size == 0:
            raise DocfleetError(ErrorCode.empty_file, "the file is empty")
        if stat.size > (limit := self._settings.limits.max_file_bytes):
            raise DocfleetError(
                ErrorCode.too_large, f"the file has {stat.size} bytes, the limit is {limit} (limits.max_file_bytes)"
            )
        return msgspec.structs.replace(source, etag=stat.etag, size=stat.size)

    async def _keep_envelope(self, submission: DocumentSubmitted) -> None:
        key = keys.envelope(submission.document_id or "", submission.generation)
        stored = decode(await self._store.put_once(self._bucket, key, encode(submission)), DocumentSubmitted)
        if not _same_place(stored.source, submission.source):
            raise _conflict()

    async def _inspection(self, submission: DocumentSubmitted, delivery: Delivery[intake.Intake]) -> Inspection:
        """What is stored about the document, or found out now."""
        key = keys.inspection(submission.document_id or "", submission.generation)
        if await self._store.exists(self._bucket, key):
            return decode(await self._store.get(self._bucket, key), Inspection)
        inspection = await self._inspect(submission, delivery)
        return decode(await self._store.put_once(self._bucket, key, encode(inspection)), Inspection)

    async def _inspect(self, submission: DocumentSubmitted, delivery: Delivery[intake.Intake]) -> Inspection:
        source, options = submission.source, submission.options
        filename = source.key.rsplit("/", 1)[-1]
        async with self._inspecting:
            started = time.monotonic()
            with tempfile.NamedTemporaryFile(dir=self._folder.name) as file:
                path = Path(file.name)
                await self._store.download(
                    source.bucket, source.key, path, etag=source.etag, version_id=source.version_id
                )
                content_sha256 = await asyncio.to_thread(_sha256_of, path)
                found = await self._documents.inspect(
                    path, filename=filename, password=password_of(self._settings, options.password_ref)
                )
        if len(found.pages) > (limit := self._settings.limits.max_pages):
            raise DocfleetError(
                ErrorCode.too_large,
                f"the document has {len(found.pages)} pages, the limit is {limit} (limits.max_pages)",
            )
        use_vl = bool(self._settings.vl.endpoints) and options.vl != "off"
        return Inspection(
            document_id=submission.document_id or "",
            generation=submission.generation,
            source=msgspec.structs.replace(
                _source_info(source), sha256=content_sha256, mime_type=found.mime_type, filename=filename
            ),
            options=options,
            options_hash=options_hash(options),
            pipeline_fingerprint=self._fingerprint,
            unit=found.unit,
            pages=found.pages,
            selected=page_ranges(selected_pages(options.pages, len(found.pages))),
            vl_profile=(options.vl_profile or self._settings.vl.profile) if use_vl else None,
            range_size=self._range_size(options) if use_vl and found.unit else 0,
            tenant=submission.tenant,
            submitted_at=delivery.timestamp,
            opened_at=time.time(),
            ingest_s=time.monotonic() - started,
            trace_id=delivery.trace_id,
            outline=found.outline,
            warnings=found.warnings,
        )

    def _range_size(self, options: Options) -> int:
        """Pages of one VL request: in `vl: document`, with a profile that can, unless nothing is to be read at all."""
        if options.vl != "document" or options.ocr == "off":
            return 0
        try:
            profile = profile_named(options.vl_profile or self._settings.vl.profile, self._settings.vl.profiles)
        except DocfleetError:
            return 0  # vl_worker says so, in every block that the small models then read
        if not profile.range_pages:
            return 0
        wanted = self._settings.vl.range_pages
        return profile.range_pages if wanted is None else wanted

    def _opened(self, submission: DocumentSubmitted, inspection: Inspection) -> DocumentOpened:
        return DocumentOpened(
            document_id=inspection.document_id,
            generation=inspection.generation,
            source=submission.source,
            pages_total=len(inspection.pages),
            selected=inspection.selected,
            options_hash=inspection.options_hash,
            pipeline_fingerprint=inspection.pipeline_fingerprint,
            vl_profile=inspection.vl_profile,
            range_size=inspection.range_size,
            lane=self._lane(submission, len(inspection.pages)),
            deadline=submission.deadline.timestamp() if submission.deadline else None,
            submitted_at=inspection.submitted_at,
            opened_at=inspection.opened_at,
            trace_id=inspection.trace_id,
        )

    def _lane(self, submission: DocumentSubmitted, pages: int) -> Lane:
        if submission.priority == "interactive":
            return "first"
        return "bulk" if submission.priority == "bulk" or pages > self._settings.ingest.bulk_pages else "first"


def _document_id(source: SourceRef, given: str | None) -> str:
    if given:
        return given
    return ids.document_id_of_object(source.bucket, source.key, source.version_id or source.etag or "")


def _changed(error: BaseException) -> bool:
    return isinstance(error, DocfleetError) and error.code is ErrorCode.source_changed


def _same_place(one: SourceRef, other: SourceRef) -> bool:
    """Whether two submissions mean the same object; what one of them does not pin does not tell them apart."""
    return (one.bucket, one.key) == (other.bucket, other.key) and all(
        mine is None or theirs is None or mine == theirs
        for mine, theirs in ((one.version_id, other.version_id), (_bare(one.etag), _bare(other.etag)))
    )


def _bare(etag: str | None) -> str | None:
    """An etag without the quotes that HTTP puts around it."""
    return etag.strip('"') if etag is not None else None


def _conflict() -> DocfleetError:
    return DocfleetError(
        ErrorCode.conflict,
        "this document id and generation already belong to another source; use another id or the next generation",
    )


def _source_info(source: SourceRef) -> SourceInfo:
    return SourceInfo(
        bucket=source.bucket, key=source.key, version_id=source.version_id, etag=source.etag, size=source.size
    )


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
