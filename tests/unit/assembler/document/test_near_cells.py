"""Tables whose lines run over two cells, and names beside rows: where the columns are."""

import pytest

from services.assembler.document.tables import from_pieces
from services.assembler.document.text import Piece

pytestmark = pytest.mark.unit


def row(y: float, *texts: tuple[float, float, str]) -> list[Piece]:
    """Pieces of a page's own text, 13 points high, from x0 to x1."""
    return [Piece(box=[x0, y, x1, y + 13], text=text) for x0, x1, text in texts]


def texts(pieces: list[Piece]) -> list[list[str]]:
    found = from_pieces(pieces, 1)
    assert found is not None
    grid = [[""] * found.num_cols for _ in range(found.num_rows)]
    for cell in found.cells:
        for n in range(cell.row_span):
            grid[cell.row + n][cell.col] = cell.text
    return grid


HEAD = row(108, (100, 121, "地点"), (184, 204, "数量"), (241, 261, "备注"), (329, 350, "名称"))


def test_a_number_and_the_next_cell_that_came_as_one_line_are_two_cells() -> None:
    first = row(128, (100, 121, "桥梁"), (213.5, 258.4, "49.6 674"), (329, 350, "纸张"))
    second = row(148, (100, 121, "花园"), (207.6, 258.4, "2,833 733"), (329, 350, "粮食"))
    assert texts([*HEAD, *first, *second])[1:] == [["桥梁", "49.6", "674", "纸张"], ["花园", "2,833", "733", "粮食"]]


def test_one_such_line_may_be_a_long_name_beside_an_empty_cell() -> None:
    first = row(128, (100, 121, "桥梁"), (213.5, 258.4, "49.6 674"), (329, 350, "纸张"))
    second = row(148, (100, 121, "花园"), (200, 221, "2,833"), (241, 258, "733"), (329, 350, "粮食"))
    assert "49.6 674" in [text for row_of in texts([*HEAD, *first, *second]) for text in row_of]


def test_a_line_without_a_blank_where_a_column_begins_stays_whole() -> None:
    lines = [
        row(128 + 20 * n, (100, 121, "桥梁"), (190, 275, f"old bridge-keeper {n}"), (329, 350, "纸张"))
        for n in range(2)
    ]
    assert any(text.startswith("old bridge-keeper") for line in texts([*HEAD, *lines[0], *lines[1]]) for text in line)


def test_names_beside_two_rows_each_are_a_column() -> None:
    pieces = [
        *row(117, (239, 274, "Remark")),
        *row(127, (89, 110, "Item"), (339, 375, "Amount")),
        *row(137, (184, 205, "Year"), (257, 281, "Place")),
        *row(157, (184, 207, "grain"), (257, 282, "north"), (339, 366, "paper")),
        *row(167, (89, 121, "garden")),
        *row(177, (184, 207, "none"), (257, 282, "south"), (339, 369, "timber")),
    ]
    assert texts(pieces)[2:] == [["garden", "grain", "north", "paper"], ["garden", "none", "south", "timber"]]
