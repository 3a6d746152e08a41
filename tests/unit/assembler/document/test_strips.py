"""Columns of a table's pieces: where one column holds names, short numbers and long ones, and where two columns are two."""

from __future__ import annotations

import pytest

from services.assembler.document.strips import columns_of
from services.assembler.document.tables import from_pieces
from services.assembler.document.text import Piece

pytestmark = pytest.mark.unit


def piece(text: str, x0: float, x1: float, row: int) -> Piece:
    return Piece(box=[x0, 20.0 * row, x1, 20.0 * row + 10], text=text, font_size=10.0)


NAMES = [piece(f"n {row}", 50, 70, row) for row in range(6)]


def test_a_name_at_the_left_a_digit_at_the_right_and_numbers_over_both_are_one_column() -> None:
    """No row has something under the name and something else under the digit."""
    numbers = [piece("9,918", 235, 262, row) for row in (1, 2, 4, 5)]
    pieces = [*NAMES, piece("Price", 220, 244, 0), *numbers, piece("7", 257, 262, 3)]
    table = from_pieces(pieces, 1)
    assert table is not None
    assert (table.num_cols, {cell.col_span for cell in table.cells}) == (2, {1})
    assert [cell.text for cell in table.cells if cell.col == 1] == ["Price", "9,918", "9,918", "7", "9,918", "9,918"]


def test_what_stands_in_one_row_is_in_two_columns_also_below_a_name_over_both() -> None:
    pieces = [*NAMES, piece("Credit and debit", 200, 280, 0)]
    pieces += [piece("12", 205, 215, row) for row in (1, 3)] + [piece("34", 265, 275, row) for row in (2, 3)]
    assert len(columns_of(pieces)) == 3


def test_sums_on_either_side_never_in_one_row_are_two_columns_by_their_names() -> None:
    pieces = [*NAMES, piece("Credit", 200, 230, 0), piece("Debit", 260, 285, 0)]
    pieces += [piece("12", 215, 230, row) for row in (1, 3, 5)] + [piece("34", 270, 285, row) for row in (2, 4)]
    assert len(columns_of(pieces)) == 3
