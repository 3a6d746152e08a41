"""Cells of a model's table find their place on the page."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vl_worker.cells import with_boxes
from shared.contracts.document import Cell, Table
from shared.contracts.layout import Grid, GridCell, Region, TextLine
from shared.contracts.tables import table_of
from tests.support import pages as make

pytestmark = pytest.mark.unit


def table(*rows: list[str]) -> Table:
    return table_of([Cell(row=r, col=c, text=text) for r, row in enumerate(rows) for c, text in enumerate(row)])


def native(*rows: list[str]) -> list[TextLine]:
    return [
        TextLine(bbox=[100.0 * c, 20.0 * r, 100.0 * c + 60, 20.0 * r + 10], text=text)
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
        if text
    ]


def detected(*rows: list[str]) -> list[TextLine]:
    return [msgspec.structs.replace(line, text=None, quad=[0.0] * 8) for line in native(*rows)]


def boxes(given: Table, lines: list[TextLine], grid: Grid | None = None) -> dict[str, list[float] | None]:
    region: Region = msgspec.structs.replace(make.region(0, "table", lines, bbox=[0, 0, 400, 400]), grid=grid)
    found = with_boxes(given, region)
    assert [(c.row, c.col, c.text) for c in found.cells] == [(c.row, c.col, c.text) for c in given.cells]
    return {f"{cell.row},{cell.col}": cell.bbox for cell in found.cells}


ROWS = (["Name", "Size"], ["apple", "0"], ["pear", "0"])


def test_cells_take_the_boxes_of_the_lines_that_say_the_same() -> None:
    found = boxes(table(["NAME", "Size"], ["apple", "0"], ["Pear.", "0"]), native(*ROWS))
    assert found["0,0"] == [0, 0, 60, 10]
    assert found["1,1"] == [100, 20, 160, 30]
    assert found["2,1"] == [100, 40, 160, 50]
    assert found["2,0"] == [0, 40, 60, 50]


def test_of_equal_texts_none_has_a_box_where_their_number_differs() -> None:
    found = boxes(table(["Name", "Size"], ["apple", "0"], ["pear", "1"]), native(*ROWS))
    assert found["1,1"] is None
    assert found["1,0"] == [0, 20, 60, 30]


def test_a_cell_of_several_lines_has_their_hull() -> None:
    lines = [
        TextLine(bbox=[0, 0, 60, 10], text="a cell that"),
        TextLine(bbox=[0, 12, 50, 22], text="goes on"),
        TextLine(bbox=[100, 6, 120, 16], text="7"),
    ]
    found = boxes(table(["a cell that goes on", "7"]), lines)
    assert found["0,0"] == [0, 0, 60, 22]


def test_cells_that_one_line_holds_share_it() -> None:
    found = boxes(table(["ab", "cd"]), [TextLine(bbox=[0, 0, 100, 10], text="ab   cd")])
    assert found == {"0,0": [0, 0, 50, 10], "0,1": [50, 0, 100, 10]}


def test_detected_lines_are_told_by_their_place_if_rows_and_cells_are_as_many() -> None:
    assert boxes(table(*ROWS), detected(*ROWS))["2,1"] == [100, 40, 160, 50]
    assert set(boxes(table(*ROWS), detected(*ROWS[:2])).values()) == {None} or all(
        box is None for box in boxes(table(*ROWS), detected(*ROWS[:2])).values()
    )
    holes = (["Name", "Size"], ["apple", ""], ["pear", "0"])
    found = boxes(table(*ROWS), detected(*holes))
    assert found["1,0"] is None  # one line for two cells: nobody knows which
    assert found["2,1"] == [100, 40, 160, 50]


def test_a_drawn_grid_of_the_same_shape_is_surest() -> None:
    grid = Grid(cells=[GridCell(row=r, col=c, bbox=[c, r, c + 1, r + 1]) for r in range(3) for c in range(2)])
    assert boxes(table(*ROWS), native(*ROWS), grid)["2,1"] == [1, 2, 2, 3]
    assert boxes(table(*ROWS[:2]), native(*ROWS[:2]), grid)["1,0"] == [0, 20, 60, 30]


def test_cells_of_a_skewed_table_stand_where_they_are_on_the_page() -> None:
    cells = [GridCell(row=0, col=c, bbox=[100.0 * c, 180.0, 100.0 * c + 100, 220.0]) for c in range(4)]
    found = boxes(table(["a", "b", "c", "d"]), [], Grid(cells=cells, slope=0.1))
    assert [found[f"0,{c}"] for c in range(4)] == [
        [0, 165, 100, 205],
        [100, 175, 200, 215],
        [200, 185, 300, 225],
        [300, 195, 400, 235],
    ]


@given(st.lists(st.lists(st.sampled_from(["", "a", "ab", "b", "0"]), min_size=2, max_size=2), min_size=1, max_size=6))
def test_every_box_comes_from_the_lines_and_the_right_table_has_all(rows: list[list[str]]) -> None:
    found = boxes(table(*rows), native(*rows))
    for r, row in enumerate(rows):
        for c, text in enumerate(row):
            expected = [100.0 * c, 20.0 * r, 100.0 * c + 60, 20.0 * r + 10] if text else None
            assert found[f"{r},{c}"] == expected


def test_a_hostile_table_costs_no_more_than_its_bound() -> None:
    lines = [TextLine(bbox=[0, float(i), 10, i + 1.0], text="a") for i in range(500)]
    boxes(table_of([Cell(row=i, col=0, text="a" * (i + 2)) for i in range(1_000)]), lines)
