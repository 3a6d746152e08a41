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

from services.assembler.document import near_cells
from services.assembler.document.boxes import clipped, merged, overlap, union
from services.assembler.document.spanning import spanned
from services.assembler.document.text import Piece, in_one, joined, rows
from shared.contracts.document import Cell, Table
from shared.contracts.errors import DocfleetError
from shared.contracts.tables import html_of, table_of

TOUCHING, TOUCHING_READ = 0.6, -0.1
"""White between two pieces of a row, in line heights, below which they are one: a blank, or a change of font. What was read are lines of a
detector, which parts no words of one cell: only what overlaps is one."""
OVER = 0.12
"""Line heights by which a detector's boxes reach over the letters on either side: those of near cells touch."""
ENOUGH = 0.25
"""Share of the rows that must have most pieces for these alone to say where the columns are."""
FULL = 0.75
"""Share of the most pieces in a row from which on a row has (nearly) all columns."""
WITHIN = 0.75
"""Share of a read piece's width in a column from which it stands over it, however wide that is."""
CLOSE = 0.45
"""White above a row, in line heights, below which it may continue the row above."""
EDGE = 0.2
"""Line heights by which left or right edges in one column may differ that only names beside the rows have."""
NEARER = 0.85
"""Times the usual distance of rows below which it may."""


def from_pieces(pieces: Sequence[Piece], page_no: int) -> Table | None:
    """The grid of a table region from its lines; none without text, without two columns, or with more rows than a table may have."""
    pieces = [p for p in pieces if p.text.strip()]
    touching = TOUCHING
    if all(p.confidence is not None for p in pieces):
        pieces, touching = [_tight(p) for p in pieces], TOUCHING_READ
    pieces = near_cells.parted([in_one(row, touching) for row in rows(pieces)])
    columns = _columns(pieces)
    if len(columns) < 2:
        return None
    placed: list[dict[tuple[int, int], list[Piece]]] = []
    bottom = last = 0.0
    found_rows = rows(pieces)
    usual = _usual_step(found_rows)
    for row in found_rows:
        cells: dict[tuple[int, int], list[Piece]] = {}
        for piece, place in zip(row, _spans(row, columns), strict=True):
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
    whole = [_without_clashes(cells) for cells in placed]
    grid = spanned(whole, _extents(whole, columns))
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


def _tight(piece: Piece) -> Piece:
    """A read line by its letters."""
    x0, y0, x1, y1 = piece.box
    over = min(OVER * piece.height, (x1 - x0) / 4)
    return piece if piece.vertical else replace(piece, box=[x0 + over, y0, x1 - over, y1])


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


def _columns(pieces: Sequence[Piece]) -> list[tuple[float, float]]:
    """Column strips `(x0, x1)`: what lines cover, wide ones left out as long as that makes more columns.

    Of the rows that have most columns where there are enough of them: names over several columns stand where the white between those is.
    """
    found = rows(pieces)
    most = max((len(row) for row in found), default=0)
    full = [row for row in found if len(row) == most]
    if len(full) < max(2, ENOUGH * len(found)):
        full = [row for row in found if len(row) >= FULL * most]
    if len(full) >= 2:
        strips = _strips([piece for row in full for piece in row])
        if len(strips) >= most:
            return _with_outer(_closed_up(strips, [piece for row in full for piece in row]), pieces)
    return _closed_up(_strips(pieces), pieces)


def _with_outer(columns: Sequence[tuple[float, float]], pieces: Sequence[Piece]) -> list[tuple[float, float]]:
    """The columns of the fullest rows, and one left or right of them all in which two rows and more have something at one edge: names that
    stand beside two rows each are rows of their own."""
    out = list(columns)
    left = [p for p in pieces if p.box[2] + p.height <= columns[0][0]]
    right = [p for p in pieces if p.box[0] - p.height >= columns[-1][1]]
    for found, place in ((left, 0), (right, len(out) + 1)):
        if len(found) < 2 or len(rows(found)) < len(found):
            continue
        edges = [[p.box[side] for p in found] for side in (0, 2)]
        if min(max(ends) - min(ends) for ends in edges) <= EDGE * found[0].height:
            out.insert(place, (min(edges[0]), max(edges[1])))
    return out


def _strips(pieces: Sequence[Piece]) -> list[tuple[float, float]]:
    best: list[tuple[float, float]] = []
    by_width = sorted(pieces, key=lambda p: (p.box[2] - p.box[0], p.box))
    for share in (1.0, 0.95, 0.85, 0.7):
        chosen = by_width[: max(1, round(share * len(by_width)))]
        # A tenth off each side: boxes of neighbours may touch after a slight rotation.
        strips = merged(
            (p.box[0] + 0.1 * p.height, max(p.box[0] + 0.1 * p.height, p.box[2] - 0.1 * p.height)) for p in chosen
        )
        if len(strips) > len(best):
            best = strips
    return best


def _closed_up(columns: Sequence[tuple[float, float]], pieces: Sequence[Piece]) -> list[tuple[float, float]]:
    """Strips of which no row has both are one column: a heading at its left edge, numbers at its right one."""
    used: list[set[int]] = [set() for _ in columns]
    for number, row in enumerate(rows(pieces)):
        for piece in row:
            first, last = _span(piece, columns)
            for index in range(first, last + 1):
                used[index].add(number)
    out: list[tuple[float, float]] = []
    rows_of: list[set[int]] = []
    for strip, own in zip(columns, used, strict=True):
        if out and not own & rows_of[-1]:
            out[-1] = (out[-1][0], strip[1])
            rows_of[-1] |= own
        else:
            out.append(strip)
            rows_of.append(set(own))
    return out


def _extents(
    placed: Sequence[dict[tuple[int, int], list[Piece]]], columns: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """How far the columns reach with all that stands in them below the first row."""
    out = list(columns)
    for cells in placed[1:]:
        for (first, last), found in cells.items():
            if first == last:
                x0, x1 = out[first]
                out[first] = min(x0, *(p.box[0] for p in found)), max(x1, *(p.box[2] for p in found))
    return out


def _spans(row: Sequence[Piece], columns: Sequence[tuple[float, float]]) -> list[tuple[int, int]]:
    """Columns of each piece of a row. Names that stand beside their columns, not over them, go each to one of its own, in order."""
    spans = [_span(piece, columns) for piece in row]
    beside = {i for i, piece in enumerate(row) if not _touched(piece, columns)}
    clash = any(
        spans[i][0] <= spans[j][1]
        and spans[j][0] <= spans[i][1]
        and (j in beside or _gap(row[i], columns[spans[i][0]]) >= row[i].height)
        for i in beside
        for j in range(len(row))
        if i != j
    )
    if not clash or len(row) > len(columns) or any(a != b for a, b in spans):
        return spans
    far = float("inf")
    # costs[i][c]: of the first i pieces in the first c columns, each in one of its own.
    costs = [[0.0] * (len(columns) + 1)] + [[far] * (len(columns) + 1) for _ in row]
    for i, piece in enumerate(row, 1):
        for c, strip in enumerate(columns, 1):
            costs[i][c] = min(costs[i][c - 1], costs[i - 1][c - 1] + _gap(piece, strip))
    out: list[tuple[int, int]] = []
    c = len(columns)
    for i in range(len(row), 0, -1):
        while c > 1 and costs[i][c - 1] == costs[i][c]:
            c -= 1
        out.append((c - 1, c - 1))
        c -= 1
    return out[::-1]


def _gap(piece: Piece, strip: tuple[float, float]) -> float:
    """White between a piece and a column, 0 where they meet."""
    return max(0.0, strip[0] - piece.box[2], piece.box[0] - strip[1])


def _touched(piece: Piece, columns: Sequence[tuple[float, float]]) -> list[int]:
    """Columns that a piece stands over: a part of their width, or, of what was read, most of its own (a number in a wide column)."""
    x0, x1 = piece.box[0], piece.box[2]
    most = float("inf") if piece.confidence is None else WITHIN * (x1 - x0)
    shared = [(overlap(x0, x1, *column), column[1] - column[0]) for column in columns]
    return [i for i, (common, width) in enumerate(shared) if common > min(0.15 * width, most)]


def _span(piece: Piece, columns: Sequence[tuple[float, float]]) -> tuple[int, int]:
    touched = _touched(piece, columns)
    if touched:
        return touched[0], touched[-1]
    middle = (piece.box[0] + piece.box[2]) / 2
    nearest = min(range(len(columns)), key=lambda i: (abs((columns[i][0] + columns[i][1]) / 2 - middle), i))
    return nearest, nearest


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


def is_simple(table: Table) -> bool:
    """Whether pipes can show it: no cell spans."""
    return all(cell.row_span == 1 and cell.col_span == 1 for cell in table.cells)
