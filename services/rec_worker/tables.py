"""A table out of two things that know nothing of each other: the grid a network saw, and the lines that were read.

The network's boxes are approximate, so a line is not put where its box happens to overlap most: the boxes are made tiles (`tiles`),
and a line belongs to the tiles it covers. A line that covers several cells of a row was one line to the line detector only
because the gap between the cells is small: it is split by share of characters, at a blank where there is one near. A grid that
tears many lines where there is no blank is not the grid of this table.

All boxes are `[x0, y0, x1, y1]` in one frame, whichever; lines are horizontal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape

from services.rec_worker.tiles import Tiles, cols_of, rows_of
from shared.contracts.document import Cell, Table, rounded
from shared.contracts.layout import ReadLine
from shared.models.table import TableCell

MAX_CELLS = 5_000
"""Slots of a grid that is believed; the network's output ends far below."""
MIN_PLACED = 0.9
"""Share of the characters that must have found a cell."""
MIN_FILLED = 0.25
"""Share of the cells that must have text: a grid much finer than its text was imagined."""
MAX_TORN = 0.34
"""Share of the lines that may be split where there is no blank (two of them always may)."""
SNAP = 3
"""Characters around the place of a split in which a blank is preferred."""


def build(cells: Sequence[TableCell], lines: Sequence[ReadLine], *, page_no: int) -> tuple[Table | None, str]:
    """The filled table, or none and why it can't be believed (in words that can be shown). Boxes of `cells` are in the frame of `lines`.

    The text of a believed table is all of the lines' text: what lies outside every tile goes to the nearest.
    """
    if problem := _problem(cells):
        return None, problem
    rows, cols = max(c.row + c.row_span for c in cells), max(c.col + c.col_span for c in cells)
    owner = {(r, c): i for i, cell in enumerate(cells) for r in rows_of(cell) for c in cols_of(cell)}
    tiles = Tiles.of(cells)
    if tiles is None:
        return None, "rows or columns of the grid are not in order"
    parts: dict[int, list[tuple[float, float, str]]] = {}
    torn = 0
    for line in lines:
        placed_parts, blanks = _placed(line, tiles)
        torn += not blanks
        for index, x, text in placed_parts:
            parts.setdefault(index, []).append(((line.bbox[1] + line.bbox[3]) / 2, x, text))
    if torn > max(2, MAX_TORN * len(lines)):
        return None, f"it cuts {torn} of {len(lines)} lines in the middle of a word"
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
        slots.update((r, c) for r in rows_of(cell) for c in cols_of(cell))
        count += cell.row_span * cell.col_span
    if len(slots) != count:
        return "cells lie on each other"
    if len(slots) < 0.8 * rows * cols:
        return f"{rows * cols - len(slots)} of {rows * cols} places in the grid have no cell"
    return ""


def _placed(line: ReadLine, tiles: Tiles) -> tuple[list[tuple[int, float, str]], bool]:
    """Cell, x and text of each part of a line, and whether it was split at blanks only. Places without a cell hold no text."""
    text = line.text.strip()
    if not text:
        return [], True
    x0, y0, x1, y1 = line.bbox
    letter = (x1 - x0) / max(1, _width(text))
    row = tiles.row(min(x1, x0 + letter), (y0 + y1) / 2)
    parts: list[tuple[int, float, str]] = []
    begin, x, blanks = 0, x0, True
    for edge in tiles.edges_of_row(row):
        if not x0 + letter < edge < x1 - letter:
            continue
        left, right = tiles.at(row, edge - letter / 2), tiles.at(row, edge + letter / 2)
        if left is None or right is None or left == right:
            continue
        end, blank = _split(text, (edge - x0) / (x1 - x0))
        if piece := text[begin:end].strip():
            parts.append((left, x, piece))
            blanks = blanks and blank
        begin, x = max(begin, end), edge
    last = tiles.at(row, max(x + letter / 2, min(x1, x0 + letter)) if parts else (x0 + x1) / 2)
    if (piece := text[begin:].strip()) and last is not None:
        parts.append((last, x, piece))
    return parts, blanks


def _split(text: str, share: float) -> tuple[int, bool]:
    """Index at which to split a text whose left part is `share` of its width, and whether there is a blank, which is preferred within `SNAP`."""
    widths = [_width(character) for character in text]
    target, seen, index = share * sum(widths), 0.0, 0
    while index < len(text) and seen + widths[index] / 2 < target:
        seen += widths[index]
        index += 1
    near = [i for i in range(max(1, index - SNAP), min(len(text), index + SNAP + 1)) if text[i].isspace()]
    return (min(near, key=lambda i: abs(i - index)), True) if near else (index, False)


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
