"""Columns of prose on a level page stand in rows, as cells do, and are no table."""

import pytest

from services.layout_worker.tables.aligned import by_alignment
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit


def rows(count, columns, fill):
    """Lines in so many rows; `fill(row, column)` is the share of a column (110 wide, 10 high) that a line takes."""
    return [
        TextLine(bbox=[x, 100.0 + 14 * row, x + 110 * fill(row, column), 110.0 + 14 * row], text="x")
        for row in range(count)
        for column, x in enumerate(columns)
    ]


COLUMNS = (50.0, 180.0, 310.0, 440.0)


def test_narrow_columns_of_a_magazine_are_no_table():
    assert by_alignment(rows(8, COLUMNS, lambda row, column: 0.4 if (row + column) % 6 == 5 else 1.0)) == []


def test_cells_of_many_widths_are_one():
    widths = (0.9, 0.35, 0.6, 0.75, 0.2, 0.5)
    found = by_alignment(rows(8, COLUMNS, lambda row, column: widths[(3 * row + column) % 6]))
    assert [len(table) for table in found] == [32]


def test_numbers_of_one_width_are_one():
    found = by_alignment(rows(8, COLUMNS, lambda row, column: 0.9 if column == 0 and row % 2 else 0.4))
    assert [len(table) for table in found] == [32]


def parts(*rows_of_parts):
    """Parts of cut lines, `(x0, x1)` of each, a row under the other."""
    return [
        TextLine(bbox=[x0, 100.0 + 14 * row, x1, 110.0 + 14 * row], quad=[0.0] * 8)
        for row, row_parts in enumerate(rows_of_parts)
        for x0, x1 in row_parts
    ]


def test_columns_of_text_whose_lines_were_cut_at_full_width_commas_are_no_table():
    commas = (30, 80, 55, 95, 40, 70, 20, 60)
    lines = [
        [part for left in COLUMNS for part in ((left, left + comma), (left + comma + 6, left + 110))]
        for comma in commas
    ]
    assert by_alignment(parts(*lines))
    assert by_alignment(parts(*lines), cut=True) == []


def test_justified_text_whose_wide_blanks_happen_to_stand_under_each_other_is_no_table():
    blanks = ((84, 150), (96, 162), (104, 140), (90, 152), (100, 164))
    lines = parts(*([(50, a - 24), (a, b - 28), (b, 230)] for a, b in blanks))
    assert by_alignment(lines)
    assert by_alignment(lines, cut=True) == []


@pytest.mark.parametrize("side", ["left", "right", "middle"])
def test_near_cells_that_were_cut_apart_are_a_table(side):
    share = {"left": 0.0, "right": 1.0, "middle": 0.5}[side]
    widths = (30, 44, 20, 38, 26)
    lines = []
    for row in range(5):
        wide = [widths[(row + column) % 5] for column in range(3)]
        lines.append([(50 + 55 * c + share * (48 - w), 50 + 55 * c + share * (48 - w) + w) for c, w in enumerate(wide)])
    assert [len(table) for table in by_alignment(parts(*lines), cut=True)] == [15]
