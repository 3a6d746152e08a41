"""A table as a grid: checked, and written as HTML by us, so that no markup of a model or a document is ever passed on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from shared.contracts.document import Cell, Table, TablePart
from shared.contracts.errors import DocfleetError, ErrorCode

MAX_ROWS = 5_000
MAX_COLS = 500


def table_of(cells: Sequence[Cell], *, page_no: int | None = None) -> Table:
    """A `Table` with its size and HTML from cells, which are sorted by row and column.

    Raises `DocfleetError(corrupt)` where two cells claim one place or the grid is larger than `MAX_ROWS` x `MAX_COLS`.
    """
    ordered = sorted(cells, key=lambda cell: (cell.row, cell.col))
    rows = max((cell.row + cell.row_span for cell in ordered), default=0)
    cols = max((cell.col + cell.col_span for cell in ordered), default=0)
    if rows > MAX_ROWS or cols > MAX_COLS:
        raise DocfleetError(ErrorCode.corrupt, f"table of {rows} x {cols} cells is larger than {MAX_ROWS} x {MAX_COLS}")
    taken: set[tuple[int, int]] = set()
    for cell in ordered:
        for row in range(cell.row, cell.row + cell.row_span):
            for col in range(cell.col, cell.col + cell.col_span):
                if (row, col) in taken:
                    raise DocfleetError(ErrorCode.corrupt, f"two cells of a table stand at row {row}, column {col}")
                taken.add((row, col))
    parts = [TablePart(page_no=page_no, rows=[0, rows])] if page_no is not None and rows else []
    return Table(num_rows=rows, num_cols=cols, cells=list(ordered), html=html_of(ordered), parts=parts)


def html_of(cells: Sequence[Cell]) -> str:
    """HTML of cells sorted by row and column: only `table`, `tr`, `th`, `td`, `rowspan` and `colspan`; text is escaped."""
    out = ["<table>"]
    row = -1
    for cell in cells:
        while row < cell.row:
            out.append("<tr>" if row < 0 else "</tr><tr>")
            row += 1
        tag = "th" if cell.column_header or cell.row_header else "td"
        spans = (f' rowspan="{cell.row_span}"' if cell.row_span > 1 else "") + (
            f' colspan="{cell.col_span}"' if cell.col_span > 1 else ""
        )
        out.append(f"<{tag}{spans}>{escape(cell.text, quote=False)}</{tag}>")
    out.append("</tr></table>" if row >= 0 else "</table>")
    return "".join(out)
