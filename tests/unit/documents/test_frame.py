"""The displayed frame: turning a box four times brings it back, and it stays on the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.documents.frame import Frame
from shared.documents.limits import bounds_of, page_scale
from shared.settings import Limits

pytestmark = pytest.mark.unit
sides = st.floats(1, 14_400, width=32)


@given(sides, sides, st.lists(st.floats(0, 1), min_size=4, max_size=4), st.sampled_from([0, 90, 180, 270]))
def test_boxes_stay_on_the_page_and_keep_their_size(
    width: float, height: float, at: list[float], rotation: int
) -> None:
    frame = Frame(width, height, rotation)
    box = [min(at[0], at[2]) * width, min(at[1], at[3]) * height, max(at[0], at[2]) * width, max(at[1], at[3]) * height]
    x0, y0, x1, y1 = frame.clipped(frame.box(box))
    assert 0 <= x0 <= x1 <= frame.width
    assert 0 <= y0 <= y1 <= frame.height
    wide, high = box[2] - box[0], box[3] - box[1]
    expected = (high, wide) if rotation in (90, 270) else (wide, high)
    assert (x1 - x0, y1 - y0) == pytest.approx(expected, abs=0.03)


def test_where_the_top_left_corner_goes() -> None:
    corner = (0.0, 0.0, 10.0, 20.0)
    assert Frame(100, 200, 0).box(corner) == [0, 0, 10, 20]
    assert Frame(100, 200, 90).box(corner) == [180, 0, 200, 10]
    assert Frame(100, 200, 180).box(corner) == [90, 180, 100, 200]
    assert Frame(100, 200, 270).box(corner) == [0, 90, 20, 100]


def test_angles() -> None:
    assert [Frame(1, 1, turn).angle((1.0, 0.0)) for turn in (0, 90, 180, 270)] == [0.0, 90.0, 180.0, -90.0]
    assert Frame(1, 1, 90).angle((0.0, -1.0)) == 0.0


@given(sides, sides, st.floats(0.1, 20))
def test_a_page_is_never_drawn_larger_than_allowed(width: float, height: float, wanted: float) -> None:
    limits = bounds_of(Limits(max_page_pixels=1_000_000))
    scale, scaled = page_scale(width, height, wanted, limits)
    assert scale <= wanted
    assert width * scale * height * scale <= 1_000_000 * 1.001
    assert max(width, height) * scale <= 30_000.5
    assert scaled or scale == wanted or wanted / scale < 1.002
