"""Tables by their ruling lines: rows, columns and spans as they are drawn, exact where the layout network guesses.

Rules that lie on one line become one; rules that touch belong to one drawing. In a drawing with at least two rows and two columns the
places of rules are the edges of a grid, and two neighbouring places without a rule between them are one cell. Sides without a rule are
taken from the ends of the others, because many tables are open left and right.

What is drawn like a table need not be one: the caller asks `holds` with the page's lines, so that axes of a plot, frames and pages with
a border are left alone. Everything is in page units; `point` says how many of them a point is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.layout_worker.boxes import Box, area, hull, share_inside
from shared.contracts.layout import Grid, GridCell, TextLine
from shared.documents.page import Rule

SNAP = 2.0
"""Points: rules nearer than this are one (double strokes, four sides of every cell), and ends this near touch."""
LEAST_CELL = 5.0
"""Points: a smaller row or column holds no text."""
WALL = 0.6
"""Share of a cell's side that must be drawn to be a wall; dashes and rounding leave gaps."""
MOST_RULES = 3_000
"""Rules of one direction: more is a map or a plot."""
MOST_CELLS = 5_000
"""Places of a grid; as many as the assembler and the reader believe."""
FILLED, LEAST_FILLED = 0.25, 3
"""Share of cells, and number of cells, that hold text: fewer are the grid of a plot or paper."""
FRAME, BODY = 0.7, 0.5
"""Share of the page that a drawing covers, and share of it in one cell, from which it is the page's border."""
HELD = 0.3
"""Share of a line in a cell, or of a cell in a line, from which that cell holds text."""
PLACED = 0.5
"""Share of a line's area in a grid from which it is a line of the table."""


class Ruled(NamedTuple):
    """A drawing that may be a table."""

    bbox: Box
    grid: Grid
    rows: int
    cols: int


class _Stroke(NamedTuple):
    """A rule: where it is across its direction, and from where to where it goes."""

    at: float
    start: float
    end: float


def grids(rules: Sequence[Rule], point: float = 1.0) -> list[Ruled]:
    """All drawings with two rows and two columns, top to bottom. Empty where there are more than `MOST_RULES`."""
    snap = SNAP * point
    across = _joined([_stroke(rule.bbox, True) for rule in rules if rule.horizontal], snap)
    down = _joined([_stroke(rule.bbox, False) for rule in rules if not rule.horizontal], snap)
    if not across or not down or max(len(across), len(down)) > MOST_RULES:
        return []
    found = [_ruled(*drawing, point) for drawing in _drawings(across, down, snap)]
    return sorted((ruled for ruled in found if ruled is not None), key=lambda ruled: (ruled.bbox[1], ruled.bbox[0]))


def frames(rules: Sequence[Rule], point: float = 1.0) -> list[Box]:
    """Boxes that four rules make and that touch nothing else, top to bottom: fields of forms, boxes to tick, frames around text."""
    snap = SNAP * point
    across = _joined([_stroke(rule.bbox, True) for rule in rules if rule.horizontal], snap)
    down = _joined([_stroke(rule.bbox, False) for rule in rules if not rule.horizontal], snap)
    if not across or not down or max(len(across), len(down)) > MOST_RULES:
        return []
    boxes = []
    for lying, upright in _drawings(across, down, snap):
        if len(lying) == 2 and len(upright) == 2:
            boxes.append([upright[0].at, lying[0].at, upright[1].at, lying[1].at])
    return sorted(boxes, key=lambda box: (box[1], box[0]))


def holds(ruled: Ruled, lines: Sequence[TextLine], width: float, height: float) -> bool:
    """Whether a drawing is a table: text in enough of its cells, and no cell that is most of the page."""
    cells = ruled.grid.cells
    largest = max(area(cell.bbox) for cell in cells)
    if area(ruled.bbox) >= FRAME * width * height and largest >= BODY * area(ruled.bbox):
        return False
    inside = [line for line in lines if share_inside(line.bbox, ruled.bbox) >= PLACED]
    if not inside:
        return False
    filled = _filled(np.array([cell.bbox for cell in cells]), np.array([line.bbox for line in inside]))
    return filled >= max(LEAST_FILLED, FILLED * len(cells))


def _filled(cells: NDArray[np.float64], lines: NDArray[np.float64]) -> int:
    """How many of the cells (boxes, [n, 4]) hold a line ([m, 4]), or a part of one that is most of the cell."""
    width = np.minimum(cells[:, None, 2], lines[None, :, 2]) - np.maximum(cells[:, None, 0], lines[None, :, 0])
    height = np.minimum(cells[:, None, 3], lines[None, :, 3]) - np.maximum(cells[:, None, 1], lines[None, :, 1])
    common = np.clip(width, 0.0, None) * np.clip(height, 0.0, None)
    areas = [(boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) for boxes in (cells, lines)]
    holds = common > HELD * np.minimum(areas[0][:, None], areas[1][None, :])
    return int(holds.any(axis=1).sum())


def _stroke(box: Sequence[float], horizontal: bool) -> _Stroke:
    x0, y0, x1, y1 = box
    return _Stroke((y0 + y1) / 2, x0, x1) if horizontal else _Stroke((x0 + x1) / 2, y0, y1)


def _joined(strokes: Iterable[_Stroke], snap: float) -> list[_Stroke]:
    """Strokes on one line whose ends meet or overlap as one, in order of place and start."""
    lines: list[list[_Stroke]] = []
    for stroke in sorted(strokes):
        if lines and stroke.at - lines[-1][0].at <= snap:
            lines[-1].append(stroke)
        else:
            lines.append([stroke])
    out: list[_Stroke] = []
    for line in lines:
        at = sum(stroke.at for stroke in line) / len(line)
        start, end = float("nan"), float("-inf")
        for stroke in sorted(line, key=lambda s: (s.start, s.end)):
            if stroke.start <= end + 2 * snap:
                end = max(end, stroke.end)
                continue
            if end > float("-inf"):
                out.append(_Stroke(at, start, end))
            start, end = stroke.start, stroke.end
        out.append(_Stroke(at, start, end))
    return out


def _drawings(
    across: Sequence[_Stroke], down: Sequence[_Stroke], snap: float
) -> list[tuple[list[_Stroke], list[_Stroke]]]:
    """Strokes that touch each other, those across and those down."""
    h, v = np.array(across), np.array(down)
    touching = (
        (v[None, :, 0] >= h[:, None, 1] - snap)
        & (v[None, :, 0] <= h[:, None, 2] + snap)
        & (h[:, None, 0] >= v[None, :, 1] - snap)
        & (h[:, None, 0] <= v[None, :, 2] + snap)
    )
    parent = list(range(len(across) + len(down)))
    for one, other in np.argwhere(touching):
        _unite(parent, int(one), len(across) + int(other))
    members: dict[int, tuple[list[_Stroke], list[_Stroke]]] = {}
    for index, stroke in enumerate((*across, *down)):
        members.setdefault(_root(parent, index), ([], []))[index >= len(across)].append(stroke)
    return [drawing for drawing in members.values() if drawing[0] and drawing[1]]


def _root(parent: list[int], index: int) -> int:
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index


def _unite(parent: list[int], one: int, other: int) -> None:
    a, b = _root(parent, one), _root(parent, other)
    parent[max(a, b)] = min(a, b)


def _ruled(across: list[_Stroke], down: list[_Stroke], point: float) -> Ruled | None:
    xs = _edges(down, across, point)
    ys = _edges(across, down, point)
    rows, cols = len(ys) - 1, len(xs) - 1
    if rows < 2 or cols < 2 or rows * cols > MOST_CELLS:
        return None
    beside = _walls(down, xs, ys, point)
    below = _walls(across, ys, xs, point)
    cells = _compact(_cells(xs, ys, beside, below))
    rows, cols = max(c.row + c.row_span for c in cells), max(c.col + c.col_span for c in cells)
    if len(cells) < 4 or len({cell.row for cell in cells}) < 2 or len({cell.col for cell in cells}) < 2:
        return None
    return Ruled(hull(cell.bbox for cell in cells), Grid(cells=cells), rows, cols)


def _edges(strokes: Sequence[_Stroke], others: Sequence[_Stroke], point: float) -> list[float]:
    """Places of the strokes, and of the sides that only the ends of the others show."""
    edges: list[float] = []
    for at in sorted(
        [
            *(stroke.at for stroke in strokes),
            min(other.start for other in others),
            max(other.end for other in others),
        ]
    ):
        if not edges or at - edges[-1] >= LEAST_CELL * point:
            edges.append(at)
    return edges


def _walls(
    strokes: Sequence[_Stroke], edges: Sequence[float], sides: Sequence[float], point: float
) -> list[list[bool]]:
    """For each inner edge and each stretch between two sides, whether it is drawn there."""
    reach = LEAST_CELL * point
    walls = []
    for edge in edges[1:-1]:
        near = [stroke for stroke in strokes if -1e-6 <= stroke.at - edge < reach]
        walls.append(
            [
                sum(max(0.0, min(end, stroke.end) - max(start, stroke.start)) for stroke in near)
                >= WALL * (end - start)
                for start, end in pairwise(sides)
            ]
        )
    return walls


def _cells(
    xs: Sequence[float], ys: Sequence[float], beside: Sequence[Sequence[bool]], below: Sequence[Sequence[bool]]
) -> list[GridCell]:
    """Places without a wall between them as one cell, where together they are a rectangle; by row and column."""
    rows, cols = len(ys) - 1, len(xs) - 1
    parent = list(range(rows * cols))
    for row in range(rows):
        for col in range(cols):
            if col + 1 < cols and not beside[col][row]:
                _unite(parent, row * cols + col, row * cols + col + 1)
            if row + 1 < rows and not below[row][col]:
                _unite(parent, row * cols + col, (row + 1) * cols + col)
    groups: dict[int, list[int]] = {}
    for place in range(rows * cols):
        groups.setdefault(_root(parent, place), []).append(place)
    cells = []
    for places in groups.values():
        top, bottom = places[0] // cols, places[-1] // cols
        left, right = min(place % cols for place in places), max(place % cols for place in places)
        if len(places) == (bottom - top + 1) * (right - left + 1):
            cells.append(_cell(xs, ys, top, left, bottom, right))
        else:
            cells += [_cell(xs, ys, place // cols, place % cols, place // cols, place % cols) for place in places]
    return sorted(cells, key=lambda cell: (cell.row, cell.col))


def _compact(cells: Sequence[GridCell]) -> list[GridCell]:
    """Without the rows and columns in which no cell begins: only a stray piece of a rule said that they were there."""
    rows, cols = sorted({cell.row for cell in cells}), sorted({cell.col for cell in cells})
    return [
        msgspec.structs.replace(
            cell,
            row=rows.index(cell.row),
            col=cols.index(cell.col),
            row_span=sum(cell.row <= row < cell.row + cell.row_span for row in rows),
            col_span=sum(cell.col <= col < cell.col + cell.col_span for col in cols),
        )
        for cell in cells
    ]


def _cell(xs: Sequence[float], ys: Sequence[float], top: int, left: int, bottom: int, right: int) -> GridCell:
    bbox = [round(value, 2) for value in (xs[left], ys[top], xs[right + 1], ys[bottom + 1])]
    return GridCell(row=top, col=left, row_span=bottom - top + 1, col_span=right - left + 1, bbox=bbox)
