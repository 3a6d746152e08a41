"""What compose stores at the end of a document, for tests that have no fleet: result, cache entry of a success, mark, in this order."""

from __future__ import annotations

from shared.contracts.codec import decode, encode
from shared.contracts.document import Lineage, ParsedDocument
from shared.contracts.layout import CacheEntry, DoneMark, Inspection
from shared.contracts.records import ObjectRef, Status
from shared.objects import keys
from shared.objects.store import ObjectStore


async def end(
    store: ObjectStore, bucket: str, document_id: str, status: Status = "success", generation: int = 0
) -> None:
    """End a document that ingest has opened."""
    found = decode(await store.get(bucket, keys.inspection(document_id, generation)), Inspection)
    if status == "success":
        lineage = Lineage(
            pipeline_version="1", pipeline_fingerprint=found.pipeline_fingerprint, options_hash=found.options_hash
        )
        parsed = ParsedDocument(
            document_id=document_id, generation=generation, source=found.source, status="success", lineage=lineage
        )
        result = ObjectRef(bucket=bucket, key=keys.document(document_id, generation))
        await store.put_once(bucket, result.key, encode(parsed))
        entry = CacheEntry(document_id=document_id, generation=generation, source=found.source, result=result)
        key = keys.cache(found.tenant, found.source.sha256 or "", found.options_hash, found.pipeline_fingerprint)
        await store.put(bucket, key, encode(entry))
    mark = DoneMark(document_id=document_id, generation=generation, status=status)
    await store.put(bucket, keys.done(document_id), encode(mark))
