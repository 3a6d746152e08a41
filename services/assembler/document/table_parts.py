"""Tables that a page break cut: whether the second part goes on with the first, and the two as one table with its parts.

They are one when their columns stand at the same places, or as far from each other under the same header: from the right column of a page the
rest goes to the left one of the next. The second part may repeat the header or have none, and may lack a column in which it has nothing. A
header of its own, or a caption that does not say "continued", begins another table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from statistics import median

from msgspec.structs import replace

from services.assembler.document.boxes import overlap
from services.assembler.document.regions import replace_table
from services.assembler.document.tables import finished, header_rows
from shared.contracts.document import Block, Cell, Provenance, Table, TablePart

SAME_EDGE = 0.03
"""Difference of a table's edges over two pages, as a share of its width."""
SAME_ROW = 0.85
"""Likeness (0..1) from which two rows that were read are one text."""
NUMBERS = 0.8
"""Share of a column's cells that are numbers where it is a column of numbers."""
_CONTINUED = re.compile(r"\b(?:cont(?:inued|inuation|['’]d|d)?\b|fortsetzung|suite\b)|续|續|つづき", re.I)
_NUMBER = re.compile(r"[-+−(]?[\d.,  ]*\d[\d.,  ]*[%‰)]?")


def continues(a: Block, b: Block, captions: Sequence[str] = ()) -> bool:
    """Whether table `b`, the first thing of its page, goes on with table `a`, the last of the page before. `captions`: texts of those of `b`."""
    if a.table is None or b.table is None or not all(_CONTINUED.search(text) for text in captions):
        return False
    columns = _columns(a, a.table, b, b.table)
    if columns is None:
        return False
    return _repeated(a, a.table, b.table, columns) > 0 or not _has_own_header(a.table, b.table)


def continues_higher(a: Block, b: Block) -> bool:
    """Whether `b`, in the next column of the page, goes on with table `a`: it begins higher by a row at least. Tables side by side are two."""
    first, second = a.prov[-1].bbox, b.prov[0].bbox
    if a.table is None or first is None or second is None:
        return False
    step = (first[3] - first[1]) / a.table.num_rows
    return second[1] < first[1] - step and continues(a, b)


def one_table(a: Block, b: Block) -> Block:
    """Both as one block; a header that is repeated is there once. Only for what `continues`."""
    assert a.table is not None
    assert b.table is not None
    top, below = a.table, b.table
    columns = _columns(a, top, b, below)
    assert columns is not None
    dropped = _repeated(a, top, below, columns)
    shift = top.num_rows - dropped
    moved = [_moved(cell, columns, shift) for cell in below.cells if cell.row >= dropped]
    here, there = a.prov[0].page_no, b.prov[0].page_no
    parts = top.parts or [TablePart(page_no=here, rows=[0, top.num_rows])]
    rows = top.num_rows + below.num_rows - dropped
    if parts[-1].page_no == there:
        parts = [*parts[:-1], replace(parts[-1], rows=[parts[-1].rows[0], rows])]
    else:
        parts = [*parts, TablePart(page_no=there, rows=[top.num_rows, rows])]
    table = Table(num_rows=rows, num_cols=top.num_cols, cells=[*top.cells, *moved], html="", parts=parts)
    prov: list[Provenance] = [*a.prov, *b.prov]
    lines = [replace(line, page_no=line.page_no or here) for line in a.lines]
    lines += [replace(line, page_no=there) for line in b.lines]
    joined = replace(a, prov=prov, lines=lines, caption_ids=[*a.caption_ids, *b.caption_ids])
    return replace_table(joined, finished(table))


def _moved(cell: Cell, columns: Sequence[int], shift: int) -> Cell:
    """A cell of the second part in the grid of the whole; a span keeps all columns between its ends."""
    first, last = columns[cell.col], columns[cell.col + cell.col_span - 1]
    return replace(cell, row=cell.row + shift, col=first, col_span=last - first + 1, column_header=False)


def _columns(a: Block, top: Table, b: Block, below: Table) -> list[int] | None:
    """Column of the whole for each column of the second part; none where they do not agree."""
    first, second = a.prov[-1].bbox, b.prov[0].bbox
    if first is None or second is None or below.num_cols > top.num_cols or below.num_cols < max(1, top.num_cols - 1):
        return None
    same = list(range(top.num_cols))
    width = max(first[2] - first[0], second[2] - second[0], 1.0)
    left, right = (abs(first[i] - second[i]) <= SAME_EDGE * width for i in (0, 2))
    if below.num_cols == top.num_cols and left and right:
        return same
    as_wide = abs(first[2] - first[0] - second[2] + second[0]) <= SAME_EDGE * width
    if below.num_cols == top.num_cols and as_wide and _repeated(a, top, below, same) > 0:
        return same  # in another column of text
    if not (left or right) or top.num_cols < 2:
        return None
    found = _by_place(_strips(top, a.prov[-1].page_no), _strips(below, b.prov[0].page_no))
    return found if found is not None and (len(found) < top.num_cols or found == same) else None


def _by_place(
    wide: Sequence[tuple[float, float] | None], narrow: Sequence[tuple[float, float] | None]
) -> list[int] | None:
    """For each strip of the second part the one strip above that it stands under; none where that is not plain."""
    out: list[int] = []
    for strip in narrow:
        if strip is None:
            return None
        shared = [overlap(*strip, *other) if other is not None else 0.0 for other in wide]
        best = max(range(len(wide)), key=lambda i: shared[i])
        if shared[best] <= 0 or (out and best <= out[-1]):
            return None
        out.append(best)
    return out


def _strips(table: Table, page_no: int) -> list[tuple[float, float] | None]:
    """Where each column stands on a page: between the median edges of its cells that span no other."""
    out: list[tuple[float, float] | None] = []
    for col in range(table.num_cols):
        boxes = [
            cell.bbox
            for cell in table.cells
            if cell.col == col and cell.col_span == 1 and cell.bbox is not None and cell.page_no in (None, page_no)
        ]
        out.append((min(b[0] for b in boxes), median(b[2] for b in boxes)) if boxes else None)
    return out


def _repeated(a: Block, top: Table, below: Table, columns: Sequence[int]) -> int:
    """How many rows at the top of the second part repeat the header of the first, columns in which it has nothing aside."""
    count = 0
    used = sorted({cell.col for cell in below.cells if cell.text.strip()})
    for row in range(min(_header_rows(top), below.num_rows - 1)):
        above, under = _row(top, row), _row(below, row)
        one = [above.get(columns[col], "") for col in used]
        other = [under.get(col, "") for col in used]
        if not any(one) or not _same(one, other, exact=a.method == "native"):
            break
        count += 1
    return count


def _same(one: Sequence[str], other: Sequence[str], *, exact: bool) -> bool:
    """Whether two rows say the same; what was read may differ in a letter."""
    if exact:
        return one == other
    return SequenceMatcher(None, "\n".join(one), "\n".join(other), autojunk=False).ratio() >= SAME_ROW


def _header_rows(table: Table) -> int:
    """Rows of the header: those that are marked, or as many as its first row's spans say."""
    marked = len({cell.row for cell in table.cells if cell.column_header})
    first = [(cell.row_span, cell.col_span) for cell in table.cells if cell.row == 0]
    return max(marked, header_rows(first, table.num_rows))


def _has_own_header(top: Table, below: Table) -> bool:
    """Whether the second part begins with names over columns of numbers, as the first does: then it is another table."""
    for col in range(min(top.num_cols, below.num_cols)):
        above, under = _column(top, col), _column(below, col)
        if len(above) < 3 or len(under) < 3:
            continue
        named = not _is_number(above[0]) and not _is_number(under[0])
        if named and _are_numbers(above[1:]) and _are_numbers(under[1:]):
            return True
    return False


def _column(table: Table, col: int) -> list[str]:
    return [cell.text.strip() for cell in table.cells if cell.col == col and cell.col_span == 1 and cell.text.strip()]


def _are_numbers(texts: Sequence[str]) -> bool:
    return sum(map(_is_number, texts)) >= NUMBERS * len(texts)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _row(table: Table, row: int) -> dict[int, str]:
    """Texts of a row by their columns, without blanks."""
    return {cell.col: "".join(cell.text.split()) for cell in table.cells if cell.row == row}
