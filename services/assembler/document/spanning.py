"""Spans of a table that nobody drew: names that hang between the columns or the rows they belong to.

A name over several columns stands in the middle of them, and so does one beside several rows. What stands on a row and in a column is
simply there. Only what is empty can be spanned.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec

from services.assembler.document import grouped
from services.assembler.document.strips import Span
from services.assembler.document.text import Piece

MIDDLE = 0.35
"""Distance from the middle between two rows, or over columns, in line heights, up to which a name stands there."""
CLOSE_ROWS = 1.35
"""Times the usual distance of rows up to which two rows are neighbours, with nothing but a name between them."""
FAR = 5.0
"""Distance from its column, in line heights, beyond which a name between two rows is none of the table's columns."""
ALIGNED = 0.2
"""Distance of edges or middles, in line heights, up to which a name stands in its column like the rest of it."""


class Spanned(msgspec.Struct, frozen=True, kw_only=True):
    """A cell with the places it covers."""

    row: int
    row_span: int
    columns: Span
    pieces: list[Piece]


def spanned(rows: Sequence[dict[Span, list[Piece]]], strips: Sequence[tuple[float, float]]) -> list[Spanned]:
    """The cells of these rows, from the top; `strips` are the columns. Rows that are only names between others are no rows."""
    rows = [row for row in rows if row]
    hanging = _hanging(rows, strips)
    out: list[Spanned] = []
    at = -1
    for index, row in enumerate(rows):
        if index in hanging:
            out += [Spanned(row=at, row_span=2, columns=(c, c), pieces=found) for c, found in hanging[index].items()]
            continue
        at += 1
        out += [Spanned(row=at, row_span=1, columns=columns, pieces=found) for columns, found in row.items()]
    return sorted(_over_columns(out, strips), key=lambda cell: (cell.row, cell.columns))


def _hanging(
    rows: Sequence[dict[Span, list[Piece]]], strips: Sequence[tuple[float, float]]
) -> dict[int, dict[int, list[Piece]]]:
    """Rows, by their index, that stand in the middle between two neighbours, and the columns, empty in those, of what is in them."""
    middles = [median((p.box[1] + p.box[3]) / 2 for found in row.values() for p in found) for row in rows]
    heights = [median(p.height for found in row.values() for p in found) for row in rows]
    most = max((len(row) for row in rows), default=0)
    full = [middle for middle, row in zip(middles, rows, strict=True) if 2 * len(row) > most]
    steps = [b - a for a, b in pairwise(full)]
    out: dict[int, dict[int, list[Piece]]] = {}
    if not steps:
        return out
    usual = median(steps)
    for k in range(1, len(rows) - 1):
        apart = middles[k + 1] - middles[k - 1]
        between = abs(middles[k] - (middles[k - 1] + middles[k + 1]) / 2) <= MIDDLE * heights[k]
        if not between or apart > CLOSE_ROWS * usual or k - 1 in out:
            continue
        taken = {c for row in (rows[k - 1], rows[k + 1]) for a, b in row for c in range(a, b + 1)} | set(
            out.get(k - 2, ())
        )
        places = _in_free_columns(rows[k], [c for c in range(len(strips)) if c not in taken], strips, heights[k])
        if places is not None:
            out[k] = places
    return out


def _in_free_columns(
    row: dict[Span, list[Piece]], free: Sequence[int], strips: Sequence[tuple[float, float]], height: float
) -> dict[int, list[Piece]] | None:
    """For each cell of a row a column of its own among the free ones, in order; none where there is not one near for each."""
    out: dict[int, list[Piece]] = {}
    for _, found in sorted(row.items()):
        x0, x1 = min(p.box[0] for p in found), max(p.box[2] for p in found)
        gaps = [(max(0.0, strips[c][0] - x1, x0 - strips[c][1]), c) for c in free if not out or c > max(out)]
        if not gaps or min(gaps)[0] > FAR * height:
            return None
        out[min(gaps)[1]] = found
    return out


def _over_columns(cells: Sequence[Spanned], strips: Sequence[tuple[float, float]]) -> list[Spanned]:
    """Names of the first row that hang over several columns, all of which have a name of their own below, cover them.

    Where names beside both rows and names of single columns below leave no column out, those of the first row share all that is left.
    """
    taken = {
        c for cell in cells if cell.row == 0 and cell.row_span > 1 for c in range(cell.columns[0], cell.columns[1] + 1)
    }
    tops = sorted((cell for cell in cells if cell.row == 0 and cell.row_span == 1), key=_middle)
    below = {
        cell.columns[0] for cell in cells if cell.row == 1 and cell.row_span == 1 and cell.columns[0] == cell.columns[1]
    }
    free = [column for column in range(len(strips)) if column not in taken]
    if taken and set(free) <= below:
        shared = grouped.shares([_middle(cell) for cell in tops], strips, free)
        if shared is not None:
            whole = {id(cell): span for cell, span in zip(tops, shared, strict=True)}
            return [msgspec.structs.replace(cell, columns=whole.get(id(cell), cell.columns)) for cell in cells]
    widened: dict[int, Span] = {}
    for cell in tops:
        others = {c for other in tops if other is not cell for c in range(other.columns[0], other.columns[1] + 1)}
        best = _best_cover(cell, strips, (below - taken) - others)
        if best is not None:
            widened[id(cell)] = best
    spans = sorted(widened.values())
    if any(a[1] >= b[0] for a, b in pairwise(spans)):
        return list(cells)
    return [msgspec.structs.replace(cell, columns=widened[id(cell)]) if id(cell) in widened else cell for cell in cells]


def _middle(cell: Spanned) -> float:
    return (min(p.box[0] for p in cell.pieces) + max(p.box[2] for p in cell.pieces)) / 2


def _best_cover(cell: Spanned, strips: Sequence[tuple[float, float]], free: set[int]) -> Span | None:
    """The columns in whose middle a name stands; none where it stands in its own column like the rest of that."""
    x0, x1 = min(p.box[0] for p in cell.pieces), max(p.box[2] for p in cell.pieces)
    height = median(p.height for p in cell.pieces)
    middle, (first, last) = (x0 + x1) / 2, cell.columns
    own = strips[first][0], strips[last][1]
    like_own = (abs(x0 - own[0]), abs(x1 - own[1]), abs(middle - sum(own) / 2))
    if min(like_own) <= ALIGNED * height:
        return None
    found = [
        (abs(middle - (strips[a][0] + strips[b][1]) / 2), a, b)
        for a in range(max(0, first - 4), first + 1)
        for b in range(last, min(len(strips), last + 5))
        if b > a and set(range(a, b + 1)) <= free | set(range(first, last + 1)) and (b - a) > (last - first)
    ]
    if not found or min(found)[0] > 3 * MIDDLE * height:
        return None
    return min(found)[1:]
