"""Tables whose cells are known from their ruling lines: every line goes into the cell it stands in, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Sequence

from services.assembler.document.boxes import overlap
from services.assembler.document.tables import header_rows
from services.assembler.document.text import Piece, in_one, joined, rows
from shared.contracts.document import Cell, Table
from shared.contracts.layout import Grid, GridCell
from shared.contracts.tables import table_of


def from_grid(grid: Grid, box: Sequence[float], pieces: Sequence[Piece], page_no: int) -> Table:
    """The table with the text of its lines. `box` is the region's, about whose middle a skewed grid turns.

    A line belongs to the cell that covers most of it; one outside all cells to the nearest, so that no text is lost.
    """
    found: dict[int, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(_home(_upright(piece.box, grid.slope, box), grid.cells), []).append(piece)
    spans = [(cell.row_span, cell.col_span) for cell in grid.cells if cell.row == 0]
    header = header_rows(spans, max((cell.row + cell.row_span for cell in grid.cells), default=0))
    cells = [
        Cell(
            row=cell.row,
            col=cell.col,
            row_span=cell.row_span,
            col_span=cell.col_span,
            text=_text(found.get(index, [])),
            column_header=cell.row < header,
            bbox=list(cell.bbox),
            page_no=page_no,
        )
        for index, cell in enumerate(grid.cells)
    ]
    return table_of(cells, page_no=page_no)


def _text(pieces: Sequence[Piece]) -> str:
    """The lines of a cell in reading order; what stands beside each other in one row has a blank between."""
    return joined([piece.text for row in rows(pieces) for piece in in_one(row)])


def _home(box: Sequence[float], cells: Sequence[GridCell]) -> int:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2

    def place(index: int) -> tuple[float, float, int]:
        x0, y0, x1, y1 = cells[index].bbox
        width, height = overlap(box[0], box[2], x0, x1), overlap(box[1], box[3], y0, y1)
        shared = width * height if width > 0 and height > 0 else 0.0
        away = max(x0 - x, 0.0, x - x1) ** 2 + max(y0 - y, 0.0, y - y1) ** 2
        return (-shared, away, index)

    return min(range(len(cells)), key=place)


def _upright(box: Sequence[float], slope: float, about: Sequence[float]) -> list[float]:
    """Where a line's box is when the table is turned upright: shifted, and thinner by what the slope adds to its height."""
    x0, y0, x1, y1 = box
    x, y = (x0 + x1 - about[0] - about[2]) / 2, (y0 + y1 - about[1] - about[3]) / 2
    thinner = min(abs(slope) * (x1 - x0), 0.5 * (y1 - y0)) / 2
    return [x0 + slope * y, y0 - slope * x + thinner, x1 + slope * y, y1 - slope * x - thinner]
