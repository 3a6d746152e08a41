"""Spans of tables that nobody drew, from where their names hang."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.assembler.document.tables import from_pieces
from services.assembler.document.text import Piece

pytestmark = pytest.mark.unit


def piece(x0: float, x1: float, middle: float, text: str) -> Piece:
    return Piece(box=[x0, middle - 5.5, x1, middle + 5.5], text=text)


def cells(pieces: list[Piece]) -> dict[str, tuple[int, int, int, int, bool]]:
    table = from_pieces(pieces, 1)
    assert table is not None
    return {cell.text: (cell.row, cell.col, cell.row_span, cell.col_span, cell.column_header) for cell in table.cells}


def body(first: float, rows: int, *, lacking: tuple[int, ...] = ()) -> list[Piece]:
    """Rows with a name at the left and numbers set flush right, 18 units apart; some without their name."""
    out = []
    for row in range(rows):
        middle = first + 18 * row
        out += [] if row in lacking else [piece(52, 80, middle, f"n{row}")]
        out += [
            piece(255, 269, middle, f"{row}1"),
            piece(328, 338, middle, f"{row}2"),
            piece(465, 486, middle, f"{row}3"),
        ]
    return out


HEADER = [
    piece(262, 279, 10, "Both"),
    piece(52, 80, 19, "Name"),
    piece(203, 220, 28, "Left"),
    piece(279, 295, 28, "Right"),
    piece(424, 445, 19, "Last"),
]


def test_names_over_two_columns_and_beside_two_rows() -> None:
    found = cells([*HEADER, *body(46, 4)])
    assert found["Both"] == (0, 1, 1, 2, True)
    assert found["Name"] == (0, 0, 2, 1, True)
    assert found["Last"] == (0, 3, 2, 1, True)
    assert (found["Left"], found["Right"]) == ((1, 1, 1, 1, True), (1, 2, 1, 1, True))
    assert (found["n0"], found["02"], found["33"]) == ((2, 0, 1, 1, False), (2, 2, 1, 1, False), (5, 3, 1, 1, False))


def test_a_name_between_two_rows_of_the_body_is_of_both() -> None:
    found = cells([*body(10, 6, lacking=(2, 3)), piece(52, 90, 10 + 18 * 2.5, "both")])
    assert found["both"] == (2, 0, 2, 1, False)
    assert (found["21"], found["31"], found["n4"]) == ((2, 1, 1, 1, False), (3, 1, 1, 1, False), (4, 0, 1, 1, False))


def test_a_row_with_little_in_it_is_a_row() -> None:
    found = cells([*body(10, 3), piece(52, 90, 64, "alone"), *[p for p in body(82, 3) if p.text != "n0"]])
    assert found["alone"][:3] == (3, 0, 1)


def test_names_set_to_the_other_side_than_the_numbers_below_are_their_columns() -> None:
    names = [
        piece(52, 80, 10, "Name"),
        piece(203, 220, 10, "One"),
        piece(279, 295, 10, "Two"),
        piece(424, 445, 10, "Three"),
    ]
    found = cells([*names, *body(28, 4)])
    assert [found[name][:2] for name in ("Name", "One", "Two", "Three")] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert all(found[name][3] == 1 for name in ("One", "Two"))


def test_two_pieces_over_one_column_are_one_cell() -> None:
    doubled = [
        piece(255, 262, 100, "a"),
        piece(271, 276, 100, "b"),
        piece(52, 80, 100, "name"),
        piece(465, 486, 100, "9"),
    ]
    found = cells([*body(10, 5), *doubled])
    assert found["a b"][:2] == (5, 1)


def test_rows_set_close_are_rows_and_lines_of_a_cell_are_its_lines() -> None:
    """Eleven units of type every fourteen: a row without its name is no second line of the row above."""
    rows = [
        *(piece(52, 80, 10 + 14 * row, f"n{row}") for row in range(6) if row != 3),
        *(piece(255, 269, 10 + 14 * row, f"{row}1") for row in range(6)),
        *(piece(328, 338, 10 + 14 * row, f"{row}2") for row in range(6)),
    ]
    assert cells(rows)["31"][:2] == (3, 1)
    broken = [
        piece(52, 80, 10, "n0"), piece(255, 300, 10, "first"), piece(255, 300, 22, "second"),
        piece(52, 80, 42, "n1"), piece(255, 300, 42, "other"), piece(52, 80, 62, "n2"), piece(255, 300, 62, "third"),
    ]  # fmt: skip
    assert cells(broken)["first second"][:2] == (0, 1)


def test_names_between_rows_one_after_the_other_share_no_place() -> None:
    """Three rows with a name in each space between them: the second name is a row of its own, for the first covers its upper half."""
    pieces = [*body(10, 6, lacking=(2, 3, 4)), piece(52, 90, 10 + 18 * 2.5, "one"), piece(52, 90, 10 + 18 * 3.5, "two")]
    found = cells(pieces)
    assert found["one"][:3] == (2, 0, 2)
    assert found["two"][2] == 1


def test_a_header_of_two_rows_over_two_rows() -> None:
    """The rest of a table on its second page, with its header again."""
    assert cells([*HEADER, *body(46, 2)])["Both"] == (0, 1, 1, 2, True)


def test_two_names_over_two_columns_each_share_what_lies_below() -> None:
    """The second stands over the middle of a column whose white reaches far beyond its words: nothing on the page says where that ends."""
    head = [
        piece(277, 292, 10, "Left pair"), piece(424, 439, 10, "Right pair"), piece(120, 135, 18.4, "Name"),
        piece(209, 224, 26.8, "a"), piece(293, 308, 26.8, "b"), piece(373, 388, 26.8, "c"), piece(440, 455, 26.8, "d"),
    ]  # fmt: skip
    rows = [
        one
        for row in range(5)
        for one in (
            piece(120, 144, 43.8 + 16.8 * row, f"n{row}"), piece(268, 280, 43.8 + 16.8 * row, f"a{row}"),
            piece(346, 360, 43.8 + 16.8 * row, f"b{row}"), piece(414, 427, 43.8 + 16.8 * row, f"c{row}"),
            piece(440, 464, 43.8 + 16.8 * row, f"d{row}"),
        )
    ]  # fmt: skip
    found = cells([*head, *rows])
    assert (found["Left pair"], found["Right pair"]) == ((0, 1, 1, 2, True), (0, 3, 1, 2, True))
    assert found["Name"] == (0, 0, 2, 1, True)
    assert [found[name][:2] for name in "abcd"] == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert found["d4"][:2] == (6, 4)


def test_a_name_over_columns_of_which_the_first_is_far_left_of_its_numbers() -> None:
    head = [
        piece(310, 361, 10, "Both"), piece(73, 85, 20.4, "Name"), piece(451, 467, 20.4, "Last"),
        piece(233, 254, 30.8, "Left"), piece(325, 379, 30.8, "Right"),
    ]  # fmt: skip
    rows = [
        one
        for row in range(5)
        for one in (
            piece(73, 179, 51.6 + 20.8 * row, f"n{row}"), piece(293, 313, 51.6 + 20.8 * row, f"{row}1"),
            piece(424, 438, 51.6 + 20.8 * row, f"{row}2"), piece(451, 471, 51.6 + 20.8 * row, f"{row}3"),
        )
    ]  # fmt: skip
    found = cells([*head, *rows])
    assert found["Both"] == (0, 1, 1, 2, True)
    assert (found["Name"], found["Last"]) == ((0, 0, 2, 1, True), (0, 3, 2, 1, True))
    assert (found["Left"], found["Right"], found["41"]) == (
        (1, 1, 1, 1, True), (1, 2, 1, 1, True), (6, 1, 1, 1, False),
    )  # fmt: skip


def test_a_number_in_a_column_much_wider_than_it_belongs_there() -> None:
    rows = [
        one
        for row in range(5)
        for one in (
            piece(73, 99, 28 + 19 * row, f"n{row}"),
            piece(399, 414, 28 + 19 * row, f"{row}1"),
            piece(422, 444, 28 + 19 * row, f"{row}2"),
        )
    ]
    found = cells([piece(73, 91, 9, "Name"), piece(285, 311, 9, "One"), piece(422, 440, 9, "Two"), *rows])
    assert [found[f"{row}1"][:2] for row in range(5)] == [(row + 1, 1) for row in range(5)]
    assert [found[f"{row}2"][:2] for row in range(5)] == [(row + 1, 2) for row in range(5)]


def test_lines_of_a_cell_above_and_below_the_others_of_its_row_are_its_own() -> None:
    """Cells set in the middle of their row: of two lines, one stands above all other cells and one below."""
    low = 82 + 8
    pieces = [
        *body(10, 4),
        piece(52, 80, low, "n4"),
        piece(255, 269, low, "41"),
        piece(465, 486, low, "43"),
        piece(328, 345, low - 6.3, "in"),
        piece(328, 352, low + 6.3, "repair"),
    ]
    found = cells(pieces)
    assert found["in repair"] == (4, 2, 1, 1, False)
    assert (found["n4"], found["41"]) == ((4, 0, 1, 1, False), (4, 1, 1, 1, False))


@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 30), st.integers(1, 12)).map(
            lambda t: piece(40.0 * t[0], 40.0 * t[0] + 9.0 * t[2], 10 + 9.0 * t[1], f"{t[0]}.{t[1]}")
        ),
        max_size=60,
    )
)
def test_any_pieces_give_a_grid_and_no_text_is_lost(pieces: list[Piece]) -> None:
    table = from_pieces(pieces, 1)
    if table is not None:
        said = "".join(cell.text for cell in table.cells).replace(" ", "")
        assert sorted(said) == sorted("".join(one.text for one in pieces))
