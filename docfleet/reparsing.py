"""Documents parsed by other models than today's, parsed again: the stored envelope at the next generation.

The join ends the old generation only when the new one has a result of its own; until then users read the old one. A source that is gone or
was replaced since is told as such by ingest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from docfleet.sending import Sender
from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import DoneMark, Inspection
from shared.contracts.options import Priority
from shared.contracts.records import DocumentSubmitted
from shared.models.fingerprint import pipeline_fingerprint
from shared.objects import keys
from shared.objects.store import ObjectStore, optional
from shared.settings import Settings


class Reparsed(msgspec.Struct):
    """What a reparse did, or would do. `gone` documents have no envelope any more (purged)."""

    current: int = 0
    old: int = 0
    gone: int = 0
    sent: int = 0


async def reparse(
    settings: Settings,
    store: ObjectStore,
    *,
    documents: Sequence[str] = (),
    priority: Priority = "bulk",
    sender: Sender | None = None,
    told: Callable[[str, int], None] = lambda document_id, generation: None,
) -> Reparsed:
    """Submit again what was parsed under another fingerprint than that of these settings, or the named documents whatever theirs is.

    Without `sender` only counts. Only documents that ended are looked at, those without a result only by name. `told` hears of each with its
    new generation. Raises `Unavailable`.
    """
    bucket = settings.objects.bucket
    today = pipeline_fingerprint(settings)
    counts = Reparsed()
    async for mark in _marks(store, bucket, documents):
        envelope = await optional(store, bucket, keys.envelope(mark.document_id, mark.generation))
        inspection = await optional(store, bucket, keys.inspection(mark.document_id, mark.generation))
        if mark.removed or envelope is None:
            counts.gone += 1
            continue
        if not documents:
            if mark.status not in ("success", "partial_success") or inspection is None:
                continue
            if decode(inspection, Inspection).pipeline_fingerprint == today:
                counts.current += 1
                continue
        counts.old += 1
        generation = mark.generation + 1
        told(mark.document_id, generation)
        if sender is not None:
            again = msgspec.structs.replace(
                decode(envelope, DocumentSubmitted),
                document_id=mark.document_id,
                generation=generation,
                priority=priority,
                deadline=None,
                not_before=None,
            )
            sender.send("docs.incoming", mark.document_id, again)
            counts.sent += 1
    return counts


async def _marks(store: ObjectStore, bucket: str, documents: Sequence[str]) -> AsyncIterator[DoneMark]:
    for document_id in documents:
        data = await optional(store, bucket, keys.done(document_id))
        if data is None:
            raise DocfleetError(ErrorCode.source_missing, f"document {document_id} has not ended, or is not known")
        yield decode(data, DoneMark)
    if documents:
        return
    async for stat in store.walk(bucket, keys.done("")):
        data = await optional(store, bucket, stat.key)
        if data is not None:
            yield decode(data, DoneMark)
