"""The buckets of a fleet: its own, and those that documents lie in, made and announced where they are not yet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.objects.open import open_store
from shared.objects.s3 import S3Store
from shared.settings import Settings

AGAIN_S = 1.0
"""Seconds between two attempts at a store that does not answer yet."""


async def apply(
    settings: Settings, *, notify: str | None = None, wait_s: float = 0.0, told: Callable[[str], None] = lambda _: None
) -> None:
    """Make the bucket of the fleet and those of `objects.sources`; with `notify`, an ARN, have the store tell that queue of new sources.

    May be run again. Waits up to `wait_s` seconds for a store that is not there yet. Raises `Unavailable` after that, and
    `DocfleetError(invalid_message)` where a notification is asked of a folder, or for no bucket.
    """
    objects = settings.objects
    if notify and objects.kind != "s3":
        raise DocfleetError(ErrorCode.invalid_message, "a folder tells nobody of its objects: objects.kind must be s3")
    if notify and not objects.sources:
        raise DocfleetError(
            ErrorCode.invalid_message, "set DOCFLEET_OBJECTS__SOURCES to the buckets that are to be announced"
        )
    store = open_store(settings)
    until = time.monotonic() + wait_s
    try:
        while True:
            try:
                for bucket in dict.fromkeys([objects.bucket, *objects.sources]):
                    await store.ensure_bucket(bucket)
                    told(f"bucket {bucket} is there")
                if notify and isinstance(store, S3Store):
                    for bucket in objects.sources:
                        new = await store.announce(bucket, notify)
                        told(f"new objects of {bucket} are {'now ' if new else ''}told to {notify}")
                return
            except Unavailable as error:
                if time.monotonic() >= until:
                    raise
                told(f"waiting for the store: {error}")
                await asyncio.sleep(min(AGAIN_S, max(0.0, until - time.monotonic())))
    finally:
        await store.close()
