"""Reconciliation: objects of a bucket that have no result, told of once more.

Notifications are a hint: object stores lose them when they restart or their broker is away. So the bucket itself is asked what is in it. An
object counts as answered when its document has a `done/` mark, whatever became of it, also when its results were purged since. What is
sent for the others is a bucket notification like the one that was lost, so that the same rules hold; twice is harmless, ids absorb it.

A document's id is found from the object as ingest does it (bucket, key, version id or etag). One that was submitted under an id of the
submitter's own is not known by its object: reconcile the buckets whose objects come by notification.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Literal
from urllib.parse import quote

import msgspec

from docfleet.sending import Sender
from shared.contracts import ids
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.objects import keys
from shared.objects.store import ObjectStat, ObjectStore
from shared.settings import Settings
from shared.streams.catalog import load

AT_ONCE = 32
"""Objects without a mark that are looked at together."""

State = Literal["new", "open", "done", "young", "unwanted"]


class Swept(msgspec.Struct):
    """Objects by what was found of them. `open` were taken but have no result yet; `unwanted` are those that a rule ignores or that the fleet
    wrote itself."""

    new: int = 0
    open: int = 0
    done: int = 0
    young: int = 0
    unwanted: int = 0
    sent: int = 0

    def add(self, state: State) -> None:
        """Count one."""
        setattr(self, state, getattr(self, state) + 1)


async def sweep(
    settings: Settings,
    store: ObjectStore,
    bucket: str,
    prefix: str = "",
    *,
    older_than_s: float,
    also_open: bool = False,
    sender: Sender | None = None,
    told: Callable[[str, State], None] = lambda key, state: None,
) -> Swept:
    """Look at all objects below a prefix that are older than `older_than_s` seconds, and send those without a result (none without `sender`).

    `also_open`: also those that were taken and have no result, for a fleet that lost its topics. `told` hears of every object that is new or
    open. Holds the ids of the documents that ended (some 100 bytes each), nothing else. Raises `Unavailable`, `source_missing`.
    """
    swept = Swept()
    done = {bytes.fromhex(i) for i in [one async for one in _ended(store, settings.objects.bucket)] if _is_of_object(i)}
    youngest = time.time() - older_than_s
    async for batch in _batches(store, bucket, prefix):
        states = await asyncio.gather(*(_state(settings, store, bucket, stat, done, youngest) for stat in batch))
        for stat, (state, version) in zip(batch, states, strict=True):
            swept.add(state)
            if state not in ("new", "open"):
                continue
            told(stat.key, state)
            if sender is not None and (state == "new" or also_open):
                topic = load().bulk_of("docs.incoming") or "docs.incoming"
                sender.send_raw(topic, f"{bucket}/{stat.key}", _notification(bucket, stat, version))
                swept.sent += 1
    return swept


async def listed(store: ObjectStore, bucket: str, prefix: str) -> AsyncIterator[ObjectStat]:
    """Objects below a prefix. Raises `source_missing` that names the bucket where there is none of that name, or none for us."""
    try:
        async for stat in store.walk(bucket, prefix):
            yield stat
    except DocfleetError as error:
        if error.code is not ErrorCode.source_missing:
            raise
        raise DocfleetError(error.code, f"bucket {bucket} cannot be listed: is it there? ({error.message})") from error


async def _ended(store: ObjectStore, bucket: str) -> AsyncIterator[str]:
    prefix = keys.done("")
    try:
        async for stat in store.walk(bucket, prefix):
            yield stat.key.removeprefix(prefix)
    except DocfleetError as error:
        if error.code is not ErrorCode.source_missing:  # no document ended yet
            raise


def _is_of_object(document_id: str) -> bool:
    return len(document_id) == 32 and all(c in "0123456789abcdef" for c in document_id)


async def _batches(store: ObjectStore, bucket: str, prefix: str) -> AsyncIterator[list[ObjectStat]]:
    batch: list[ObjectStat] = []
    async for stat in listed(store, bucket, prefix):
        batch.append(stat)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


async def _state(
    settings: Settings, store: ObjectStore, bucket: str, stat: ObjectStat, done: set[bytes], youngest: float
) -> tuple[State, str | None]:
    """What is known of an object, and its version id where the bucket keeps versions (a listing does not say)."""
    rules = settings.ingest.rules
    rule = next((rule for rule in rules if rule.fits(bucket, stat.key, stat.size, None)), None)
    if (rule is not None and not rule.accept) or (bucket == settings.objects.bucket and keys.is_ours(stat.key)):
        return "unwanted", None
    if stat.last_modified > youngest:
        return "young", None
    by_etag = ids.document_id_of_object(bucket, stat.key, stat.etag)
    if bytes.fromhex(by_etag) in done:
        return "done", None
    try:
        version = (await store.stat(bucket, stat.key)).version_id
    except DocfleetError:
        return "young", None  # removed or replaced a moment ago
    version = None if version in ("", "null") else version
    document_id = ids.document_id_of_object(bucket, stat.key, version) if version else by_etag
    if bytes.fromhex(document_id) in done:
        return "done", version
    taken = await store.exists(settings.objects.bucket, keys.envelope(document_id, 0))
    return ("open" if taken else "new"), version


def _notification(bucket: str, stat: ObjectStat, version: str | None) -> bytes:
    """S3's own form of the event that was lost."""
    found = {"key": quote(stat.key), "size": stat.size, "eTag": stat.etag}
    if version:
        found["versionId"] = version
    record = {
        "eventVersion": "2.1",
        "eventSource": "docfleet:reconcile",
        "eventName": "ObjectCreated:Put",
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": bucket}, "object": found},
    }
    return encode({"Records": [record]})
