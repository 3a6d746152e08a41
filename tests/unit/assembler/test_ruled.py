"""Lines in the cells of a drawn grid."""

import math

import pytest

from services.assembler.document.ruled import from_grid
from services.assembler.document.text import Piece
from shared.contracts.layout import Grid, GridCell

pytestmark = pytest.mark.unit

BOX = [100.0, 100.0, 400.0, 160.0]


def cell(row, col, x0, x1, *, rows=1, cols=1):
    return GridCell(
        row=row, col=col, row_span=rows, col_span=cols, bbox=[x0, 100 + 20 * row, x1, 120 + 20 * (row + rows - 1)]
    )


SPANS = [
    cell(0, 0, 100, 200, rows=2),
    cell(0, 1, 200, 400, cols=2),
    cell(1, 1, 200, 300),
    cell(1, 2, 300, 400),
    cell(2, 0, 100, 200),
    cell(2, 1, 200, 300),
    cell(2, 2, 300, 400),
]


def piece(text, x0, y0, x1, y1):
    return Piece(box=[x0, y0, x1, y1], text=text)


def texts(table):
    return {(c.row, c.col): c.text for c in table.cells}


def test_lines_stand_in_cells_with_spans_and_empty_cells_stay():
    table = from_grid(
        Grid(cells=SPANS),
        BOX,
        [
            piece("Name", 105, 104, 150, 115),
            piece("of it", 105, 124, 150, 135),
            piece("Values", 240, 104, 300, 115),
            piece("7", 305, 144, 312, 155),
        ],
        1,
    )
    assert (table.num_rows, table.num_cols) == (3, 3)
    assert texts(table) == {
        (0, 0): "Name of it",
        (0, 1): "Values",
        (1, 1): "",
        (1, 2): "",
        (2, 0): "",
        (2, 1): "",
        (2, 2): "7",
    }
    assert 'rowspan="2"' in table.html
    assert 'colspan="2"' in table.html


def test_a_line_beside_the_grid_goes_to_the_nearest_cell():
    assert texts(from_grid(Grid(cells=SPANS), BOX, [piece("lost", 402, 144, 430, 155)], 1))[2, 2] == "lost"


@pytest.mark.parametrize("degrees", [-5, -2, 2, 5])
def test_lines_of_a_skewed_table_find_their_rows(degrees):
    cells = [cell(row, col, 0 + 250 * col, 250 + 250 * col) for row in range(6) for col in range(2)]
    box = [0.0, 100.0, 500.0, 220.0]
    slope = math.tan(math.radians(degrees))
    pieces = []
    for item in cells:
        x, y = (item.bbox[0] + item.bbox[2]) / 2 - 250, (item.bbox[1] + item.bbox[3]) / 2 - 160
        x, y = x - slope * y + 250, y + slope * x + 160
        extra = abs(slope) * 30
        pieces.append(piece(f"{item.row}.{item.col}", x - 30, y - 5 - extra, x + 30, y + 5 + extra))
    table = from_grid(Grid(cells=cells, slope=slope), box, pieces, 1)
    assert texts(table) == {(c.row, c.col): f"{c.row}.{c.col}" for c in cells}
