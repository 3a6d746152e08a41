"""What a submitted object is: pinned, its envelope kept, fetched, hashed, inspected in a document child, and all of that stored once."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from shared import faultpoints
from shared.children.places import Places
from shared.children.preference import bulk_places
from shared.contracts import ids
from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import Inspection
from shared.contracts.options import Options, options_hash, page_ranges, selected_pages
from shared.contracts.places import bare, same_place, taken
from shared.contracts.records import DocumentSubmitted, SourceInfo, SourceRef
from shared.documents.opener import Documents
from shared.documents.passwords import password_of
from shared.models.fingerprint import pipeline_fingerprint
from shared.objects import keys
from shared.objects.scratch import Scratch
from shared.objects.store import ObjectStore
from shared.settings import Settings
from shared.streams.stage import Delivery
from shared.vlm.profile import profile_named


class Inspector:
    """Looks at submitted objects, `ingest.inspections` of them at once."""

    def __init__(self, settings: Settings, store: ObjectStore) -> None:
        self._settings = settings
        self._store = store
        self._bucket = settings.objects.bucket
        self._documents = Documents(settings.limits)
        at_once = settings.ingest.inspections
        self._inspecting = Places(at_once, bulk_places(at_once))
        self._fingerprint = pipeline_fingerprint(settings)
        self._folder = Scratch("docfleet-ingest")

    async def start(self) -> None:
        """Spawn the document child."""
        await self._documents.start()

    async def close(self) -> None:
        """End it, and remove what was fetched."""
        await self._documents.close()
        self._folder.close()

    async def look(
        self, submission: DocumentSubmitted, delivery: Delivery[Any]
    ) -> tuple[DocumentSubmitted, Inspection]:
        """Pin the object and find out what it is. Raises `source_changed` when it is replaced meanwhile: then all of this again."""
        pinned = await self._pin(submission.source)
        submission = msgspec.structs.replace(submission, document_id=document_id_of(pinned, submission.document_id))
        await self._keep_envelope(submission)
        faultpoints.reached("after_envelope_before_inspection")
        inspection = await self._inspection(msgspec.structs.replace(submission, source=pinned), delivery)
        if inspection.source.etag != pinned.etag:
            # The same id and place, but another object than the one that was inspected first.
            raise taken(inspection.document_id, submission.generation)
        return msgspec.structs.replace(submission, source=pinned), inspection

    async def _pin(self, source: SourceRef) -> SourceRef:
        """The source with size and etag of the object as it is now. Raises `source_changed` when the event named another."""
        allowed = self._settings.objects.sources
        if allowed and source.bucket not in allowed:
            raise DocfleetError(
                ErrorCode.source_missing, "documents are not read from this bucket; add it to objects.sources"
            )
        if source.bucket == self._bucket and keys.is_ours(source.key):
            raise DocfleetError(ErrorCode.source_missing, "what the fleet itself stored is no document to be read")
        stat = await self._store.stat(source.bucket, source.key, version_id=source.version_id)
        if source.version_id is None and (
            (source.etag is not None and bare(source.etag) != stat.etag)
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
        if not same_place(stored.source, submission.source):
            raise taken(stored.document_id or "", submission.generation)

    async def _inspection(self, submission: DocumentSubmitted, delivery: Delivery[Any]) -> Inspection:
        """What is stored about the document, or found out now."""
        key = keys.inspection(submission.document_id or "", submission.generation)
        if await self._store.exists(self._bucket, key):
            return decode(await self._store.get(self._bucket, key), Inspection)
        inspection = await self._inspect(submission, delivery)
        return decode(await self._store.put_once(self._bucket, key, encode(inspection)), Inspection)

    async def _inspect(self, submission: DocumentSubmitted, delivery: Delivery[Any]) -> Inspection:
        source, options = submission.source, submission.options
        filename = source.key.rsplit("/", 1)[-1]
        async with self._inspecting.hold():
            started = time.monotonic()
            with tempfile.NamedTemporaryFile(dir=self._folder.path) as file:
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
                source_info(source), sha256=content_sha256, mime_type=found.mime_type, filename=filename
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


def document_id_of(source: SourceRef, given: str | None) -> str:
    """The id that the submitter gave, or the one of the object as it is pinned."""
    if given:
        return given
    return ids.document_id_of_object(source.bucket, source.key, source.version_id or source.etag or "")


def source_info(source: SourceRef) -> SourceInfo:
    """A source of which no more is known than where it lies."""
    return SourceInfo(
        bucket=source.bucket, key=source.key, version_id=source.version_id, etag=source.etag, size=source.size
    )


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
