"""Concurrent twins: of documents with the same content, options and tenant one is computed, the others wait for its result.

Whoever writes the lease computes; it is written once, so the store decides who. The holder's own events come again without harm, for the
lease names it. A lease ends in three ways: with a result in the cache, with the holder's end without one (it was no `success`, or was
cancelled: then everybody computes, because waiting for one another in turn would take as long as all of them together), or by its
time (the holder was lost with its topics), after which the next lease is written.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shared.contracts.codec import decode, encode
from shared.contracts.layout import Inspection, Lease
from shared.objects import keys
from shared.objects.store import ObjectStore

MIN_WAIT_S, MAX_WAIT_S = 0.5, 15.0
"""Bounds of the time until a waiting document is looked at again."""
SHARE = 0.5
"""A document is looked at again after this share of the time that its twin has been computed for: few looks, and little lost."""


class Turn(msgspec.Struct, frozen=True):
    """Whose turn it is: `own` (compute), `ended` (the twin has ended; a result of it is in the cache by now), `wait` for `wait_s` seconds."""

    kind: Literal["own", "ended", "wait"]
    wait_s: float = 0.0


async def turn(store: ObjectStore, bucket: str, inspection: Inspection, now: float, lease_s: float) -> Turn:
    """Take the lease of a content, or find who has it. `now` in seconds since the epoch. Raises `Unavailable`."""
    content = keys.cache(
        inspection.tenant, inspection.source.sha256 or "", inspection.options_hash, inspection.pipeline_fingerprint
    )
    mine = encode(Lease(document_id=inspection.document_id, taken_at=now, expires_at=now + lease_s))
    number = 0
    while True:
        held = decode(await store.put_once(bucket, keys.lease(content, number), mine), Lease)
        if held.document_id == inspection.document_id:
            return Turn("own")
        # compose writes the cache entry before `done`: who sees the one finds the other.
        if await store.exists(bucket, keys.done(held.document_id)):
            return Turn("ended")
        if held.expires_at > now:
            return Turn("wait", min(MAX_WAIT_S, max(MIN_WAIT_S, SHARE * (now - held.taken_at))))
        number += 1
