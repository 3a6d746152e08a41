"""The same content with the same options, read by the same models, is answered from what was parsed before.

Only a `success` has an entry (compose writes it). A hit is a copy under the new document's own id and source, so results never
point into each other and each can be purged alone. Replays (generation above 0) never look here.
"""

from __future__ import annotations

import asyncio

import msgspec

from shared.contracts.codec import decode, encode, sha256
from shared.contracts.document import ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import CacheEntry, Inspection
from shared.contracts.records import DocumentCached, ObjectRef
from shared.objects import keys
from shared.objects.store import ObjectStore


async def cached_answer(store: ObjectStore, bucket: str, inspection: Inspection) -> DocumentCached | None:
    """The answer for a document whose content is known, its results copied; none when it has to be parsed."""
    key = keys.cache(
        inspection.tenant, inspection.source.sha256 or "", inspection.options_hash, inspection.pipeline_fingerprint
    )
    try:
        entry = decode(await store.get(bucket, key), CacheEntry)
        if entry.document_id == inspection.document_id:
            return None  # its own result: the join knows that this document is done
        document = await store.get(bucket, entry.result.key)
        markdown = await store.get(bucket, entry.markdown.key) if entry.markdown is not None else None
    except DocfleetError as error:
        if error.code is ErrorCode.source_missing:  # never parsed, or purged since
            return None
        raise
    own_markdown = keys.markdown(inspection.document_id, inspection.generation)
    copied = await asyncio.to_thread(_readdressed, document, inspection, own_markdown)
    result = await _copy(store, bucket, keys.document(inspection.document_id, inspection.generation), copied)
    return DocumentCached(
        document_id=inspection.document_id,
        generation=inspection.generation,
        source=inspection.source,
        result=result,
        markdown=await _copy(store, bucket, own_markdown, markdown) if markdown is not None else None,
        totals=entry.totals,
        warnings_total=entry.warnings_total,
        submitted_at=inspection.submitted_at,
        trace_id=inspection.trace_id,
    )


def _readdressed(document: bytes, inspection: Inspection, own_markdown: str) -> bytes:
    parsed = decode(document, ParsedDocument)
    markdown = parsed.markdown
    if markdown.uri is not None:
        markdown = msgspec.structs.replace(markdown, uri=own_markdown)
    return encode(
        msgspec.structs.replace(
            parsed,
            document_id=inspection.document_id,
            generation=inspection.generation,
            source=inspection.source,
            markdown=markdown,
            lineage=msgspec.structs.replace(parsed.lineage, trace_id=inspection.trace_id),
        )
    )


async def _copy(store: ObjectStore, bucket: str, key: str, data: bytes) -> ObjectRef:
    stored = await store.put_once(bucket, key, data)
    return ObjectRef(bucket=bucket, key=key, sha256=sha256(stored), bytes=len(stored))
