"""Several pages in one request, their answers told apart by the model's own separator.

There is no second attempt at a range: whatever is wrong with it (another number of pages, a loop, a cut) its pages are read one by one,
each with a second attempt and a fallback of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.vl_worker.asking import Asker, Judged
from services.vl_worker.grammars.pages import split_pages
from services.vl_worker.modes.page import page
from services.vl_worker.pictures import PagePictures
from services.vl_worker.reading import PageBlocks, read_page
from shared.contracts.layout import PageLayout


async def page_range(asker: Asker, pictures: PagePictures, layouts: Sequence[PageLayout]) -> list[PageBlocks]:
    """The blocks of each page, in the order of `layouts`. Blank pages are not shown, and one page alone is asked for as a page.

    Raises `Disbelieved` where the answer can't be believed or has another number of pages, and what `Asker.ask` raises.
    """
    shown: list[PageLayout] = []
    jpegs: list[bytes] = []
    bounds = asker.profile.bounds("range")
    for layout in layouts:
        jpeg = None if layout.picture_key is None else await pictures.jpeg(layout, None, bounds)
        if jpeg is not None:
            shown.append(layout)
            jpegs.append(jpeg)
    if len(shown) > 1:
        found = await asker.ask("range", jpegs, lambda text: _read(text, shown, asker), attempts=1)
    else:
        found = [await page(asker, pictures, layout) for layout in shown]
    by_page = {layout.page_no: blocks for layout, blocks in zip(shown, found, strict=True)}
    return [by_page.get(layout.page_no, PageBlocks([])) for layout in layouts]


def _read(text: str, layouts: Sequence[PageLayout], asker: Asker) -> Judged[list[PageBlocks]]:
    texts = split_pages(text, len(layouts))
    if texts is None:
        return None, "malformed"
    pages: list[PageBlocks] = []
    for layout, own in zip(layouts, texts, strict=True):
        blocks, fault = read_page(own, layout, asker.profile, asker.settings)
        if blocks is None or fault is not None:
            return None, fault
        pages.append(blocks)
    return pages, None
