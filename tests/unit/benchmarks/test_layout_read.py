"""Composed pages in the form of layouts, for the layout benchmark."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from benchmarks.lib.layout_read import _regions, composed
from shared.contracts.document import Block, Line, Provenance
from shared.contracts.layout import TextLine
from tests.support import pages as make

pytestmark = pytest.mark.unit


def test_a_region_for_each_block_by_its_own_label() -> None:
    notes = make.region(1, "text", make.lines(60, 700, ["1 See the older report."], size=8))
    text = make.region(0, "text", make.lines(60, 100, ["The page's usual text goes on and on"] * 8, width=400))
    layout = replace(make.layout([text, notes]), invisible=[TextLine(bbox=[0, 0, 9, 9], text="hidden", hidden="tiny")])
    found = composed(layout, [])
    assert [(region.label, len(region.lines)) for region in found.regions] == [("text", 8), ("footnote", 1)]


def test_a_block_over_two_columns_is_two_regions_with_their_own_lines() -> None:
    boxes = [[50.0, 600.0, 250.0, 700.0], [300.0, 100.0, 500.0, 150.0]]
    block = Block(
        id="b",
        order=0,
        label="text",
        raw_label="text",
        prov=[Provenance(page_no=1, bbox=box) for box in boxes],
        lines=[Line(bbox=[50, 680, 250, 690], text="one"), Line(bbox=[300, 110, 500, 120], text="two")],
    )
    found = _regions(block)
    assert [region.bbox for region in found] == boxes
    assert [[line.text for line in region.lines] for region in found] == [["one"], ["two"]]
