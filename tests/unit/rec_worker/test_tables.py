"""Cells filled from lines by geometry; grids that can't be believed are refused with a reason."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.rec_worker import tables
from shared.contracts.layout import ReadLine
from shared.models.table import TableCell

pytestmark = pytest.mark.unit


def line(text: str, x0: float, y0: float, x1: float, y1: float) -> ReadLine:
    return ReadLine(bbox=[x0, y0, x1, y1], text=text, confidence=0.9)


def grid(rows: int, cols: int, *, width: float = 100.0, height: float = 20.0, inset: float = 5.0) -> list[TableCell]:
    return [
        TableCell(
            row=r,
            col=c,
            header=r == 0,
            bbox=[c * width + inset, r * height + 2, (c + 1) * width - inset, (r + 1) * height - 2],
        )
        for r in range(rows)
        for c in range(cols)
    ]


def texts(cells: list[TableCell], lines: list[ReadLine]) -> dict[tuple[int, int], str]:
    table, why = tables.build(cells, lines, page_no=3)
    assert table is not None, why
    return {(cell.row, cell.col): cell.text for cell in table.cells}


def test_lines_go_to_the_cells_they_stand_in() -> None:
    lines = [
        line("head", 10, 4, 60, 16),
        line("b", 110, 4, 130, 16),
        line("c", 15, 24, 40, 36),
        line("d", 120, 24, 190, 36),
    ]
    assert texts(grid(2, 2), lines) == {(0, 0): "head", (0, 1): "b", (1, 0): "c", (1, 1): "d"}


def test_a_line_over_two_cells_is_split_at_the_blank_nearest_to_the_edge() -> None:
    assert texts(grid(1, 2), [line("Amount paid 1,234.50", 20, 4, 180, 16)]) == {
        (0, 0): "Amount paid",
        (0, 1): "1,234.50",
    }
    assert texts(grid(1, 2), [line("12345 67890", 45, 4, 155, 16)]) == {(0, 0): "12345", (0, 1): "67890"}


def test_a_line_over_three_cells_is_split_twice() -> None:
    assert texts(grid(1, 3), [line("alpha bravo delta", 30, 4, 270, 16)]) == {
        (0, 0): "alpha",
        (0, 1): "bravo",
        (0, 2): "delta",
    }


def test_chinese_is_split_by_its_share_of_characters() -> None:
    assert texts(grid(1, 2), [line("规格型号备注说明", 20, 4, 180, 16)]) == {(0, 0): "规格型号", (0, 1): "备注说明"}


def test_a_number_or_a_word_is_never_torn_it_goes_where_most_of_it_is() -> None:
    assert texts(grid(1, 2), [line("8,327", 40, 4, 120, 16), line("x", 150, 4, 160, 16)]) == {
        (0, 0): "8,327",
        (0, 1): "x",
    }
    assert texts(grid(1, 2), [line("x", 20, 4, 30, 16), line("71.2", 85, 4, 150, 16)]) == {(0, 0): "x", (0, 1): "71.2"}
    assert texts(grid(1, 2), [line("Getreide", 30, 4, 125, 16)]) == {(0, 0): "Getreide", (0, 1): ""}


def test_a_line_over_an_empty_cell_goes_on_behind_it() -> None:
    found = texts(grid(1, 4, width=40), [line("dsagree agree", 10, 4, 115, 16), line("x", 130, 4, 140, 16)])
    assert found == {(0, 0): "dsagree", (0, 1): "", (0, 2): "agree", (0, 3): "x"}


def test_where_there_is_no_blank_a_line_is_split_between_a_number_and_a_word() -> None:
    assert texts(grid(1, 2), [line("831粮食", 40, 4, 140, 16)]) == {(0, 0): "831", (0, 1): "粮食"}
    assert texts(grid(1, 2), [line("开放2,404", 60, 4, 170, 16)]) == {(0, 0): "开放", (0, 1): "2,404"}


def test_outer_rows_and_columns_without_text_are_no_part_of_the_table() -> None:
    lines = [line("a", 110, 24, 130, 36), line("b", 210, 24, 230, 36), line("c", 110, 44, 130, 56)]
    table, why = tables.build([c for c in grid(3, 4) if c.col < 3], lines, page_no=1)
    assert table is not None, why
    assert (table.num_rows, table.num_cols) == (2, 2)
    assert {(c.row, c.col): c.text for c in table.cells} == {(0, 0): "a", (0, 1): "b", (1, 0): "c", (1, 1): ""}
    assert [c.text for c in table.cells if c.column_header] == ["a", "b"]


def test_an_outer_row_that_a_cell_with_text_covers_stays() -> None:
    cells = [
        TableCell(row=0, col=0, row_span=2, header=True, bbox=[5, 2, 95, 38]),
        *(c for c in grid(2, 2) if c.col == 1),
    ]
    table, why = tables.build(cells, [line("a", 10, 14, 30, 26), line("b", 110, 24, 130, 36)], page_no=1)
    assert table is not None, why
    assert (table.num_rows, table.num_cols) == (2, 2)


def test_a_line_of_a_merged_cell_stays_whole() -> None:
    cells = [
        TableCell(row=0, col=0, col_span=2, bbox=[5, 2, 195, 18]),
        TableCell(row=1, col=0, bbox=[5, 22, 95, 38]),
        TableCell(row=1, col=1, bbox=[105, 22, 195, 38]),
    ]
    lines = [line("over both columns", 20, 4, 180, 16), line("x", 20, 24, 40, 36), line("y", 120, 24, 140, 36)]
    assert texts(cells, lines) == {(0, 0): "over both columns", (1, 0): "x", (1, 1): "y"}


def test_lines_of_a_cell_are_joined_in_order_chinese_without_a_blank() -> None:
    cells = grid(1, 2, height=60)
    lines = [
        line("second", 10, 34, 60, 46),
        line("first", 10, 4, 60, 16),
        line("换行", 110, 4, 150, 16),
        line("的字", 110, 24, 150, 36),
    ]
    assert texts(cells, lines) == {(0, 0): "first second", (0, 1): "换行的字"}


def test_parts_of_a_row_of_a_cell_are_read_from_left_to_right_also_where_rows_rise() -> None:
    cells = grid(1, 2, height=60)
    lines = [
        line("1", 10, 8, 20, 20),
        line("FOOD", 34, 6, 70, 18),  # a little higher, as on a photograph
        line("2", 10, 28, 20, 40),
        line("DRINKS", 34, 25, 80, 37),
        line("x", 110, 4, 150, 16),
    ]
    assert texts(cells, lines) == {(0, 0): "1 FOOD 2 DRINKS", (0, 1): "x"}


def test_rows_that_drift_are_put_right_by_their_neighbours() -> None:
    cells = grid(4, 3)
    cells[4] = TableCell(row=1, col=1, bbox=[105, 28, 195, 44])  # one box has slipped down
    lines = [line(f"{r}{c}", c * 100 + 20, r * 20 + 4, c * 100 + 60, r * 20 + 16) for r in range(4) for c in range(3)]
    assert texts(cells, lines) == {(r, c): f"{r}{c}" for r in range(4) for c in range(3)}


def test_places_without_a_cell_are_empty_cells() -> None:
    cells = grid(3, 3)[:-1]
    lines = [line("x", c * 100 + 20, r * 20 + 4, c * 100 + 60, r * 20 + 16) for r in range(3) for c in range(3 - r)]
    assert texts(cells, lines)[(2, 2)] == ""


def test_text_at_a_place_without_a_cell_is_not_lost() -> None:
    cells = grid(4, 4)[:-1]
    lines = [line("abc", c * 100 + 20, r * 20 + 4, c * 100 + 60, r * 20 + 16) for r in range(4) for c in range(4)]
    assert texts(cells, lines)[(3, 3)] == "abc"


def test_a_grid_whose_boxes_are_not_where_the_text_is_is_refused() -> None:
    cells = grid(4, 4, width=20, inset=1)  # all of it left of the second column of text
    lines = [line("12", c * 90 + 20, r * 20 + 4, c * 90 + 40, r * 20 + 16) for r in range(4) for c in range(4)]
    table, said = tables.build(cells, lines, page_no=1)
    assert table is None
    assert "characters lie in cells" in said


def test_a_grid_with_names_over_nothing_and_values_without_a_name_is_refused() -> None:
    lines = [
        line("12", c * 100 + 20, r * 20 + 4, c * 100 + 40, r * 20 + 16)
        for r in range(4)
        for c in range(4)
        if c != (2 if r else 3)
    ]
    table, said = tables.build(grid(4, 4), lines, page_no=1)
    assert table is None
    assert "different columns" in said
    corner = [one for one in lines if one.bbox[1] > 20 or one.bbox[0] > 100]  # a first column needs no name
    assert tables.build(grid(4, 4)[:3] + grid(4, 4)[4:], [x for x in corner if x.bbox[0] < 220], page_no=1)[0]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([], "no cells"),
        (grid(1, 1), "only one cell"),
        ([*grid(2, 2)[:3], TableCell(row=0, col=0, bbox=[0, 0, 1, 1])], "on each other"),
        ([TableCell(row=r, col=r, bbox=[r * 10, r * 10, r * 10 + 9, r * 10 + 9]) for r in range(3)], "have no cell"),
        (grid(80, 80), "not believed"),
        ([TableCell(row=1 - r, col=0, bbox=[0, r * 10, 9, r * 10 + 9]) for r in range(2)], "not in order"),
    ],
)
def test_a_grid_that_contradicts_itself_is_refused(cells: list[TableCell], why: str) -> None:
    table, said = tables.build(cells, [line("x", 0, 0, 5, 5)], page_no=1)
    assert table is None
    assert why in said


def test_a_grid_much_finer_than_its_text_is_refused() -> None:
    table, said = tables.build(grid(5, 5), [line("just a sentence", 10, 4, 80, 16)], page_no=1)
    assert table is None
    assert "1 of 25 cells have text" in said


def test_a_grid_that_lacks_columns_is_refused() -> None:
    lines = [line(f"{r}{c}", c * 25 + 5, r * 20 + 4, c * 25 + 15, r * 20 + 16) for r in range(4) for c in range(8)]
    table, said = tables.build(grid(4, 2), lines, page_no=1)
    assert table is None
    assert "side by side" in said
    assert tables.build(grid(4, 8, width=25, inset=2), lines, page_no=1)[0] is not None


def test_the_box_of_a_table_is_that_of_its_lines_with_room_for_rules() -> None:
    assert tables.around([line("a", 10, 20, 40, 30), line("b", 50, 60, 90, 70)]) == [0, 10, 100, 80]


class Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


@given(
    st.integers(1, 5),
    st.integers(2, 5),
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=30),
            st.floats(-50, 500),
            st.floats(-50, 120),
            st.floats(1, 400),
        ),
        max_size=15,
    ),
)
def test_no_character_is_lost_or_doubled(rows: int, cols: int, given: list[tuple[str, float, float, float]]) -> None:
    lines = [line(text, x, y, x + width, y + 12) for text, x, y, width in given]
    table, _ = tables.build(grid(rows, cols), lines, page_no=1)
    if table is None:
        return
    assert table.num_rows <= rows
    assert table.num_cols <= cols
    said = sorted("".join("".join(cell.text for cell in table.cells).split()))
    assert said == sorted("".join("".join(text for text, *_ in given).split()))
    words = Words()
    words.feed(table.html)
    assert sorted("".join(words.text.split())) == said
