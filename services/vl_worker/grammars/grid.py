"""Rows of cells with spans to a grid without overlap: the one table model that HTML and OTSL end in.

Spans are what a model says, so they are bounded before anything is laid out: one cell of 5,000 x 500 would claim 2.5 million places.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shared.contracts.document import Cell, Table
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.tables import MAX_COLS, MAX_ROWS, table_of

MAX_CELLS = 20_000
"""Default of `vl.max_table_cells`: places of a grid, spans counted in full. A page of print holds some 2,000."""


class Entry(msgspec.Struct, frozen=True):
    """A cell as it stands in its row."""

    text: str
    row_span: int = 1
    col_span: int = 1
    column_header: bool = False
    row_header: bool = False


def grid_of(rows: Sequence[Sequence[Entry]], *, page_no: int, max_cells: int = MAX_CELLS) -> Table:
    """The table. Each cell takes the next free place of its row, as in HTML's table model; a span ends where another cell stands.

    Raises `DocfleetError(corrupt)` when there is no cell, or more than `max_cells` places, `MAX_ROWS` rows or `MAX_COLS` columns.
    """
    if len(rows) > MAX_ROWS:
        raise DocfleetError(ErrorCode.corrupt, f"the model's table has more than {MAX_ROWS} rows")
    taken: set[tuple[int, int]] = set()
    cells: list[Cell] = []
    for row, entries in enumerate(rows):
        col = 0
        for entry in entries:
            while (row, col) in taken:
                col += 1
            row_span = min(max(entry.row_span, 1), len(rows) - row)
            col_span = max(entry.col_span, 1)
            if col + 1 > MAX_COLS:
                raise DocfleetError(ErrorCode.corrupt, f"the model's table has more than {MAX_COLS} columns")
            col_span = min(col_span, MAX_COLS - col)
            free = next((i for i in range(1, col_span) if (row, col + i) in taken), col_span)
            if len(taken) + row_span * free > max_cells:
                raise DocfleetError(ErrorCode.corrupt, f"the model's table has more than {max_cells} cells")
            taken.update((row + i, col + j) for i in range(row_span) for j in range(free))
            cells.append(
                Cell(
                    row=row,
                    col=col,
                    row_span=row_span,
                    col_span=free,
                    text=entry.text,
                    column_header=entry.column_header,
                    row_header=entry.row_header,
                    page_no=page_no,
                )
            )
            col += free
    if not cells:
        raise DocfleetError(ErrorCode.corrupt, "the model's table has no cell")
    return table_of(cells, page_no=page_no)
