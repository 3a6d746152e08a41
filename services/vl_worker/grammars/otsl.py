"""OTSL tables to our grid: a cell for every place, and marks that say with which neighbour a place is one.

`<fcel>` cell with text, `<ecel>` without, `<lcel>` one with its left neighbour, `<ucel>` with the one above, `<xcel>` with both, `<nl>` end of
row (Lysak et al. 2023, arXiv 2305.03393; the form of PaddleOCR-VL). Docling's `<ched>`, `<rhed>` and `<srow>` are cells that are headers.
"""

from __future__ import annotations

import re

from services.vl_worker.grammars.grid import MAX_CELLS, Entry, grid_of
from shared.contracts.document import Table
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.tables import MAX_COLS, MAX_ROWS

_MARK = re.compile(r"<(fcel|ecel|lcel|ucel|xcel|ched|rhed|srow|nl)>")
_TAG = re.compile(r"<[^<>]{0,200}>")
_CELLS = ("fcel", "ecel", "ched", "rhed", "srow")


def is_otsl(text: str) -> bool:
    """Whether there is a mark of the grammar in a text."""
    return _MARK.search(text) is not None


def parse_otsl(text: str, *, page_no: int, max_cells: int = MAX_CELLS) -> Table:
    """The table of a model's answer. Rows shorter than the longest end in empty cells; a mark without a neighbour is an empty cell.

    Raises `DocfleetError(corrupt)` when there is no mark in it, or more places than the limits allow.
    """
    rows = _rows(text)
    width = max((len(row) for row in rows), default=0)
    if not width:
        raise DocfleetError(ErrorCode.corrupt, "the model's answer holds no table")
    if len(rows) > MAX_ROWS or width > MAX_COLS or len(rows) * width > max_cells:
        raise DocfleetError(ErrorCode.corrupt, f"the model's table of {len(rows)} x {width} is larger than the limits")
    grid = [row + [("ecel", "")] * (width - len(row)) for row in rows]
    taken: set[tuple[int, int]] = set()
    entries: list[list[Entry]] = []
    for r, row in enumerate(grid):
        entries.append([])
        for c, (mark, content) in enumerate(row):
            if (r, c) in taken:
                continue
            col_span, row_span = _spans(grid, r, c) if mark in _CELLS else (1, 1)
            while any((r, c + j) in taken for j in range(col_span)):
                col_span -= 1
            taken.update((r + i, c + j) for i in range(row_span) for j in range(col_span))
            entries[-1].append(Entry(content, row_span, col_span, mark == "ched", mark in ("rhed", "srow")))
    return grid_of(entries, page_no=page_no, max_cells=max_cells)


def _rows(text: str) -> list[list[tuple[str, str]]]:
    rows: list[list[tuple[str, str]]] = [[]]
    marks = list(_MARK.finditer(text))
    for number, mark in enumerate(marks):
        if mark.group(1) == "nl":
            rows.append([])
            continue
        end = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        content = _TAG.sub(" ", text[mark.end() : end])
        rows[-1].append((mark.group(1), " ".join(content.split())))
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _spans(grid: list[list[tuple[str, str]]], row: int, col: int) -> tuple[int, int]:
    """Columns and rows of the cell whose text stands here: the longest rectangle that its marks fill."""
    wide = 1
    while col + wide < len(grid[row]) and grid[row][col + wide][0] == "lcel":
        wide += 1
    high = 1
    while row + high < len(grid):
        below = grid[row + high][col : col + wide]
        if below[0][0] != "ucel" or any(mark != "xcel" for mark, _ in below[1:]):
            break
        high += 1
    return wide, high
