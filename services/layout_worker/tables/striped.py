"""Tables without a drawn grid: by rules across alone (three-line tables, a rule under each row), by coloured rows, or by alignment.

Rules and coloured rows that begin and end at the same places are a stack. Between two neighbours of a stack the text says whether it is
a table's: pieces stand side by side, and are no columns of prose. A header's rule and a footnote's are a stack too, and end there.
Without any drawing, rows of three and more short pieces under each other are a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from services.layout_worker.boxes import Box, hull, overlap
from services.layout_worker.tables.rows import is_wide, pieces, rows_of
from shared.contracts.layout import TextLine
from shared.documents.page import FilledBox, Rule

ENDS = 3.0
"""Points by which the ends of a stack's rules may differ."""
LEAST_WIDTH = 60.0
"""Points: shorter rules stand under words or over footnotes."""
ROW = (6.0, 120.0)
"""Points: height of a coloured row."""
TABULAR = 0.6
"""Share of rows with two pieces and more between two rules of a table."""
FAR = 2.5
"""Row heights between two rows of a table without rules, at most."""
LEAST_ROWS, LEAST_PIECES = 3, 3
"""Rows of a table without any drawing, and pieces of each."""
SHORT = 12.0
"""Width of most of its pieces, in line heights, at most: columns of prose are wider."""


class _Band(NamedTuple):
    """A rule across, or a coloured row, from `top` to `bottom`."""

    x0: float
    x1: float
    top: float
    bottom: float


def by_stacks(
    rules: Sequence[Rule], filled: Sequence[FilledBox], lines: Sequence[TextLine], point: float = 1.0
) -> list[Box]:
    """Boxes of tables that rules across or coloured rows show, top to bottom."""
    bands = [_band(rule.bbox) for rule in rules if rule.horizontal]
    bands += [_band(box.bbox) for box in filled if ROW[0] * point <= box.bbox[3] - box.bbox[1] <= ROW[1] * point]
    bands = [band for band in bands if band.x1 - band.x0 >= LEAST_WIDTH * point]
    found = []
    for stack in _stacks(bands, ENDS * point):
        found += _tables(stack, lines)
    return sorted(found, key=lambda box: (box[1], box[0]))


def by_alignment(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines of each table that only their alignment shows."""
    tables: list[list[TextLine]] = []
    run: list[list[TextLine]] = []
    for row in [*rows_of([line for line in lines if not line.vertical]), []]:
        if len(row) >= LEAST_PIECES and pieces(row) == len(row) and (not run or _follows(run[-1], row)):
            run.append(row)
            continue
        if len(run) >= LEAST_ROWS and _is_aligned(run):
            tables.append([line for part in run for line in part])
        run = [row] if len(row) >= LEAST_PIECES and pieces(row) == len(row) else []
    return tables


def _band(box: Sequence[float]) -> _Band:
    return _Band(box[0], box[2], box[1], box[3])


def _stacks(bands: Sequence[_Band], ends: float) -> list[list[_Band]]:
    """Bands that begin and end at the same places, each stack from top to bottom."""
    stacks: list[list[_Band]] = []
    for band in sorted(bands, key=lambda b: (b.top, b.x0)):
        for stack in stacks:
            if abs(stack[0].x0 - band.x0) <= ends and abs(stack[0].x1 - band.x1) <= ends:
                stack.append(band)
                break
        else:
            stacks.append([band])
    return [stack for stack in stacks if len(stack) >= 2]


def _tables(stack: Sequence[_Band], lines: Sequence[TextLine]) -> list[Box]:
    """Stretches of a stack between whose bands the text is tabular."""
    x0, x1 = stack[0].x0, stack[0].x1
    within = [
        line for line in lines if overlap(line.bbox[0], line.bbox[2], x0, x1) > 0.5 * (line.bbox[2] - line.bbox[0])
    ]
    edges = sorted({edge for band in stack for edge in (band.top, band.bottom)})
    tables: list[Box] = []
    run: list[tuple[float, float]] = []
    title: list[tuple[float, float]] = []
    for top, bottom in [*pairwise(edges), (0.0, 0.0)]:
        held = [line for line in within if top <= (line.bbox[1] + line.bbox[3]) / 2 < bottom]
        if bottom > top and (bottom - top < 4.0 or _is_tabular(held)):
            run += [*title, (top, bottom)]
            title = []
            continue
        if bottom > top and run and not title and _is_title(held, x1 - x0):
            title = [(top, bottom)]
            continue
        if run and _is_table(within, run):
            tables.append([x0, run[0][0], x1, run[-1][1]])
        run, title = [], []
    return tables


def _is_tabular(lines: Sequence[TextLine]) -> bool:
    rows = rows_of(lines)
    if not rows or is_wide(lines, SHORT):
        return False
    return sum(pieces(row) >= 2 for row in rows) >= TABULAR * len(rows)


def _is_title(lines: Sequence[TextLine], width: float) -> bool:
    """Whether a stretch of a table holds one short line: the name of the rows below it."""
    return len(rows_of(lines)) == 1 and sum(line.bbox[2] - line.bbox[0] for line in lines) < 0.6 * width


def _is_table(lines: Sequence[TextLine], run: Sequence[tuple[float, float]]) -> bool:
    held = [line for line in lines if run[0][0] <= (line.bbox[1] + line.bbox[3]) / 2 < run[-1][1]]
    rows = rows_of(held)
    return len(rows) >= 2 and sum(pieces(row) >= 2 for row in rows) >= 2


def _follows(above: Sequence[TextLine], row: Sequence[TextLine]) -> bool:
    one, other = hull(line.bbox for line in above), hull(line.bbox for line in row)
    height = min(one[3] - one[1], other[3] - other[1])
    return other[1] - one[3] <= FAR * height and overlap(one[0], one[2], other[0], other[2]) > 0.5 * (
        other[2] - other[0]
    )


def _is_aligned(rows: Sequence[Sequence[TextLine]]) -> bool:
    """Whether the fullest rows have columns, left or right, into which the pieces of the others fit, and the pieces are short."""
    lines = [line for row in rows for line in row]
    most = max(len(row) for row in rows)
    full = [sorted(row, key=lambda line: line.bbox[0]) for row in rows if len(row) == most]
    if 2 * len(full) < len(rows) or is_wide(lines, SHORT):
        return False
    columns = list(zip(*full, strict=True))
    strips = [(min(line.bbox[0] for line in column), max(line.bbox[2] for line in column)) for column in columns]
    if any(left[1] >= right[0] for left, right in pairwise(strips)):
        return False
    return all(sum(overlap(line.bbox[0], line.bbox[2], *strip) > 0 for strip in strips) <= 1 for line in lines)
