"""How many rows of a table are its header."""

from __future__ import annotations

import pytest

from services.assembler.document.ruled import from_grid
from services.assembler.document.tables import from_pieces, header_rows
from services.assembler.document.text import Piece
from shared.contracts.layout import Grid, GridCell

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("first", "rows", "header"),
    [
        ([(1, 1), (1, 1)], 5, 1),
        ([(2, 1), (1, 3)], 5, 2),
        ([(1, 2), (1, 2)], 5, 2),
        ([(3, 1), (1, 2)], 5, 3),
        ([(1, 2)], 2, 1),
        ([(1, 1)], 1, 0),
        ([], 0, -1),
    ],
)
def test_header_rows(first: list[tuple[int, int]], rows: int, header: int) -> None:
    assert max(0, header_rows(first, rows)) == max(0, header)


def test_a_ruled_table_with_names_over_columns() -> None:
    cells = [
        GridCell(row=0, col=0, row_span=2, bbox=[0, 0, 50, 40]),
        GridCell(row=0, col=1, col_span=2, bbox=[50, 0, 150, 20]),
        GridCell(row=1, col=1, bbox=[50, 20, 100, 40]),
        GridCell(row=1, col=2, bbox=[100, 20, 150, 40]),
        *(GridCell(row=2, col=c, bbox=[50.0 * c, 40, 50.0 * c + 50, 60]) for c in range(3)),
    ]
    pieces = [
        Piece(box=[cell.bbox[0] + 5, cell.bbox[1] + 5, cell.bbox[0] + 40, cell.bbox[1] + 15], text="x")
        for cell in cells
    ]
    table = from_grid(Grid(cells=cells), [0, 0, 150, 60], pieces, 1)
    assert [cell.column_header for cell in table.cells] == [True] * 4 + [False] * 3


def test_an_aligned_table_with_names_over_columns() -> None:
    def row(top: float, *places: tuple[float, float, str]) -> list[Piece]:
        return [Piece(box=[x0, top, x1, top + 10], text=text) for x0, x1, text in places]

    pieces = [
        *row(0, (0, 40, "Name"), (100, 240, "Ships and days together")),
        *row(20, (100, 140, "Ships"), (200, 240, "Days")),
        *(p for i in range(4) for p in row(40 + 20 * i, (0, 40, f"n{i}"), (100, 140, "4"), (200, 240, "11"))),
    ]
    table = from_pieces(pieces, 1)
    assert table is not None
    headers = {cell.text for cell in table.cells if cell.column_header}
    assert headers == {"Name", "Ships and days together", "Ships", "Days"}
