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
