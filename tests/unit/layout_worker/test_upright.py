"""Regions of skewed pages."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.layout_worker.boxes import hull
from services.layout_worker.found import FoundBox, FoundLine
from services.layout_worker.regions.drafts import Drawn, Piece
from services.layout_worker.upright import build, slope_of
from shared.contracts.layout import TextLine
from shared.contracts.upright import Upright

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 600.0, 800.0
SCALE = (2.0, 2.0)


def skewed(frame, box):
    """A detected line whose upright box is given: quad in pixels, hull in page units."""
    corners = frame.corners(box)
    quad = [value * SCALE[0] for corner in corners for value in corner]
    return TextLine(bbox=hull([x, y, x, y] for x, y in corners), quad=quad, confidence=0.9)


def columns(rows=12):
    """Upright boxes of two columns of text."""
    return [[x, 100.0 + 14 * row, x + 240, 110.0 + 14 * row] for x in (50.0, 310.0) for row in range(rows)]


def built(slope, lines, boxes=()):
    return build(boxes, Drawn(), [Piece(x) for x in lines], WIDTH, HEIGHT, slope=slope, scale=SCALE, max_regions=500)


@settings(max_examples=30)
@given(st.floats(-5, 5).filter(lambda degrees: abs(degrees) > 0.3))
def test_two_columns_stay_two_columns_however_the_page_is_turned(degrees):
    slope = math.tan(math.radians(degrees))
    frame = Upright(slope, WIDTH, HEIGHT)
    upright = columns()
    lines = [skewed(frame, box) for box in upright]
    drafts = built(slope, lines)
    assert sorted(len(draft.lines) for draft in drafts) == [12, 12]
    assert sorted(x.bbox for draft in drafts for x in draft.lines) == sorted(x.bbox for x in lines)
    for draft in drafts:
        assert draft.bbox == pytest.approx(hull(x.bbox for x in draft.lines))
        assert len({round(frame.into(x.bbox)[0]) // 100 for x in draft.lines}) == 1


def test_a_box_around_both_columns_is_cut_at_the_gutter():
    slope = math.tan(math.radians(3))
    frame = Upright(slope, WIDTH, HEIGHT)
    lines = [skewed(frame, box) for box in columns()]
    around = FoundBox(label="text", raw_label="text", bbox=hull(x.bbox for x in lines), score=0.9)
    assert len(built(slope, lines, [around])) == 2


def found(*slopes):
    return [FoundLine(quad=[50, 50, 450, 50 + 400 * s, 450, 70 + 400 * s, 50, 70], score=0.9) for s in slopes]


def test_the_slope_is_that_of_most_long_lines():
    assert slope_of(found(0.03, 0.031, 0.029, 0.03, -0.05), 0.0) == pytest.approx(0.03)
    assert slope_of(found(0.001, 0.002, 0.0, 0.001), 0.0) == 0.0, "level"
    assert slope_of(found(-0.1, 0.05, 0.09, -0.05, 0.0), 0.02) == 0.0, "a photograph of leaflets"
    assert slope_of(found(0.2, 0.2, 0.2, 0.2), 0.0) == 0.0, "steeper than paper lies askew"


def test_where_few_lines_are_long_the_ink_says_it():
    short = [FoundLine(quad=[50, y, 90, y + 1, 90, y + 21, 50, y + 20], score=0.9) for y in (100, 200, 300, 400)]
    assert slope_of([*found(0.03), *short], 0.025) == 0.025
    assert slope_of(found(0.03), 0.025) == 0.0, "one line is no page"
    assert slope_of([], 0.025) == 0.0


def test_columns_of_characters_have_a_slope_too():
    quads = [[x + 9, 50, x + 29, 50.6, x + 20, 350.6, x, 350] for x in (100, 200, 300, 400)]
    assert slope_of([FoundLine(quad=quad, score=0.9) for quad in quads], 0.0) == pytest.approx(0.03)
