"""Tables that only their alignment shows: rows of short pieces under each other, with white from top to bottom between their columns.

A full row has at least `LEAST_PIECES` pieces. Weak rows, with fewer, may stand between full ones: cells that span rows stand between them, and
cells may be empty. Where a few pieces span columns (a second header row), the columns are still what the other rows leave free.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from services.layout_worker.boxes import hull, overlap
from services.layout_worker.tables.rows import is_wide, pieces, rows_of
from shared.contracts.layout import TextLine

FAR = 2.5
"""Row heights between two rows, at most."""
BESIDE = 0.5
"""Row heights from which a row need not stand under the one before: a cell that spans rows stands beside them."""
LEAST_ROWS, LEAST_PIECES = 3, 3
"""Full rows of a table, and pieces of each."""
SHORT = 12.0
"""Width of a piece, in its heights, at most: columns of prose are wider."""
FULL = 0.5
"""Share of a table's rows that are full."""
SPANNING = 0.15
"""Share of its pieces that may lie in several columns."""
CROSSED = 0.1
"""Share of full rows that may have something where a gap between columns is."""
PROSE_WIDTH, FILLED, PROSE = 8.0, 0.85, 0.6
"""Width of a column in line heights, share of it that a line fills, and share of such lines, from which it is one of prose."""
GAP = 0.4
"""Width of such a gap, in line heights."""
APART = 2.0
"""Times the usual white between rows, beyond which a row that is not full is none of the table: running heads have two pieces too."""
CUT_ROWS, EDGE, KEPT = 4, 0.6, 0.7
"""Of lines that were cut at wide white: full rows of a table, line heights up to which two cells of a column have one edge or one middle, and
share of each column's cells that have it. A justified line, or one with full-width commas, has wide white too, anywhere."""

Row = list[TextLine]


def by_alignment(lines: Sequence[TextLine], *, cut: bool = False) -> list[list[TextLine]]:
    """Lines of each table, top to bottom. `cut` says that they are parts of lines: more is asked of their columns then."""
    tables: list[list[TextLine]] = []
    run: list[Row] = []
    for row in [*rows_of([line for line in lines if not line.vertical]), []]:
        if row and _is_short(row) and (not run or _follows(run, row)):
            run.append(row)
            continue
        tables += _table(run, cut)
        run = [row] if row and _is_short(row) else []
    return tables


def _is_short(row: Row) -> bool:
    return all(line.bbox[2] - line.bbox[0] <= SHORT * (line.bbox[3] - line.bbox[1]) for line in row)


def _is_full(row: Row) -> bool:
    return len(row) >= LEAST_PIECES and pieces(row) == len(row)


def _follows(run: Sequence[Row], row: Row) -> bool:
    """Whether a row is near the last one, or the last full one, and under it."""
    for above in (run[-1], next((one for one in reversed(run) if _is_full(one)), run[-1])):
        one, other = hull(line.bbox for line in above), hull(line.bbox for line in row)
        height = min(one[3] - one[1], other[3] - other[1])
        gap = other[1] - one[3]
        under = overlap(one[0], one[2], other[0], other[2]) > 0.5 * min(other[2] - other[0], one[2] - one[0])
        if gap <= BESIDE * height or (under and gap <= FAR * height):
            return True
    return False


def _table(run: Sequence[Row], cut: bool) -> list[list[TextLine]]:
    """The table in a run of rows, in a list, or none: from the first to the last full row, and what stands beside or right under these."""
    full = [index for index, row in enumerate(run) if _is_full(row)]
    if len(full) < (CUT_ROWS if cut else LEAST_ROWS):
        return []
    columns = _columns([run[index] for index in full])
    if len(columns) < LEAST_PIECES:
        return []
    first, last = full[0], full[-1]
    most = _usual_gap(run[first : last + 1])
    while first > 0 and _belongs(run[first], run[first - 1]) and _gap(run[first - 1], run[first]) <= most:
        first -= 1
    while last + 1 < len(run) and _fits(run[last + 1], columns) and _belongs(run[last], run[last + 1]):
        if _gap(run[last], run[last + 1]) > most:
            break
        last += 1
    rows = run[first : last + 1]
    found = [line for row in rows for line in row]
    spanning = sum(_touched(line, columns) > 1 for line in found)
    if len(full) < FULL * len(rows) or spanning > SPANNING * len(found) or is_wide(found, SHORT):
        return []
    if _is_prose(found, columns) or (cut and _is_scattered([run[index] for index in full], columns)):
        return []
    return [found]


def _gap(above: Row, below: Row) -> float:
    return min(line.bbox[1] for line in below) - max(line.bbox[3] for line in above)


def _usual_gap(rows: Sequence[Row]) -> float:
    """White up to which a row is a table's next: twice what is usual between its rows, and a line's height at least."""
    gaps = [max(0.0, _gap(above, below)) for above, below in pairwise(rows)]
    return max(APART * median(gaps), median(line.bbox[3] - line.bbox[1] for row in rows for line in row))


def _columns(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Where most rows have text: intervals of x, left to right, with gaps between them that hardly any row crosses."""
    ends = sorted((x, step) for row in rows for line in row for x, step in ((line.bbox[0], 1), (line.bbox[2], -1)))
    least = GAP * min(line.bbox[3] - line.bbox[1] for row in rows for line in row)
    columns: list[tuple[float, float]] = []
    depth, begin = 0, 0.0
    for x, step in ends:
        before, depth = depth, depth + step
        crossed = CROSSED * len(rows)
        if before <= crossed < depth:
            begin = x
        elif depth <= crossed < before:
            if columns and begin - columns[-1][1] < least:
                begin = columns.pop()[0]
            columns.append((begin, x))
    return columns


def _is_prose(lines: Sequence[TextLine], columns: Sequence[tuple[float, float]]) -> bool:
    """Whether two columns and more are full from edge to edge and as wide as narrow ones of a magazine: cells end where their text ends."""
    height = min(line.bbox[3] - line.bbox[1] for line in lines)
    broad = [column for column in columns if column[1] - column[0] >= PROSE_WIDTH * height]
    held = [
        (line.bbox[2] - line.bbox[0]) / (column[1] - column[0])
        for column in broad
        for line in lines
        if overlap(line.bbox[0], line.bbox[2], *column) > 0
    ]
    return len(broad) >= 2 and sum(share >= FILLED for share in held) >= PROSE * len(held)


def _is_scattered(rows: Sequence[Row], columns: Sequence[tuple[float, float]]) -> bool:
    """Whether pieces stand anywhere: two in one column of a row, or in a column of which too few share an edge or their middle."""
    height = median(line.bbox[3] - line.bbox[1] for row in rows for line in row)
    for column in columns:
        held = [[line.bbox for line in row if overlap(line.bbox[0], line.bbox[2], *column) > 0] for row in rows]
        if sum(len(boxes) > 1 for boxes in held) > CROSSED * len(rows):
            return True
        places = [(box[0], box[2], (box[0] + box[2]) / 2) for boxes in held for box in boxes]
        kept = max(_near([place[side] for place in places], EDGE * height) for side in range(3))
        if kept < KEPT * len(places):
            return True
    return False


def _near(values: Sequence[float], reach: float) -> int:
    """How many values lie around their median."""
    middle = median(values)
    return sum(abs(value - middle) <= reach for value in values)


def _touched(line: TextLine, columns: Sequence[tuple[float, float]]) -> int:
    return sum(overlap(line.bbox[0], line.bbox[2], *column) > 0 for column in columns)


def _fits(row: Row, columns: Sequence[tuple[float, float]]) -> bool:
    return all(_touched(line, columns) <= 1 for line in row)


def _belongs(above: Row, row: Row) -> bool:
    """Whether a row that is not full is a table's next: it has two pieces, or stands beside the other as a cell of two rows does."""
    one, other = hull(line.bbox for line in above), hull(line.bbox for line in row)
    return len(row) >= 2 or overlap(one[1], one[3], other[1], other[3]) > 0
