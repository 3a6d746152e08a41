"""A table out of two things that know nothing of each other: the grid a network saw, and the lines that were read.

The network's boxes are approximate, so a line is not put where its box happens to overlap most. The boxes of all cells of
a row (column) vote for the row's (column's) extent; halfway between neighbours lies the edge; the edges tile the region, and a
line belongs to the tiles it covers. A line that covers several cells of a row was one line to the line detector only because
the gap between the cells is small: it is split by share of characters, at a blank where there is one near.

All boxes are `[x0, y0, x1, y1]` in one frame, whichever; lines are horizontal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from statistics import median

from shared.contracts.document import Cell, Table, rounded
from shared.contracts.layout import ReadLine
from shared.models.table import TableCell

MAX_CELLS = 5_000
"""Slots of a grid that is believed; the network's output ends far below."""
MIN_PLACED = 0.9
"""Share of the characters that must have found a cell."""
MIN_FILLED = 0.25
"""Share of the cells that must have text: a grid much finer than its text was imagined."""
SNAP = 3
"""Characters around the place of a split in which a blank is preferred."""


def build(cells: Sequence[TableCell], lines: Sequence[ReadLine], *, page_no: int) -> tuple[Table | None, str]:
    """The filled table, or none and why it can't be believed (in words that can be shown). Boxes of `cells` are in the frame of `lines`.

    The text of a believed table is all of the lines' text: what lies outside every tile goes to the nearest.
    """
    if problem := _problem(cells):
        return None, problem
    rows, cols = max(c.row + c.row_span for c in cells), max(c.col + c.col_span for c in cells)
    owner = {(r, c): i for i, cell in enumerate(cells) for r in _rows(cell) for c in _cols(cell)}
    row_edges, col_edges = _edges(cells, rows, axis=1), _edges(cells, cols, axis=0)
    if row_edges is None or col_edges is None:
        return None, "rows or columns of the grid are not in order"
    parts: dict[int, list[tuple[float, float, str]]] = {}
    for line in lines:
        for (row, col), x, text in _placed(line, row_edges, col_edges, owner):
            index = owner.get((row, col))
            if index is not None:
                parts.setdefault(index, []).append(((line.bbox[1] + line.bbox[3]) / 2, x, text))
    total, placed = sum(len(line.text.strip()) for line in lines), 0
    for entries in parts.values():
        placed += sum(len(text) for _, _, text in entries)
    if total and placed < MIN_PLACED * (total - len(lines)):
        return None, f"only {placed} of {total} characters lie in cells"
    if len(parts) < MIN_FILLED * len(cells):
        return None, f"only {len(parts)} of {len(cells)} cells have text"
    filled = [
        Cell(
            row=cell.row,
            col=cell.col,
            row_span=cell.row_span,
            col_span=cell.col_span,
            text=_joined(parts.get(index, [])),
            column_header=cell.header,
            bbox=[rounded(value) for value in cell.bbox],
            page_no=page_no,
        )
        for index, cell in enumerate(cells)
    ]
    filled += [Cell(row=r, col=c, page_no=page_no) for r in range(rows) for c in range(cols) if (r, c) not in owner]
    filled.sort(key=lambda cell: (cell.row, cell.col))
    return Table(num_rows=rows, num_cols=cols, cells=filled, html=html(filled)), ""


def html(cells: Sequence[Cell]) -> str:
    """The table as HTML: one line, spans as attributes, `th` for header cells. `cells` are sorted by row and column."""
    out = ["<table>"]
    row = -1
    for cell in cells:
        while row < cell.row:
            out.append("</tr><tr>" if row >= 0 else "<tr>")
            row += 1
        tag = "th" if cell.column_header or cell.row_header else "td"
        spans = f' rowspan="{cell.row_span}"' * (cell.row_span > 1) + f' colspan="{cell.col_span}"' * (
            cell.col_span > 1
        )
        out.append(f"<{tag}{spans}>{escape(cell.text, quote=False)}</{tag}>")
    out.append("</tr></table>" if row >= 0 else "</table>")
    return "".join(out)


def _rows(cell: TableCell) -> range:
    return range(cell.row, cell.row + cell.row_span)


def _cols(cell: TableCell) -> range:
    return range(cell.col, cell.col + cell.col_span)


def _problem(cells: Sequence[TableCell]) -> str:
    """Why these cells are no grid; empty when they are one."""
    if not cells:
        return "no cells were found"
    rows, cols = max(c.row + c.row_span for c in cells), max(c.col + c.col_span for c in cells)
    if rows * cols > MAX_CELLS:
        return f"a grid of {rows} x {cols} is not believed"
    if rows * cols < 2 or len(cells) < 2:
        return "only one cell was found"
    slots: set[tuple[int, int]] = set()
    count = 0
    for cell in cells:
        slots.update((r, c) for r in _rows(cell) for c in _cols(cell))
        count += cell.row_span * cell.col_span
    if len(slots) != count:
        return "cells lie on each other"
    if len(slots) < 0.8 * rows * cols:
        return f"{rows * cols - len(slots)} of {rows * cols} places in the grid have no cell"
    return ""


def _edges(cells: Sequence[TableCell], count: int, *, axis: int) -> list[float] | None:
    """The `count + 1` edges of rows (axis 1) or columns (axis 0); none where the boxes contradict the grid.

    Only cells without a span vote; a row or column that has none shares the room between its neighbours evenly.
    """
    starts: list[list[float]] = [[] for _ in range(count)]
    ends: list[list[float]] = [[] for _ in range(count)]
    for cell in cells:
        index, span = (cell.row, cell.row_span) if axis else (cell.col, cell.col_span)
        if span == 1:
            starts[index].append(cell.bbox[axis])
            ends[index].append(cell.bbox[axis + 2])
    centres = [median(s) + median(e) for s, e in zip(starts, ends, strict=True) if s]
    if any(a >= b for a, b in pairwise(centres)):
        return None
    first, last = min(c.bbox[axis] for c in cells), max(c.bbox[axis + 2] for c in cells)
    edges: list[float | None] = [first]
    for before, after in pairwise(range(count)):
        known = starts[after] and ends[before]
        edges.append((median(ends[before]) + median(starts[after])) / 2 if known else None)
    edges.append(last)
    filled: list[float] = []
    for index, edge in enumerate(edges):
        if edge is None:
            step = next(i for i in range(index + 1, count + 1) if edges[i] is not None)
            upper = edges[step]
            assert upper is not None
            edge = filled[-1] + (upper - filled[-1]) / (step - index + 1)
        filled.append(edge)
    return filled if all(a < b for a, b in pairwise(filled)) else None


def _placed(
    line: ReadLine, row_edges: list[float], col_edges: list[float], owner: dict[tuple[int, int], int]
) -> list[tuple[tuple[int, int], float, str]]:
    """Slot, x and text of each part of a line."""
    text = line.text.strip()
    if not text:
        return []
    x0, y0, x1, y1 = line.bbox
    row = _tile(row_edges, (y0 + y1) / 2)
    letter = (x1 - x0) / max(1, _width(text))
    cuts = [edge for edge in col_edges[1:-1] if x0 + letter < edge < x1 - letter]
    first = _tile(col_edges, (x0 + min([*cuts, x1])) / 2)
    parts: list[tuple[tuple[int, int], float, str]] = []
    begin, x = 0, x0
    for edge in cuts:
        right = _tile(col_edges, edge + letter / 2)
        if owner.get((row, first)) == owner.get((row, right)):
            continue  # a merged cell
        end = _split(text, (edge - x0) / (x1 - x0))
        if piece := text[begin:end].strip():
            parts.append(((row, first), x, piece))
        begin, x, first = max(begin, end), edge, right
    if piece := text[begin:].strip():
        parts.append(((row, first), x, piece))
    return parts


def _tile(edges: list[float], at: float) -> int:
    """Index of the tile that holds a coordinate; what lies outside goes to the first or last."""
    return min(len(edges) - 2, max(0, sum(edge <= at for edge in edges) - 1))


def _split(text: str, share: float) -> int:
    """Index at which to split a text whose left part is `share` of its width; a blank within `SNAP` characters is preferred."""
    widths = [_width(character) for character in text]
    target, seen, index = share * sum(widths), 0.0, 0
    while index < len(text) and seen + widths[index] / 2 < target:
        seen += widths[index]
        index += 1
    near = [i for i in range(max(1, index - SNAP), min(len(text), index + SNAP + 1)) if text[i].isspace()]
    return min(near, key=lambda i: abs(i - index)) if near else index


def _width(text: str) -> int:
    """Width in half-width characters: CJK counts twice."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _joined(entries: list[tuple[float, float, str]]) -> str:
    """The parts of a cell in reading order: a blank between them, none between two CJK characters."""
    text = ""
    for _, _, part in sorted(entries):
        tight = bool(text) and _width(text[-1]) == 2 and _width(part[0]) == 2
        text += part if not text or tight else f" {part}"
    return text
