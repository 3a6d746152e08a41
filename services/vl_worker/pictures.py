"""The page pictures of the store, as the JPEGs that a model is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from services.vl_worker.decoded import DecodedPages
from services.vl_worker.picture import cut, is_blank, to_jpeg
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import PageLayout
from shared.documents.opener import Documents
from shared.objects.store import ObjectStore
from shared.vlm.profile import Bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PagePictures:
    """Cuts regions out of stored pictures."""

    def __init__(
        self, store: ObjectStore, bucket: str, documents: Documents, cache_bytes: int, cache_pages: int
    ) -> None:
        self._pages = DecodedPages(store, bucket, documents, cache_bytes, cache_pages)

    async def jpeg(self, layout: PageLayout, bbox: Sequence[float] | None, bounds: Bounds) -> bytes | None:
        """The part `bbox` (page units, none is the whole page) within the bounds; none when it is blank.

        Raises `DocfleetError(internal)` where the layout names no picture.
        """
        if layout.picture_key is None:
            raise DocfleetError(ErrorCode.internal, "the layout has no picture to read from", page_no=layout.page_no)
        page = await self._pages.page(layout.picture_key)
        box = list(bbox) if bbox is not None else [0.0, 0.0, layout.width, layout.height]
        width, height, left, top = _frame(layout, page.shape[1], page.shape[0])
        part = cut(page, box, width / layout.width, height / layout.height, (left, top))
        return await asyncio.to_thread(_shown, part, bounds)

    def close(self) -> None:
        """Forget all pages."""
        self._pages.close()


def _frame(layout: PageLayout, width: int, height: int) -> tuple[int, int, int, int]:
    """Width and height of the whole page's picture, and the pixel of it at which the stored one, of this size, begins."""
    whole, box = (layout.picture_width, layout.picture_height), layout.picture_box
    if box is None or whole == (width, height) or whole[0] is None or whole[1] is None:
        return width, height, 0, 0
    return whole[0], whole[1], box[0], box[1]


def _shown(part: NDArray[np.uint8], bounds: Bounds) -> bytes | None:
    return None if is_blank(part) else to_jpeg(part, bounds)
