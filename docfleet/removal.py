"""Purge and erase: what the fleet keeps of a document is removed, and its record becomes a tombstone.

The join is told first (`DocumentForgotten`): it ends what is still open and publishes the tombstone. Then the objects go: results, work,
the cache entry that points to the results, and its leases. `done/` stays, marked as removed, so that reconcile never submits the object
again. What lies in the submitters' own buckets is theirs and stays, except for what `docfleet submit` uploaded itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import msgspec

from docfleet.sending import Sender
from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import CacheEntry, DoneMark, Inspection
from shared.contracts.records import DocumentForgotten
from shared.objects import keys
from shared.objects.store import ObjectStore, optional
from shared.settings import Settings

AT_ONCE = 16
"""Objects removed together."""
DRAIN_S = 5.0
"""Seconds after which an erased document is swept once more: what was in flight when it was forgotten has been stored by then or is dropped."""


class Removed(msgspec.Struct):
    """What a purge did, or would do. `busy` documents have a newer generation under way and were left alone."""

    documents: int = 0
    objects: int = 0
    busy: int = 0


class Removal:
    """Removes documents from one store."""

    def __init__(self, settings: Settings, store: ObjectStore, uploads: str) -> None:
        """`uploads` is the bucket of `docfleet submit`."""
        self._store = store
        self._bucket = settings.objects.bucket
        self._uploads = uploads

    async def purge(
        self,
        older_than_s: float,
        sender: Sender | None,
        told: Callable[[str, int], None] = lambda document_id, objects: None,
    ) -> Removed:
        """Remove every document that ended more than `older_than_s` seconds ago; without `sender` only count. Raises `Unavailable`."""
        removed = Removed()
        oldest = time.time() - older_than_s
        async for mark in self._ended_before(oldest):
            generations = await self._generations(mark.document_id)
            if generations and max(generations) > mark.generation:
                removed.busy += 1
                continue
            objects = await self._objects(mark.document_id, generations)
            told(mark.document_id, len(objects))
            removed.documents += 1
            removed.objects += len(objects)
            if sender is not None:
                await self._remove(mark, objects, sender)
        return removed

    async def erase(self, document_id: str, sender: Sender, drain_s: float = DRAIN_S) -> int:
        """Remove everything of one document, whatever state it is in; the number of objects. Raises `Unavailable`, and `source_missing` when
        nothing is stored of it."""
        stored = await optional(self._store, self._bucket, keys.done(document_id))
        mark = decode(stored, DoneMark) if stored is not None else None
        generations = await self._generations(document_id)
        if mark is None and not generations:
            raise DocfleetError(ErrorCode.source_missing, f"nothing is stored of document {document_id}")
        last = max([*generations, *([mark.generation] if mark else [])])
        status = mark.status if mark is not None and mark.generation == last else "cancelled"
        mark = DoneMark(document_id=document_id, generation=last, status=status, removed=True)
        objects = await self._objects(document_id, generations)
        count = len(objects)
        await self._remove(mark, objects, sender)
        await asyncio.sleep(drain_s)
        late = await self._objects(document_id, await self._generations(document_id))
        await self._delete(late)
        return count + len(late)

    async def _remove(self, mark: DoneMark, objects: list[tuple[str, str]], sender: Sender) -> None:
        sender.send(
            "docs.results",
            mark.document_id,
            DocumentForgotten(document_id=mark.document_id, generation=mark.generation),
        )
        sender.flush()
        # The mark last: a purge that was cut short takes the document up again.
        await self._delete(objects)
        await self._store.put(
            self._bucket,
            keys.done(mark.document_id),
            encode(msgspec.structs.replace(mark, removed=True)),
            "application/json",
        )

    async def _ended_before(self, oldest: float) -> AsyncIterator[DoneMark]:
        try:
            async for stat in self._store.walk(self._bucket, keys.done("")):
                if (
                    stat.last_modified < oldest
                    and (data := await optional(self._store, self._bucket, stat.key)) is not None
                ):
                    mark = decode(data, DoneMark)
                    if not mark.removed:
                        yield mark
        except DocfleetError as error:
            if error.code is not ErrorCode.source_missing:
                raise

    async def _generations(self, document_id: str) -> set[int]:
        """Generations of which anything is stored."""
        found = set()
        for prefix in (f"work/{document_id}/", f"parsed/{document_id}/"):
            async for stat in self._walk(self._bucket, prefix):
                part = stat.removeprefix(prefix).split("/", 1)[0]
                if part.isdigit():
                    found.add(int(part))
        return found

    async def _objects(self, document_id: str, generations: set[int]) -> list[tuple[str, str]]:
        """Bucket and key of all that is kept of a document, the inspection last: it leads to the cache."""
        found = [(self._bucket, key) for key in [k async for k in self._walk(self._bucket, f"parsed/{document_id}/")]]
        found += [(self._bucket, key) for key in [k async for k in self._walk(self._bucket, f"work/{document_id}/")]]
        for generation in generations:
            found += [(self._bucket, key) for key in await self._cache_of(document_id, generation)]
        found += [(self._uploads, key) async for key in self._walk(self._uploads, f"{document_id}/")]
        return sorted(found, key=lambda one: one[1].endswith("/inspect.json"))

    async def _cache_of(self, document_id: str, generation: int) -> list[str]:
        """The cache entry that points to this document's results, and the leases of its content. An entry of another document stays."""
        stored = await optional(self._store, self._bucket, keys.inspection(document_id, generation))
        if stored is None:
            return []
        inspection = decode(stored, Inspection)
        entry = keys.cache(
            inspection.tenant, inspection.source.sha256 or "", inspection.options_hash, inspection.pipeline_fingerprint
        )
        pointing = await optional(self._store, self._bucket, entry)
        if pointing is not None and decode(pointing, CacheEntry).document_id != document_id:
            return []
        leases = [key async for key in self._walk(self._bucket, f"{entry}.lease/")]
        return [*([entry] if pointing is not None else []), *leases]

    async def _walk(self, bucket: str, prefix: str) -> AsyncIterator[str]:
        try:
            async for stat in self._store.walk(bucket, prefix):
                yield stat.key
        except DocfleetError as error:
            if error.code is not ErrorCode.source_missing:  # the bucket is not there
                raise

    async def _delete(self, objects: list[tuple[str, str]]) -> None:
        for start in range(0, len(objects), AT_ONCE):
            await asyncio.gather(*(self._store.remove(*one) for one in objects[start : start + AT_ONCE]))
