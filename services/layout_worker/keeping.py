"""What of a page's picture is drawn, encoded and stored: all of it, or only the places that somebody will look at."""

from __future__ import annotations

from services.layout_worker import route
from shared.contracts.layout import Inspection, PageLayout
from shared.documents.page import Picture
from shared.documents.part import part_of


def may_be_part(inspection: Inspection) -> bool:
    """Whether a picture may show only what is read: nobody keeps it, and no model is shown whole pages."""
    return not inspection.options.pictures and not route.whole_pages(inspection)


def part_to_keep(layout: PageLayout, inspection: Inspection) -> list[int] | None:
    """The part of the page's picture that is enough for all who read the page (`shared.documents.part`); none where that is the whole."""
    if layout.picture_width is None or layout.picture_height is None or not may_be_part(inspection):
        return None
    read = [region for region in layout.regions if region.read_by in ("rec", "vl")]
    boxes = [region.bbox for region in read] + [line.bbox for region in read for line in region.lines]
    return part_of(boxes, (layout.width, layout.height), (layout.picture_width, layout.picture_height))


def holds(picture: Picture, part: list[int] | None) -> bool:
    """Whether a picture shows a part of the page (in pixels of the whole page's picture, none is the whole)."""
    if picture.box is None:
        return True
    return part is not None and all(
        picture.box[side] <= part[side] and picture.box[side + 2] >= part[side + 2] for side in (0, 1)
    )


def within(picture: Picture, part: list[int] | None) -> list[int] | None:
    """A part of the page in pixels of the picture's own block; none is all of it."""
    if part is None or part == picture.box:
        return None
    left, top = picture.box[:2] if picture.box is not None else (0, 0)
    return [part[0] - left, part[1] - top, part[2] - left, part[3] - top]
