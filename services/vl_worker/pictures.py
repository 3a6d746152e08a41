"""The page pictures of the store, as the JPEGs that a model is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from services.vl_worker.picture import cut, is_blank, to_jpeg
from shared.children.block import Block
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import PageLayout
from shared.documents.opener import Documents
from shared.objects.store import ObjectStore
from shared.vlm.profile import Bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AT_ONCE = 2
"""Decoded pages held at once: 12 MB each at A4 and 200 dpi, and decoding is CPU work of one child."""


class PagePictures:
    """Cuts out of stored pictures; a decoded page is held only while it is cut."""

    def __init__(self, store: ObjectStore, bucket: str, documents: Documents) -> None:
        self._store, self._bucket, self._documents = store, bucket, documents
        self._decoding = asyncio.Semaphore(AT_ONCE)

    async def jpeg(self, layout: PageLayout, bbox: Sequence[float] | None, bounds: Bounds) -> bytes | None:
        """The part `bbox` (page units, none is the whole page) within the bounds; none when it is blank.

        Raises `DocfleetError(internal)` where the layout names no picture.
        """
        if layout.picture_key is None:
            raise DocfleetError(ErrorCode.internal, "the layout has no picture to read from", page_no=layout.page_no)
        stored = await self._store.get(self._bucket, layout.picture_key)
        box = list(bbox) if bbox is not None else [0.0, 0.0, layout.width, layout.height]
        async with self._decoding:
            with Block.of(stored) as jpeg:
                width, height, pixels = await self._documents.decode(jpeg)
            with pixels:
                page = pixels.array((height, width, 3))
                part = cut(page, box, width / layout.width, height / layout.height).copy()
        return await asyncio.to_thread(_shown, part, bounds)


def _shown(part: NDArray[np.uint8], bounds: Bounds) -> bytes | None:
    return None if is_blank(part) else to_jpeg(part, bounds)
