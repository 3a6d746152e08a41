"""A text region with columns is cut into them; one without stays whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.layout_worker.regions.gutters import parts
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit


def line(x0, y0, x1, text, height=10.0):
    return TextLine(bbox=[x0, y0, x1, y0 + height], text=text)


def column(name, x0, x1, rows, top=100.0):
    return [line(x0, top + 12 * row, x1, f"{name}{row}") for row in range(rows)]


def names(groups):
    return [sorted({item.text[0] for item in group}) for group in groups]


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 60), st.integers(5, 400)), max_size=40))
def test_every_line_is_in_one_part(places):
    lines = [line(x, 12 * row, x + width, str(number)) for number, (x, row, width) in enumerate(places)]
    assert sorted(item.text for group in parts(lines) for item in group) == sorted(item.text for item in lines)


def test_two_columns_are_two_parts():
    assert names(parts(column("a", 50, 290, 9) + column("b", 310, 550, 12))) == [["a"], ["b"]]


def test_columns_whose_lines_do_not_align():
    assert names(parts(column("a", 50, 290, 9) + column("b", 310, 550, 9, top=105.5))) == [["a"], ["b"]]


def test_three_columns_are_three_parts():
    lines = column("a", 50, 200, 9) + column("b", 215, 365, 9) + column("c", 380, 530, 9)
    assert names(parts(lines)) == [["a"], ["b"], ["c"]]


def test_three_columns_over_a_picture_and_two_under_it():
    """Neither gutter runs through the whole: the columns of the other half cross it."""
    lines = (
        column("a", 50, 200, 9)
        + column("b", 215, 365, 9)
        + column("c", 380, 530, 9)
        + column("d", 50, 280, 20, top=320)
        + column("e", 300, 530, 20, top=320)
    )
    assert names(parts(lines)) == [["a"], ["b"], ["c"], ["d"], ["e"]]


def test_white_through_a_region_without_columns_leaves_it_whole():
    assert names(parts(column("a", 50, 550, 9) + column("b", 50, 550, 9, top=320))) == [["a", "b"]]


def test_what_crosses_the_gutter_cuts_above_and_below():
    lines = (
        column("t", 50, 550, 3, top=60)
        + column("a", 50, 290, 9)
        + column("b", 310, 550, 9)
        + [line(50, 212, 550, "m"), line(50, 224, 180, "m")]
        + column("c", 50, 290, 5, top=240)
        + column("d", 310, 550, 5, top=240)
        + column("e", 50, 550, 2, top=310)
    )
    # the short line above the second pair stands over its left column only
    assert names(parts(lines)) == [["t"], ["a"], ["b"], ["m"], ["c", "m"], ["d"], ["e"]]


@pytest.mark.parametrize(
    "lines",
    [
        column("a", 50, 550, 12),
        column("a", 50, 550, 6) + column("b", 50, 250, 6, top=172),
        column("b", 50, 56, 12) + column("a", 66, 550, 12),
        column("a", 50, 290, 2) + column("b", 310, 550, 2),
        [line(50 + 30 * (row % 5), 100 + 12 * row, 300 + 30 * (row % 5), "a") for row in range(12)],
    ],
    ids=["one column", "short last lines", "bullets", "too few lines", "ragged"],
)
def test_no_columns_no_cut(lines):
    assert len(parts(lines)) == 1
