"""Tables without a drawn grid: by rules across alone (three-line tables, a rule under each row), by coloured rows, or by a coloured head.

Rules and coloured rows that begin and end at the same places are a stack. Between two neighbours of a stack the text says whether it is
a table's: pieces stand side by side, and are no columns of prose. A header's rule and a footnote's are a stack too, and end there.
Rules under some columns only (beside a cell that spans rows) may lie between the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from services.layout_worker.boxes import Box, area, hull, overlap, share_inside
from services.layout_worker.tables.rows import is_wide, pieces, rows_of, without_spanning
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
HEAD, FAR = 3.5, 1.5
"""Line heights of a coloured head (two rows of names), and between two rows under it, at most."""
OPEN = 1.0
"""Line heights between a table's outermost rule and a row beyond it, at most."""
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
    found += [box for one in filled if (box := _headed(_band(one.bbox), lines)) is not None]
    found = [box for box in found if not any(box is not other and _is_in(box, other) for other in found)]
    return sorted(found, key=lambda box: (box[1], box[0]))


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
    begun = False  # whether there is text in the run, not only a rule
    for top, bottom in [*pairwise(edges), (0.0, 0.0)]:
        held = [line for line in within if top <= (line.bbox[1] + line.bbox[3]) / 2 < bottom]
        if bottom > top and (bottom - top < 4.0 or _is_tabular(held)):
            run += [*title, (top, bottom)]
            title = []
            begun = begun or bottom - top >= 4.0
            continue
        if bottom > top and begun and not title and _is_title(held, x1 - x0):
            title = [(top, bottom)]
            continue
        if run and _is_table(within, run):
            tables.append(_with_open_rows([x0, run[0][0], x1, run[-1][1]], within))
        run, title, begun = [], [], False
    return tables


def _with_open_rows(table: Box, lines: Sequence[TextLine]) -> Box:
    """The table with its first and last row, where rules stand only between rows: pieces in its columns right above and below it."""
    x0, top, x1, bottom = table
    held = [line for line in lines if top <= (line.bbox[1] + line.bbox[3]) / 2 < bottom]
    starts = [line.bbox[0] for line in held]
    for row in rows_of([line for line in lines if line not in held]):
        around = hull(line.bbox for line in row)
        near = OPEN * (around[3] - around[1])
        if pieces(row) < 2 or not all(
            _is_short(line) and any(abs(line.bbox[0] - start) <= ENDS for start in starts) for line in row
        ):
            continue
        if 0 <= table[1] - around[3] + ENDS <= near + ENDS:
            top = min(top, around[1])
        elif 0 <= around[1] - table[3] + ENDS <= near + ENDS:
            bottom = max(bottom, around[3])
    return [x0, top, x1, bottom]


def _is_tabular(lines: Sequence[TextLine]) -> bool:
    rows: Sequence[Sequence[TextLine]] = rows_of(lines)
    if not rows or is_wide(lines, SHORT) or 2 * sum(line.vertical for line in lines) > len(lines):
        return False
    rows = without_spanning(rows)
    return bool(rows) and sum(pieces(row) >= 2 for row in rows) >= TABULAR * len(rows)


def _is_short(line: TextLine) -> bool:
    return line.bbox[2] - line.bbox[0] <= SHORT * (line.bbox[3] - line.bbox[1])


def _headed(head: _Band, lines: Sequence[TextLine]) -> Box | None:
    """The table under a coloured row, where that holds names of columns and rows of short pieces follow it within its width; else none."""
    within = [line for line in lines if head.x0 <= line.bbox[0] and line.bbox[2] <= head.x1]
    held = [line for line in within if head.top <= (line.bbox[1] + line.bbox[3]) / 2 < head.bottom]
    if pieces(held) < 2 or not all(_is_short(line) for line in held):
        return None
    height = min(line.bbox[3] - line.bbox[1] for line in held)
    if head.bottom - head.top > HEAD * height:
        return None
    beside = [line for line in lines if overlap(line.bbox[0], line.bbox[2], head.x0, head.x1) > 0]
    rows: list[list[TextLine]] = []
    reached = head.bottom
    for row in rows_of([line for line in beside if (line.bbox[1] + line.bbox[3]) / 2 >= head.bottom]):
        top = min(line.bbox[1] for line in row)
        if top - reached > FAR * height or not all(_is_short(line) and line in within for line in row):
            break
        rows.append(row)
        reached = max(reached, *(line.bbox[3] for line in row))
    if len(rows) < 2 or sum(pieces(row) >= 2 for row in rows) < TABULAR * len(rows):
        return None
    return [head.x0, head.top, head.x1, reached]


def _is_in(box: Sequence[float], other: Sequence[float]) -> bool:
    """Whether most of a table is in a larger one: rules under some of that one's columns are a stack too."""
    return share_inside(box, other) > 0.5 and area(box) < area(other)


def _is_title(lines: Sequence[TextLine], width: float) -> bool:
    """Whether a stretch of a table holds one short line: the name of the rows below it."""
    return len(rows_of(lines)) == 1 and sum(line.bbox[2] - line.bbox[0] for line in lines) < 0.6 * width


def _is_table(lines: Sequence[TextLine], run: Sequence[tuple[float, float]]) -> bool:
    held = [line for line in lines if run[0][0] <= (line.bbox[1] + line.bbox[3]) / 2 < run[-1][1]]
    rows = rows_of(held)
    return len(rows) >= 2 and sum(pieces(row) >= 2 for row in rows) >= 2
