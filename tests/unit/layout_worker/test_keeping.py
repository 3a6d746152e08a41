"""Which part of a page's picture is kept, and whether what was drawn holds it."""

from __future__ import annotations

import pytest

from services.layout_worker.keeping import holds, part_to_keep, within
from shared.contracts.layout import PageLayout, Region, TextLine
from shared.documents.page import Picture
from shared.documents.part import MARGIN
from tests.unit.layout_worker.inspections import inspection

pytestmark = pytest.mark.unit

SEAL, TEXT = [300.0, 600.0, 420.0, 720.0], [50.0, 50.0, 550.0, 500.0]


def region(bbox: list[float], read_by: str, lines: list[list[float]] | None = None) -> Region:
    return Region(
        region_id="r",
        label="text",
        raw_label="text",
        bbox=bbox,
        confidence=1,
        found_by="model",
        read_by=read_by,
        lines=[TextLine(bbox=box) for box in lines or []],
    )


def layout(*regions: Region, **more: object) -> PageLayout:
    size = {"picture_width": 1190, "picture_height": 1684}
    return PageLayout(
        document_id="d",
        generation=0,
        page_no=1,
        width=595,
        height=842,
        unit="pt",
        kind="mixed",
        regions=list(regions),
        **(size | more),
    )


@pytest.mark.parametrize("reader", ["rec", "vl"])
def test_what_is_read_is_kept_and_native_text_is_not(reader: str):
    part = part_to_keep(layout(region(TEXT, "native"), region(SEAL, reader)), inspection())
    assert part is not None
    assert part[0] <= 600 - MARGIN
    assert part[1] <= 1200 - MARGIN
    assert part[2] >= 840 + MARGIN
    assert part[3] >= 1440 + MARGIN
    assert part[1] > 2 * TEXT[3]


def test_lines_that_reach_out_of_their_region_are_kept():
    part = part_to_keep(layout(region(SEAL, "rec", [[250, 610, 430, 630]])), inspection())
    assert part is not None
    assert part[0] <= 500 - MARGIN
    assert part[2] >= 860 + MARGIN


@pytest.mark.parametrize(
    "options",
    [{"pictures": True}, {"vl_profile": "glm-ocr", "vl": "page"}, {"vl_profile": "glm-ocr", "vl": "document"}],
)
def test_a_picture_that_is_shown_whole_is_kept_whole(options: dict[str, object]):
    assert part_to_keep(layout(region(SEAL, "rec")), inspection(**options)) is None


def test_a_page_that_is_mostly_read_or_has_no_picture_has_no_part():
    assert part_to_keep(layout(region(TEXT, "rec"), region(SEAL, "rec")), inspection()) is None
    assert part_to_keep(layout(region(SEAL, "rec"), picture_width=None), inspection()) is None


def test_what_was_drawn_holds_what_lies_in_it():
    whole = Picture(width=1190, height=1684)
    part = Picture(width=200, height=100, box=[80, 160, 280, 260], whole=(1190, 1684))
    assert holds(whole, None)
    assert holds(whole, [8, 8, 16, 16])
    assert holds(part, [80, 160, 280, 260])
    assert holds(part, [88, 168, 96, 176])
    assert not holds(part, None)
    assert not holds(part, [72, 168, 96, 176])
    assert not holds(part, [88, 168, 288, 176])
    assert within(whole, None) is None
    assert within(part, part.box) is None
    assert within(part, [88, 168, 96, 176]) == [8, 8, 16, 16]
    assert within(whole, [88, 168, 96, 176]) == [88, 168, 96, 176]
