"""Columns of a table from where its pieces stand, and the columns of each piece.

Columns are the vertical strips that text covers in the rows that have most pieces. A name need not stand over its numbers: they are set to the
right of their column, it to the left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from services.assembler.document.boxes import merged, overlap
from services.assembler.document.text import Piece, rows

ENOUGH = 0.25
"""Share of the rows that must have most pieces for these alone to say where the columns are."""
FULL = 0.75
"""Share of the most pieces in a row from which on a row has (nearly) all columns."""
WITHIN = 0.75
"""Share of a piece's width in a column from which it stands over it, however wide that is."""
EDGE = 0.2
"""Line heights by which left or right edges in one column may differ that only names beside the rows have."""
LEFT = 3.0
"""Times the white between a name and a column wholly left of it, by which that counts more than one to the right: what is set to the left of a
column has the column's numbers right of where it begins."""

Span = tuple[int, int]
"""First and last column."""


def columns_of(pieces: Sequence[Piece]) -> list[tuple[float, float]]:
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


def extents(
    placed: Sequence[dict[Span, list[Piece]]], columns: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """How far the columns reach with all that stands in them below the first row."""
    out = list(columns)
    for cells in placed[1:]:
        for (first, last), found in cells.items():
            if first == last:
                x0, x1 = out[first]
                out[first] = min(x0, *(p.box[0] for p in found)), max(x1, *(p.box[2] for p in found))
    return out


class Edges:
    """Where pieces begin and end: one that shares an edge with another is set in a column, however little of that it fills."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._sides = [sorted(piece.box[side] for piece in pieces) for side in (0, 2)]

    def shared(self, piece: Piece) -> bool:
        """Whether another piece begins or ends where this one does."""
        reach = EDGE * piece.height
        at = (piece.box[0], piece.box[2])
        return any(
            bisect_right(side, x + reach) - bisect_left(side, x - reach) > 1
            for side, x in zip(self._sides, at, strict=True)
        )


def spans_of(row: Sequence[Piece], columns: Sequence[tuple[float, float]], edges: Edges) -> list[Span]:
    """Columns of each piece of a row. Names that stand beside their columns, not over them, go each to one of its own, in order. `edges` are
    those of the table's pieces."""
    touched = [_touched(piece, columns, edges) for piece in row]
    spans = [_span(piece, columns, found) for piece, found in zip(row, touched, strict=True)]
    beside = {i for i, found in enumerate(touched) if not found}
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
            behind = LEFT if strip[1] < piece.box[0] else 1.0
            costs[i][c] = min(costs[i][c - 1], costs[i - 1][c - 1] + behind * _gap(piece, strip))
    out: list[Span] = []
    c = len(columns)
    for i in range(len(row), 0, -1):
        while c > 1 and costs[i][c - 1] == costs[i][c]:
            c -= 1
        out.append((c - 1, c - 1))
        c -= 1
    return out[::-1]


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
    """Strips of which no row has something in each are one column: a heading at its left edge, a short number at its right one, and longer ones
    over both."""
    placed = [[_span(piece, columns, _touched(piece, columns)) for piece in row] for row in rows(pieces)]
    out: list[tuple[float, float]] = []
    first = 0
    """Of the strips that are the last column so far."""
    for index, strip in enumerate(columns):
        if out and not any(_in_both(row, first, index) for row in placed):
            out[-1] = (out[-1][0], strip[1])
        else:
            out.append(strip)
            first = index
    return out


def _in_both(row: Sequence[Span], first: int, index: int) -> bool:
    """Whether a row has something in the strips from `first` to before `index`, and something else in that one."""
    return any(span[1] >= first and span[1] < index for span in row) and any(span[0] == index for span in row)


def _gap(piece: Piece, strip: tuple[float, float]) -> float:
    """White between a piece and a column, 0 where they meet."""
    return max(0.0, strip[0] - piece.box[2], piece.box[0] - strip[1])


def _touched(piece: Piece, columns: Sequence[tuple[float, float]], edges: Edges | None = None) -> list[int]:
    """Columns that a piece stands over: a part of their width, or most of its own (a number in a wide column), where it was read or shares an
    edge with another."""
    x0, x1 = piece.box[0], piece.box[2]
    placed = piece.confidence is not None or (edges is not None and edges.shared(piece))
    most = WITHIN * (x1 - x0) if placed else float("inf")
    shared = [(overlap(x0, x1, *column), column[1] - column[0]) for column in columns]
    return [i for i, (common, width) in enumerate(shared) if common > min(0.15 * width, most)]


def _span(piece: Piece, columns: Sequence[tuple[float, float]], touched: Sequence[int]) -> Span:
    """From the first to the last column that it stands over; of none, the nearest."""
    if touched:
        return touched[0], touched[-1]
    middle = (piece.box[0] + piece.box[2]) / 2
    nearest = min(range(len(columns)), key=lambda i: (abs((columns[i][0] + columns[i][1]) / 2 - middle), i))
    return nearest, nearest
