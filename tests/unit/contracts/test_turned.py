"""Boxes in the frame of turned text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.turned import Turned, angle_of

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 600.0, 800.0


@pytest.mark.parametrize(
    ("degrees", "angle"),
    [
        (0, 0),
        (-90, 270),
        (90, 90),
        (180, 180),
        (-45, 315),
        (44.6, 45),
        (5.9, 0),
        (-6, 0),
        (84.5, 90),
        (-173, 187),
        (7, 7),
    ],
)
def test_angles_are_whole_and_those_near_a_side_are_that_side(degrees: float, angle: float) -> None:
    assert angle_of(degrees) == angle


@given(
    st.sampled_from([0.0, 90.0, 180.0, 270.0]),
    st.tuples(st.floats(0, WIDTH), st.floats(0, HEIGHT), st.floats(0, 300), st.floats(0, 300)),
)
def test_a_box_turns_back_to_itself_along_the_sides(angle: float, at: tuple[float, float, float, float]) -> None:
    frame = Turned(angle, WIDTH, HEIGHT)
    box = [at[0], at[1], at[0] + at[2], at[1] + at[3]]
    assert frame.back(frame.into(box)) == pytest.approx(box, abs=1e-6)


def test_text_that_runs_down_begins_at_the_left_of_its_frame() -> None:
    frame = Turned(90, WIDTH, HEIGHT)
    assert (frame.width, frame.height) == (HEIGHT, WIDTH)
    first, second = frame.into([580, 0, 600, 100]), frame.into([560, 0, 580, 100])
    assert first == pytest.approx([0, 0, 100, 20])
    assert second == pytest.approx([0, 20, 100, 40]), "the next line stands to the left of it"


@given(st.integers(1, 359).filter(lambda a: a % 90), st.floats(60, 300), st.floats(5, 30))
def test_the_hull_of_a_slanted_line_gives_the_line(angle: int, long: float, thick: float) -> None:
    frame = Turned(angle, WIDTH, HEIGHT)
    line = [frame.width / 2, frame.height / 2, frame.width / 2 + long, frame.height / 2 + thick]
    assert frame.into(frame.back(line), thick) == pytest.approx(line, abs=1e-4)


@given(st.integers(0, 359), st.tuples(st.floats(0, WIDTH), st.floats(0, HEIGHT)))
def test_all_of_the_page_lies_on_the_upright_one(angle: int, point: tuple[float, float]) -> None:
    frame = Turned(angle, WIDTH, HEIGHT)
    x, y = frame.into([*point, *point])[:2]
    assert -1e-6 <= x <= frame.width + 1e-6
    assert -1e-6 <= y <= frame.height + 1e-6
    dx, dy = x - frame.width / 2, y - frame.height / 2
    assert math.hypot(dx, dy) == pytest.approx(math.hypot(point[0] - WIDTH / 2, point[1] - HEIGHT / 2), abs=1e-6)
