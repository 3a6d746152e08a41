"""Tiles out of the approximate boxes of a table's cells.

The cells of a row (column) vote for its extent, by medians; halfway between neighbours lies the common edge. Within that, the edge
between two cells of one column (row) is halfway between their own boxes, because a cell with two lines reaches further than its
neighbours with one. A box that has slipped is held by the middles of the rows (columns) on its two sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from shared.models.table import TableCell


def rows_of(cell: TableCell) -> range:
    """Rows a cell covers."""
    return range(cell.row, cell.row + cell.row_span)


def cols_of(cell: TableCell) -> range:
    """Columns a cell covers."""
    return range(cell.col, cell.col + cell.col_span)


class Tiles:
    """Every point belongs to exactly one place of the grid; what lies outside belongs to the first or last row and column."""

    def __init__(self, cells: Sequence[TableCell], rows: _Bands, cols: _Bands) -> None:
        self._cells = cells
        self._owner = {(r, c): i for i, cell in enumerate(cells) for r in rows_of(cell) for c in cols_of(cell)}
        self._rows, self._cols = rows, cols

    @classmethod
    def of(cls, cells: Sequence[TableCell]) -> Tiles | None:
        """The tiles of cells that do not overlap in the grid; none where their boxes contradict it."""
        rows, cols = _Bands.of(cells, 1), _Bands.of(cells, 0)
        return cls(cells, rows, cols) if rows is not None and cols is not None else None

    def whole(self) -> tuple[list[TableCell], Tiles]:
        """The cells, then one for each place of the grid that has none, as large as its row and column: no text there is lost."""
        rows, cols = self._rows.edges, self._cols.edges
        missing = [
            TableCell(row=r, col=c, bbox=[cols[c], rows[r], cols[c + 1], rows[r + 1]])
            for r in range(len(rows) - 1)
            for c in range(len(cols) - 1)
            if (r, c) not in self._owner
        ]
        cells = [*self._cells, *missing]
        return cells, Tiles(cells, self._rows, self._cols)

    def row(self, x: float, y: float) -> int:
        """The row of a point."""
        col = _tile(self._cols.edges, x)
        places = [self._owner.get((row, col)) for row in range(len(self._rows.edges) - 1)]
        return _tile(self._rows.within([None if i is None else self._cells[i] for i in places]), y)

    def edges_of_row(self, row: int) -> list[float]:
        """Where the cells of a row meet, left to right."""
        return self._edges_of_row(row)[1:-1]

    def at(self, row: int, x: float) -> int | None:
        """Index of the cell at a place of a row; none where the grid has none."""
        return self._owner.get((row, _tile(self._edges_of_row(row), x)))

    def _edges_of_row(self, row: int) -> list[float]:
        places = [self._owner.get((row, col)) for col in range(len(self._cols.edges) - 1)]
        return self._cols.within([None if i is None else self._cells[i] for i in places])


class _Bands:
    """The rows (axis 1) or columns (axis 0) of a grid: `edges`, one more than bands, and their middles."""

    def __init__(self, axis: int, edges: list[float]) -> None:
        self.axis = axis
        self.edges = edges
        self._middles = [(a + b) / 2 for a, b in pairwise(edges)]

    @classmethod
    def of(cls, cells: Sequence[TableCell], axis: int) -> _Bands | None:
        """Only cells without a span vote; a band that has none shares the room between its neighbours evenly."""
        count = max((rows_of if axis else cols_of)(cell).stop for cell in cells)
        starts: list[list[float]] = [[] for _ in range(count)]
        ends: list[list[float]] = [[] for _ in range(count)]
        for cell in cells:
            covered = rows_of(cell) if axis else cols_of(cell)
            if len(covered) == 1:
                starts[covered[0]].append(cell.bbox[axis])
                ends[covered[0]].append(cell.bbox[axis + 2])
        middles = [median(s) + median(e) for s, e in zip(starts, ends, strict=True) if s]
        if any(a >= b for a, b in pairwise(middles)):
            return None
        edges: list[float | None] = [min(cell.bbox[axis] for cell in cells)]
        for before, after in pairwise(range(count)):
            known = starts[after] and ends[before]
            edges.append((median(ends[before]) + median(starts[after])) / 2 if known else None)
        edges.append(max(cell.bbox[axis + 2] for cell in cells))
        filled = _filled(edges)
        return cls(axis, filled) if all(a < b for a, b in pairwise(filled)) else None

    def within(self, cells: Sequence[TableCell | None]) -> list[float]:
        """The edges along one column (row), given its cells, none where there is no cell."""
        edges = list(self.edges)
        for index, (a, b) in enumerate(pairwise(cells)):
            if a is None or b is None or a is b:
                continue
            edge = (a.bbox[self.axis + 2] + b.bbox[self.axis]) / 2
            edges[index + 1] = min(max(edge, self._middles[index]), self._middles[index + 1])
        return edges


def _filled(edges: list[float | None]) -> list[float]:
    """Edges with the unknown ones evenly between the known; the first and the last are known."""
    filled: list[float] = []
    for index, edge in enumerate(edges):
        if edge is None:
            known = next(i for i in range(index + 1, len(edges)) if edges[i] is not None)
            upper = edges[known]
            assert upper is not None
            edge = filled[-1] + (upper - filled[-1]) / (known - index + 1)
        filled.append(edge)
    return filled


def _tile(edges: list[float], at: float) -> int:
    """Index of the tile that holds a coordinate."""
    return min(len(edges) - 2, max(0, sum(edge <= at for edge in edges) - 1))
