"""One region of a page: cut out, asked for with the prompt of its label."""

from __future__ import annotations

from services.vl_worker.asking import Asker, Judged
from services.vl_worker.guards import place_of
from services.vl_worker.pictures import PagePictures
from services.vl_worker.reading import read_region
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import PageLayout, Region, RegionReading


async def region(asker: Asker, pictures: PagePictures, layout: PageLayout, region_id: str | None) -> RegionReading:
    """What the region says. A blank one is not asked for: it says nothing.

    Raises `DocfleetError(internal)` where the layout has no such region, and what `Asker.ask` raises.
    """
    found = _named(layout, region_id)
    jpeg = await pictures.jpeg(layout, found.bbox, asker.profile.bounds(found.label))
    if jpeg is None:
        return RegionReading(region_id=found.region_id, method="vl")

    def read(text: str) -> Judged[RegionReading]:
        return read_region(text, found, layout.unit, layout.page_no, asker.profile, asker.settings)

    return await asker.ask(found.label, [jpeg], read, place=place_of(found, layout.unit))


def _named(layout: PageLayout, region_id: str | None) -> Region:
    found = next((region for region in layout.regions if region.region_id == region_id), None)
    if found is None:
        raise DocfleetError(
            ErrorCode.internal, f"region {region_id} is not in the layout", page_no=layout.page_no, region_id=region_id
        )
    return found
