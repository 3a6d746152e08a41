"""A whole page: the model says what is on it and where."""

from __future__ import annotations

from services.vl_worker.asking import Asker, Judged
from services.vl_worker.guards import Place
from services.vl_worker.pictures import PagePictures
from services.vl_worker.reading import PageBlocks, read_page
from shared.contracts.layout import PageLayout


def place_of_page(layout: PageLayout) -> Place:
    """The room of a page."""
    return Place(width=layout.width, height=layout.height, unit=layout.unit)


async def page(asker: Asker, pictures: PagePictures, layout: PageLayout) -> PageBlocks:
    """The blocks of the page, boxes in its units. A blank page is not asked for. Raises what `Asker.ask` raises."""
    jpeg = await pictures.jpeg(layout, None, asker.profile.bounds("page"))
    if jpeg is None:
        return PageBlocks([])

    def read(text: str) -> Judged[PageBlocks]:
        return read_page(text, layout, asker.profile, asker.settings)

    return await asker.ask("page", [jpeg], read, place=place_of_page(layout))
