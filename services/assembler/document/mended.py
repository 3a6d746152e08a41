"""The grid of a scanned table, out of the network's and that of its lines where these two say the same in different places.

On real tables the network's grid is the better one as a whole. Where both have the same texts and rows, each has faults of its own: the network
imagines empty columns, and does not see a name that stands in the middle between two rows; lines know nothing of a cell over many rows. Where
the network put texts that stand side by side, or two numbers, into one cell and the lines' grid has them apart and all else alike, that is right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from shared.contracts.document import Cell, Table
from shared.contracts.tables import table_of

CROWDED = 2
"""Cells of the network that hold several of the lines' grid, from which that grid is the finer one: one may be a slip."""
TORN = 3
"""Words of which no cell has the whole, from which a grid has more columns than the table."""
_NUMBER = re.compile(r"[-+−(]?[\d.,]*\d[\d.,]*[%‰)]?")


def chosen(seen: Table, own: Table, words: Sequence[str] = ()) -> Table:
    """The grid to be believed: `seen` by the network, `own` of the lines, or one of them with spans of the other. `words` are what was read,
    each without blanks in it."""
    if (
        own.num_rows == seen.num_rows
        and own.num_cols < seen.num_cols
        and _torn(seen, words) >= TORN > _torn(own, words)
    ):
        return own
    if _texts(seen) == _texts(own) and own.num_rows == seen.num_rows:
        if own.num_cols < seen.num_cols:
            return _with_spans(own, [cell for cell in seen.cells if cell.col_span == 1])
        return _with_spans(seen, own.cells) if own.num_cols == seen.num_cols else seen
    return own if _is_finer(own, seen) else seen


def _torn(table: Table, words: Sequence[str]) -> int:
    """How many words are in no cell as a whole."""
    held = "\n".join(_plain(cell) for cell in table.cells)
    return sum(max(0, count - held.count(word)) for word, count in Counter(words).items())


def _plain(cell: Cell) -> str:
    return "".join(cell.text.split())


def _texts(table: Table) -> Counter[str]:
    return Counter(_plain(cell) for cell in table.cells if cell.text.strip())


def _with_spans(table: Table, others: Sequence[Cell]) -> Table:
    """The table with those spans of others that cover nothing but one of its cells with the same text and empty places."""
    cells = list(table.cells)
    for other in others:
        if other.row_span * other.col_span == 1 or not other.text.strip():
            continue
        inside = [cell for cell in cells if _overlap(cell, other)]
        named = [cell for cell in inside if cell.text.strip()]
        fits = len(named) == 1 and _plain(named[0]) == _plain(other) and named[0].row_span * named[0].col_span == 1
        if fits and all(_is_in(cell, other) for cell in inside):
            cells = [cell for cell in cells if not any(cell is one for one in inside)]
            cells.append(
                replace(named[0], row=other.row, col=other.col, row_span=other.row_span, col_span=other.col_span)
            )
    return table_of(cells, page_no=next((cell.page_no for cell in cells if cell.page_no is not None), None))


def _overlap(a: Cell, b: Cell) -> bool:
    rows = a.row < b.row + b.row_span and b.row < a.row + a.row_span
    return rows and a.col < b.col + b.col_span and b.col < a.col + a.col_span


def _is_in(a: Cell, b: Cell) -> bool:
    rows = b.row <= a.row and a.row + a.row_span <= b.row + b.row_span
    return rows and b.col <= a.col and a.col + a.col_span <= b.col + b.col_span


def _is_finer(own: Table, seen: Table) -> bool:
    """Whether the lines' grid has every text of the network's in one cell or in several, and these are no lines of one cell.

    They are none where they stand in one row, are two numbers, a header whose names stand over names of columns, or beside a name of two rows.
    """
    if own.num_rows - seen.num_rows not in (0, 1) or own.num_cols < seen.num_cols:
        return False
    parts = _parts(own, seen)
    if parts is None:
        return False
    crowded = [found for found in parts if len(found) > 1]
    side_by_side = sum(len({cell.row for cell in found}) == 1 for found in crowded)
    numbers = sum(all(_NUMBER.fullmatch(_plain(cell)) for cell in found) for found in crowded)
    if own.num_rows == seen.num_rows:
        return side_by_side >= CROWDED and own.num_cols > seen.num_cols
    grouped = any(cell.row == 0 and cell.col_span > 1 for cell in own.cells)
    header = grouped and all(cell.row < 2 for found in crowded for cell in found)
    hung = all(_are_beside_one(found, own) for found in crowded)
    return own.num_cols == seen.num_cols and (numbers > 0 or ((header or hung) and len(crowded) >= CROWDED))


def _are_beside_one(found: Sequence[Cell], own: Table) -> bool:
    """Whether cells stand in two rows, below the header, that a name beside them covers both."""
    held = {cell.row for cell in found}
    return (
        len(held) == len(found) == 2
        and min(held) > 0
        and any(cell.row_span == 2 and {cell.row, cell.row + 1} == held and cell.text.strip() for cell in own.cells)
    )


def _parts(own: Table, seen: Table) -> list[list[Cell]] | None:
    """For each text of the network's grid the cells of the lines' that it is made of, each used once; none where that cannot be."""
    left = sorted((cell for cell in own.cells if cell.text.strip()), key=lambda cell: (cell.row, cell.col))
    out: list[list[Cell]] = []
    for whole in sorted((c for c in seen.cells if c.text.strip()), key=lambda c: (c.row, c.col)):
        found = _made_of(_plain(whole), whole, left)
        if found is None:
            return None
        out.append(found)
        left = [cell for cell in left if not any(cell is one for one in found)]
    return out if not left else None


def _made_of(text: str, whole: Cell, left: Sequence[Cell]) -> list[Cell] | None:
    """Cells near a place whose texts together are a text: one, or two in either order."""
    near = [cell for cell in left if abs(cell.row - whole.row) <= 1 and abs(cell.col - whole.col) <= 2]
    near.sort(key=lambda cell: (abs(cell.col - whole.col), abs(cell.row - whole.row)))
    for cell in near:
        if _plain(cell) == text:
            return [cell]
    for i, one in enumerate(near):
        for other in near[i + 1 :]:
            if {_plain(one) + _plain(other), _plain(other) + _plain(one)} & {text}:
                return [one, other]
    return None
