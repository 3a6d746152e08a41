"""A table out of two things that know nothing of each other: the grid a network saw, and the lines that were read.

The network's boxes are approximate, so a line is not put where its box happens to overlap most: the boxes are made tiles (`tiles`),
and a line belongs to the tiles it covers. A line that covers several cells of a row was one line to the line detector only
because the gap between the cells is small: it is split by share of characters, at a blank where there is one near. A grid that
tears many lines where there is no blank is not the grid of this table.

All boxes are `[x0, y0, x1, y1]` in one frame, whichever; lines are horizontal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from services.rec_worker.tiles import Tiles, cols_of, rows_of
from shared.contracts.document import Cell, Table, rounded
from shared.contracts.layout import ReadLine
from shared.contracts.tables import table_of
from shared.models.table import TableCell

MAX_CELLS = 5_000
"""Slots of a grid that is believed; the network's output ends far below."""
MIN_PLACED = 0.9
"""Share of the characters, without blanks, that must stand at a cell that the network saw."""
MIN_FILLED = 0.25
"""Share of the cells that must have text: a grid much finer than its text was imagined."""
MAX_TORN = 0.34
"""Share of the lines that may be split where there is no blank."""
MAX_CROWDED = 0.15
"""Share of the filled cells that may hold texts side by side: more means that columns are missing."""
FREE = 2
"""So many lines or cells may always be odd."""
SAME_ROW = 0.5
"""Heights by which the middles of two parts may differ that stand in one row of their cell: on a photograph rows fall and rise."""
SNAP = 3
"""Characters around the place of a split in which a blank is preferred."""
_WHOLE = re.compile(
    r"(?P<number>[\d.,:%‰+−-]*\d[\d.,:%‰]*)|(?P<word>[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)|(?P<one>.)",
    re.DOTALL,
)
"""What is never torn: a number with its signs, a word of letters other than Han, kana and Hangul; else a character."""


class _Part(NamedTuple):
    """A line, or a part of one, in its cell."""

    y: float
    """Of its middle."""
    x0: float
    x1: float
    height: float
    text: str


def build(cells: Sequence[TableCell], lines: Sequence[ReadLine], *, page_no: int) -> tuple[Table | None, str]:
    """The filled table, or none and why it can't be believed (in words that can be shown). Boxes of `cells` are in the frame of `lines`.

    The text of a believed table is all of the lines' text: what lies outside every tile goes to the nearest.
    """
    if problem := _problem(cells):
        return None, problem
    tiles = Tiles.of(cells)
    if tiles is None:
        return None, "rows or columns of the grid are not in order"
    seen = len(cells)
    cells, tiles = tiles.whole()
    parts: dict[int, list[_Part]] = {}
    torn = 0
    for line in lines:
        found, blanks = _placed(line, tiles)
        torn += not blanks
        for index, part in found:
            parts.setdefault(index, []).append(part)
    if doubt := _doubt(cells, seen, lines, parts, torn):
        return None, doubt
    filled = [
        Cell(
            row=cell.row,
            col=cell.col,
            row_span=cell.row_span,
            col_span=cell.col_span,
            text=_joined(parts.get(index, [])),
            column_header=cell.header,
            bbox=[rounded(value) for value in cell.bbox] if index < seen or index in parts else None,
            page_no=page_no,
        )
        for index, cell in enumerate(cells)
    ]
    return table_of(_with_text(filled), page_no=page_no), ""


def _with_text(cells: Sequence[Cell]) -> list[Cell]:
    """Without outer rows and columns in which there is nothing: the network looks at the white around a table too.

    Two rows and two columns are left in any case. Where a header went, the first row that is left is one.
    """
    held = [cell for cell in cells if cell.text]
    if not held:
        return list(cells)
    top, bottom = min(c.row for c in held), max(c.row + c.row_span for c in held)
    left, right = min(c.col for c in held), max(c.col + c.col_span for c in held)
    if bottom - top < 2:
        top, bottom = 0, max(c.row + c.row_span for c in cells)
    if right - left < 2:
        left, right = 0, max(c.col + c.col_span for c in cells)
    headed = any(cell.column_header for cell in cells)
    out = []
    for cell in cells:
        row, col = max(cell.row, top), max(cell.col, left)
        row_span = min(cell.row + cell.row_span, bottom) - row
        col_span = min(cell.col + cell.col_span, right) - col
        if row_span > 0 and col_span > 0:
            out.append(replace(cell, row=row - top, col=col - left, row_span=row_span, col_span=col_span))
    if headed and not any(cell.column_header for cell in out):
        out = [replace(cell, column_header=True) if cell.row == 0 else cell for cell in out]
    return out


def around(lines: Sequence[ReadLine]) -> list[float]:
    """The box of a table by its lines, with room for the rules around it: as much as a line is high."""
    boxes = [line.bbox for line in lines]
    room = median(box[3] - box[1] for box in boxes)
    return [
        min(box[0] for box in boxes) - room,
        min(box[1] for box in boxes) - room,
        max(box[2] for box in boxes) + room,
        max(box[3] for box in boxes) + room,
    ]


def _doubt(
    cells: Sequence[TableCell], seen: int, lines: Sequence[ReadLine], parts: Mapping[int, Sequence[_Part]], torn: int
) -> str:
    """Why this grid is not that of these lines; empty where nothing speaks against it. The network saw the first `seen` of the cells."""
    if torn > max(FREE, MAX_TORN * len(lines)):
        return f"it cuts {torn} of {len(lines)} lines in the middle of a word"
    total = sum(len("".join(line.text.split())) for line in lines)
    held = [(cells[index], part) for index, found in parts.items() if index < seen for part in found]
    placed = sum(len("".join(part.text.split())) for cell, part in held if _meets(cell, part))
    if placed < MIN_PLACED * total:
        return f"only {placed} of {total} characters lie in cells"
    if len(parts) < MIN_FILLED * seen:
        return f"only {len(parts)} of {seen} cells have text"
    if _is_shifted([cells[index] for index, found in parts.items() if found]):
        return "names and values stand in different columns"
    crowded = sum(_side_by_side(found) for found in parts.values())
    if crowded > max(FREE, MAX_CROWDED * len(parts)):
        return f"{crowded} of {len(parts)} cells hold texts that stand side by side"
    return ""


def _meets(cell: TableCell, part: _Part) -> bool:
    """Whether a part of a line stands where the network saw the cell, or within a line's height of it."""
    x0, y0, x1, y1 = cell.bbox
    return (
        part.x0 - part.height <= x1 and x0 <= part.x1 + part.height and y0 - part.height <= part.y <= y1 + part.height
    )


def _is_shifted(filled: Sequence[TableCell]) -> bool:
    """Whether a column has a name and nothing below it, and another, not the first, has values and no name: these belong together."""
    head = max((cell.row + cell.row_span for cell in filled if cell.header), default=1)
    named = {col for cell in filled if cell.row < head for col in cols_of(cell)}
    valued = {col for cell in filled if cell.row + cell.row_span > head for col in cols_of(cell)}
    return bool(named - valued) and bool(valued - named - {0})


def _side_by_side(parts: Sequence[_Part]) -> bool:
    """Whether two parts of a cell stand in one row with room for an edge between them."""
    ordered = sorted(parts, key=lambda part: part.x0)
    return any(
        abs(left.y - right.y) < SAME_ROW * min(left.height, right.height) and right.x0 - left.x1 > 0.5 * left.height
        for left, right in combinations(ordered, 2)
    )


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


def _placed(line: ReadLine, tiles: Tiles) -> tuple[list[tuple[int, _Part]], bool]:
    """The parts of a line with their cells, and whether it was split at blanks only."""
    text = line.text.strip()
    if not text:
        return [], True
    x0, y0, x1, y1 = line.bbox
    y, height = (y0 + y1) / 2, y1 - y0
    letter = (x1 - x0) / max(1, _width(text))
    row = tiles.row(min(x1, x0 + letter), y)
    parts: list[tuple[int, _Part]] = []
    begin, x, blanks = 0, x0, True
    for edge in tiles.edges_of_row(row):
        if not x0 + letter < edge < x1 - letter:
            continue
        left, right = tiles.at(row, edge - letter / 2), tiles.at(row, edge + letter / 2)
        if left is None or right is None or left == right:
            continue
        end, blank = _split(text, (edge - x0) / (x1 - x0))
        blanks = blanks and blank
        if piece := text[begin:end].strip():
            parts.append((left, _Part(y, x, edge, height, piece)))
        begin, x = max(begin, end), edge
    last = tiles.at(row, max(x + letter / 2, min(x1, x0 + letter)) if parts else (x0 + x1) / 2)
    if (piece := text[begin:].strip()) and last is not None:
        parts.append((last, _Part(y, x, x1, height, piece)))
    return parts, blanks


def _split(text: str, share: float) -> tuple[int, bool]:
    """Index at which to split a text whose left part is `share` of its width, and whether there is a blank, which is preferred within `SNAP`.

    Where there is none it is the nearest place that is in no word and no number, rather between two of unlike kind; 0 or the whole length
    where there is no such place inside.
    """
    widths = [_width(character) for character in text]
    target, seen, index = share * sum(widths), 0.0, 0
    while index < len(text) and seen + widths[index] / 2 < target:
        seen += widths[index]
        index += 1
    near = [i for i in range(max(1, index - SNAP), min(len(text), index + SNAP + 1)) if text[i].isspace()]
    if near:
        return min(near, key=lambda i: abs(i - index)), True
    whole = list(_WHOLE.finditer(text))
    ends = {0: 0, **{one.end(): sum(widths[: one.end()]) for one in whole}}
    changes = [
        a.end() for a, b in pairwise(whole) if a.lastgroup != b.lastgroup and abs(ends[a.end()] - target) <= SNAP
    ]
    return min(changes or ends, key=lambda end: abs(ends[end] - target)), False


def _width(text: str) -> int:
    """Width in half-width characters: CJK counts twice."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _joined(parts: Sequence[_Part]) -> str:
    """The parts of a cell in reading order, row by row: a blank between them, none between two CJK characters."""
    rows: list[list[_Part]] = []
    for part in sorted(parts):
        if rows and part.y - rows[-1][0].y < SAME_ROW * min(part.height, rows[-1][0].height):
            rows[-1].append(part)
        else:
            rows.append([part])
    text = ""
    for part in (part for row in rows for part in sorted(row, key=lambda one: one.x0)):
        tight = bool(text) and _width(text[-1]) == 2 and _width(part.text[0]) == 2
        text += part.text if not text or tight else f" {part.text}"
    return text
