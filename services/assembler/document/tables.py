"""Tables: cells out of aligned lines, a grid out of a reading, HTML out of cells, and parts of one table over pages.

A grid from lines: columns are the vertical strips that text covers when the widest lines (which may span) are left out;
rows are lines of the same height; a row without text in its first column that follows closely continues the one above.
The first row is taken for the header, and the one below it where it has names over several columns: neither the text layer nor the pixels
say, and readers expect one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from msgspec.structs import replace

from services.assembler.document import near_cells, strips, wrapped
from services.assembler.document.boxes import clipped, union
from services.assembler.document.spanning import spanned
from services.assembler.document.text import Piece, in_one, joined, rows
from shared.contracts.document import Cell, Table
from shared.contracts.errors import DocfleetError
from shared.contracts.tables import html_of, table_of

TOUCHING, TOUCHING_READ = 0.6, -0.45
"""White between two pieces of a row, in line heights, below which they are one: a blank, or a change of font. What was read are lines of a
detector, which parts no words of one cell: only what lies on the other is one. Boxes of near cells overlap by a third of a height."""
OVER = 0.12
"""Line heights by which a detector's boxes reach over the letters on every side: those of near cells touch."""
CLOSE = 0.45
"""White above a row, in line heights, below which it may continue the row above."""
LEAST_ROWS, EVEN = 5, 0.2
"""Rows from which an even distance is no accident, and by how much of it each may differ."""
EXACT = 3
"""Columns from which as many lines in every row are no accident."""
NEARER = 0.85
"""Times the usual distance of rows below which it may."""


def from_pieces(pieces: Sequence[Piece], page_no: int) -> Table | None:
    """The grid of a table region from its lines; none without text, without two columns, or with more rows than a table may have."""
    pieces = [p for p in pieces if p.text.strip()]
    touching = TOUCHING
    if all(p.confidence is not None for p in pieces):
        # The page's own text that came through a reader is surely read, and its boxes are those of its letters.
        exact = all(p.confidence == 1.0 for p in pieces)
        pieces, touching = [_tight(p, exact) for p in pieces], TOUCHING_READ
    pieces = near_cells.parted([_apart(in_one(row, touching)) for row in rows(pieces)])
    columns = strips.columns_of(pieces)
    edges = strips.Edges(pieces)
    if len(columns) < 2:
        return None
    placed: list[dict[tuple[int, int], list[Piece]]] = []
    bottom = last = 0.0
    found_rows = rows(pieces)
    usual = _usual_step(found_rows)
    for row in found_rows:
        cells: dict[tuple[int, int], list[Piece]] = {}
        for piece, place in zip(row, strips.spans_of(row, columns, edges), strict=True):
            cells.setdefault(place, []).append(piece)
        top = min(piece.box[1] for piece in row)
        height = median(piece.height for piece in row)
        middle = median((piece.box[1] + piece.box[3]) / 2 for piece in row)
        near = top - bottom < CLOSE * height and middle - last < NEARER * usual
        continues = placed and near and all(span[0] > 0 for span in cells)
        if continues and all(any(span == other for other in placed[-1]) for span in cells):
            for span, found in cells.items():
                placed[-1][span] += found
        else:
            placed.append(cells)
        bottom, last = max(piece.box[3] for piece in row), middle
    whole = wrapped.joined([_without_clashes(cells) for cells in placed], NEARER * usual)
    grid = spanned(whole, strips.extents(whole, columns))
    first = [(cell.row_span, cell.columns[1] - cell.columns[0] + 1) for cell in grid if cell.row == 0]
    header = header_rows(first, max(cell.row + cell.row_span for cell in grid))
    cells_out = [
        Cell(
            row=cell.row,
            col=cell.columns[0],
            row_span=cell.row_span,
            col_span=cell.columns[1] - cell.columns[0] + 1,
            text=joined([piece.text for piece in cell.pieces]),
            column_header=cell.row < header,
            bbox=union([piece.box for piece in cell.pieces]),
            page_no=page_no,
        )
        for cell in grid
    ]
    try:
        return table_of(cells_out, page_no=page_no)
    except DocfleetError:
        return None  # beyond all bounds: its lines are its text


def _tight(piece: Piece, exact: bool) -> Piece:
    """A read line by its letters; one whose box is `exact` with white beside it, as if it were a detector's."""
    x0, y0, x1, y1 = piece.box
    beside, over = min(OVER * piece.height, (x1 - x0) / 4), 0.0 if exact else OVER * piece.height
    return piece if piece.vertical else replace(piece, box=[x0 + beside, y0 + over, x1 - beside, y1 - over])


def _apart(row: Sequence[Piece]) -> list[Piece]:
    """A row whose boxes still overlap, each as far as the middle of what it shares with its neighbour."""
    out = list(row)
    for index, (left, right) in enumerate(pairwise(row)):
        over = left.box[2] - right.box[0]
        if over > 0 and not left.vertical and left.box[0] < right.box[0] and left.box[2] < right.box[2]:
            middle = right.box[0] + over / 2
            a, b = out[index], out[index + 1]
            out[index] = replace(a, box=[a.box[0], a.box[1], middle, a.box[3]])
            out[index + 1] = replace(b, box=[middle, b.box[1], b.box[2], b.box[3]])
    return out


def _usual_step(found: Sequence[Sequence[Piece]]) -> float:
    """Distance of rows that are not lines of one cell: most are nearer at most in a table whose cells are all broken."""
    middles = [median((piece.box[1] + piece.box[3]) / 2 for piece in row) for row in found]
    steps = sorted(b - a for a, b in pairwise(middles))
    return steps[3 * len(steps) // 4] if steps else 0.0


def header_rows(first: Sequence[tuple[int, int]], rows: int) -> int:
    """Rows of the header of a table with so many rows, from the row and column spans of its first row's cells.

    Names over several columns have the columns' own names below them; a table of one row has no header.
    """
    deepest = max((row_span for row_span, _ in first), default=1)
    grouped = any(col_span > 1 for _, col_span in first)
    return min(max(deepest, 2 if grouped else 1), rows - 1)


def _without_clashes(cells: dict[tuple[int, int], list[Piece]]) -> dict[tuple[int, int], list[Piece]]:
    """Cells of one row whose spans overlap become one, so that each place of the grid has one owner."""
    out: dict[tuple[int, int], list[Piece]] = {}
    for span in sorted(cells):
        clash = next((other for other in out if other[0] <= span[1] and span[0] <= other[1]), None)
        if clash is None:
            out[span] = list(cells[span])
        else:
            both = out.pop(clash) + cells[span]
            both.sort(key=lambda p: (p.box[0], p.box[1]))
            out[min(clash[0], span[0]), max(clash[1], span[1])] = both
    return out


def finished(table: Table, page_no: int | None = None, width: float = 0.0, height: float = 0.0) -> Table:
    """A table in its final form: cells in order, boxes inside the page where one is given, HTML from the cells."""
    cells = sorted(table.cells, key=lambda cell: (cell.row, cell.col))
    if page_no is not None:
        cells = [
            replace(cell, page_no=page_no, bbox=clipped(cell.bbox, width, height) if cell.bbox else None)
            for cell in cells
        ]
    return replace(table, cells=cells, html=html_of(cells))


def plain(table: Table) -> str:
    """Text of a table: rows as lines, cells separated by tabs."""
    by_row: dict[int, list[str]] = {}
    for cell in table.cells:
        by_row.setdefault(cell.row, []).append(" ".join(cell.text.split()))
    return "\n".join("\t".join(texts) for _, texts in sorted(by_row.items()))


def holds(own: Table, seen: Table) -> bool:
    """Whether the grid of the lines has all rows and columns of another: boxes of rows set close may overlap, and two rows look like one."""
    return own.num_rows >= seen.num_rows and own.num_cols >= seen.num_cols


def complete(table: Table) -> bool:
    """Whether every place of the grid has a cell of its own: then the lines themselves say what the table is."""
    return is_simple(table) and table.num_rows > 1 and len(table.cells) == table.num_rows * table.num_cols


def is_exact(table: Table, lines: int) -> bool:
    """Whether a complete grid has each of so many lines in a cell of its own, three columns and more: no two rows were taken for one."""
    return complete(table) and table.num_cols >= EXACT and len(table.cells) == lines


def is_regular(table: Table, lines: int) -> bool:
    """Whether a grid of so many lines has each in a cell of its own, and rows that stand as far apart as one another: no two rows were taken
    for one, and no lines of one cell for two rows."""
    if table.num_rows < LEAST_ROWS or sum(bool(cell.text) for cell in table.cells) != lines:
        return False
    middles: list[list[float]] = [[] for _ in range(table.num_rows)]
    for cell in table.cells:
        if cell.row_span == 1 and cell.bbox is not None:
            middles[cell.row].append((cell.bbox[1] + cell.bbox[3]) / 2)
    if not all(middles):
        return False
    steps = [b - a for a, b in pairwise(median(row) for row in middles)]
    usual = median(steps)
    return all(abs(step - usual) <= EVEN * usual for step in steps)


def is_simple(table: Table) -> bool:
    """Whether pipes can show it: no cell spans."""
    return all(cell.row_span == 1 and cell.col_span == 1 for cell in table.cells)
