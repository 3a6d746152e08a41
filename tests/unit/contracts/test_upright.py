"""The upright frame of a skewed page."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.upright import STEEPEST, Upright

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 595.0, 842.0
slopes = st.floats(-STEEPEST, STEEPEST)


@st.composite
def text_lines(draw: st.DrawFn) -> list[float]:
    """An upright box in the shape of a line or a paragraph."""
    x0, y0 = draw(st.floats(0, WIDTH)), draw(st.floats(0, HEIGHT))
    height = draw(st.floats(5, 300))
    return [x0, y0, x0 + draw(st.floats(6, min(600, 60 * height))), y0 + height]


@given(slopes, text_lines(), st.booleans())
def test_a_box_that_is_turned_back_and_upright_again_is_the_same(slope: float, box: list[float], room: bool) -> None:
    frame = Upright(slope, WIDTH, HEIGHT, room=room)
    assert frame.into(frame.back(box)) == pytest.approx(box, abs=1e-6)
    assert frame.moved(frame.moved_back(box)) == pytest.approx(box, abs=1e-6)


@given(slopes, text_lines())
def test_a_box_is_turned_back_to_the_hull_of_its_corners(slope: float, box: list[float]) -> None:
    frame = Upright(slope, WIDTH, HEIGHT)
    corners = frame.corners(box)
    hull = [min(x for x, _ in corners), min(y for _, y in corners)]
    hull += [max(x for x, _ in corners), max(y for _, y in corners)]
    assert frame.back(box) == pytest.approx(hull, abs=1e-6)
    assert next(frame.point(x, y) for x, y in corners) == pytest.approx((box[0], box[1]), abs=1e-6)


def test_a_line_that_falls_is_level_upright() -> None:
    slope = math.tan(math.radians(3))
    frame = Upright(slope, WIDTH, HEIGHT)
    _, left = frame.point(50, 400)
    _, right = frame.point(550, 400 + 500 * slope)
    assert left == pytest.approx(right)


@given(slopes)
def test_with_room_the_whole_page_lies_on_the_upright_one(slope: float) -> None:
    frame = Upright(slope, WIDTH, HEIGHT, room=True)
    for x, y in ((0, 0), (WIDTH, 0), (WIDTH, HEIGHT), (0, HEIGHT)):
        at_x, at_y = frame.point(x, y)
        assert -1e-6 <= at_x <= frame.width + 1e-6
        assert -1e-6 <= at_y <= frame.height + 1e-6


def test_a_rule_that_is_no_hull_of_text_keeps_its_size() -> None:
    frame = Upright(math.tan(math.radians(3)), WIDTH, HEIGHT)
    x0, y0, x1, y1 = frame.into([50.0, 400.0, 550.0, 401.0])
    assert (x1 - x0, y1 - y0) == pytest.approx((500.0, 1.0))
