"""`done/{document_id}`: how a document ended, for tools that look for what never did (`docfleet reconcile`)."""

from __future__ import annotations

from shared.contracts.codec import decode, encode
from shared.contracts.layout import DoneMark
from shared.objects import keys
from shared.objects.store import ObjectStore, optional


async def mark_ended(store: ObjectStore, bucket: str, mark: DoneMark, *, decided: bool) -> None:
    """Store the mark unless one of a higher generation is there. Of the same generation the first one stays, except that a `decided` one,
    of compose, corrects what ingest wrote; one that says that the document was removed stays in any case. Raises `Unavailable`.

    Ingest marks what it rejects or answers from the cache before its answer is out: the same submission, come again, is answered again. But
    a document that was parsed and whose object is gone since is rejected at its next submission too, and the join knows better. So only
    compose, told by the join, is `decided`.
    """
    if (before := await optional(store, bucket, keys.done(mark.document_id))) is not None:
        stored = decode(before, DoneMark)
        if stored.generation > mark.generation:
            return
        if stored.generation == mark.generation and (stored.removed or not decided or stored == mark):
            return
    await store.put(bucket, keys.done(mark.document_id), encode(mark), "application/json")
