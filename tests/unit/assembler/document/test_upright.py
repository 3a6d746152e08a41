"""Skewed pages read like level ones."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from services.assembler.document.upright import straightened
from shared.contracts.codec import encode
from shared.contracts.layout import PageLayout, Reading, Region, RegionReading
from shared.contracts.upright import Upright
from tests.support import pages as make
from tests.support.schema import assert_valid

pytestmark = pytest.mark.unit


def two_columns() -> tuple[PageLayout, Reading]:
    """A level page: a heading over two columns of two paragraphs each."""
    heading = make.region(0, "section_header", make.lines(60, 50, ["A heading over both"], size=16), read_by="rec")
    texts = [
        (column, part, [f"column {column} part {part} line {line} runs on" for line in range(3)])
        for column in (0, 1)
        for part in (0, 1)
    ]
    regions = [heading]
    for index, (column, part, lines) in enumerate(texts, 1):
        at = make.lines(60 + 260 * column, 100 + 60 * part, lines, width=230)
        regions.append(make.region(index, "text", at, read_by="rec"))
    readings = [make.read_region(region, [line.text or "" for line in region.lines], 0.95) for region in regions]
    return make.layout(regions), make.reading("rec", readings)


def skewed(layout: PageLayout, reading: Reading, degrees: float) -> tuple[PageLayout, Reading]:
    """The same page, turned on the scanner."""
    slope = math.tan(math.radians(degrees))
    frame = Upright(slope, layout.width, layout.height)

    def region(one: Region) -> Region:
        return replace(one, bbox=frame.back(one.bbox), lines=[replace(x, bbox=frame.back(x.bbox)) for x in one.lines])

    def answer(one: RegionReading) -> RegionReading:
        return replace(one, lines=[replace(x, bbox=frame.back(x.bbox)) for x in one.lines])

    return (
        replace(layout, slope=slope, regions=[region(one) for one in layout.regions]),
        replace(reading, regions=[answer(one) for one in reading.regions]),
    )


@settings(max_examples=25)
@given(st.floats(-5, 5).filter(lambda degrees: abs(degrees) > 0.3))
def test_a_skewed_page_has_the_texts_and_the_order_of_a_level_one(degrees: float) -> None:
    layout, reading = two_columns()
    level = make.page(layout, readings=[reading])
    askew_layout, askew_reading = skewed(layout, reading, degrees)
    askew = make.page(askew_layout, readings=[askew_reading])
    assert_valid("composed_page", encode(askew))
    assert [(b.label, b.text) for b in askew.blocks] == [(b.label, b.text) for b in level.blocks]
    assert (askew.page.width, askew.page.height) == (level.page.width, level.page.height)
    frame = Upright(askew_layout.slope, layout.width, layout.height)
    for block, like in zip(askew.blocks, level.blocks, strict=True):
        assert block.prov[0].bbox == pytest.approx(frame.back(like.prov[0].bbox or []), abs=0.03)
        assert block.font_size == pytest.approx(like.font_size, abs=0.1)
        assert [line.text for line in block.lines] == [line.text for line in like.lines]
        assert block.prov[0].polygon is not None
        assert block.prov[0].polygon == [
            pytest.approx(corner, abs=0.03) for corner in frame.corners(like.prov[0].bbox or [])
        ]


def test_nothing_is_lost_at_the_corners_of_a_skewed_page() -> None:
    layout, reading = skewed(*two_columns(), 4.0)
    lines = make.lines(2, 2, ["x"])
    layout = replace(layout, regions=[*layout.regions, make.region(9, "text", lines)])
    level, _ = straightened(layout, [reading])
    assert min(region.bbox[0] for region in level.regions) >= 0
    assert "x" in [block.text for block in make.page(layout, readings=[reading]).blocks]
