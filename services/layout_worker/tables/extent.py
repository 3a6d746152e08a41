"""How far a table without a grid reaches: its text, and the rules and coloured rows that go with it. The network's boxes are rough."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from services.layout_worker.boxes import Box, common, hull, overlap, share_inside
from services.layout_worker.tables.rows import rows_of
from shared.contracts.layout import TextLine
from shared.documents.page import FilledBox, Rule

WITHIN = 0.8
"""Share of a rule or a coloured row that lies in the table's width."""
REACH = 1.0
"""Line heights from the text to a rule above or below it that is still the table's."""
WIDE = 0.3
"""Share of the table's width from which a rule or a coloured row shows where it ends."""
FAR = 3.0
"""Times the usual gap between two rows, and at least one line's height, from which a row of one piece is not the table's."""
LEAST_ROWS = 4
"""Rows of a table whose gaps say what is usual."""


def extent(box: Sequence[float], lines: Sequence[TextLine], rules: Sequence[Rule], filled: Sequence[FilledBox]) -> Box:
    """The box of a table that was found at `box` and holds `lines`, at least one."""
    around = hull(line.bbox for line in lines)
    height = min(max(1.0, line.bbox[3] - line.bbox[1]) for line in lines)
    across = [rule.bbox for rule in rules if rule.horizontal] + [one.bbox for one in filled]
    room = [min(around[0], box[0]) - height, around[1] - REACH * height, max(around[2], box[2]) + height]
    room.append(around[3] + REACH * height)
    own = [
        mark
        for mark in across
        if mark[2] - mark[0] >= WIDE * (around[2] - around[0])
        and overlap(mark[0], mark[2], room[0], room[2]) >= WITHIN * (mark[2] - mark[0])
        and room[1] <= mark[1]
        and mark[3] <= room[3]
    ]
    own += [one.bbox for one in filled if _is_row(one.bbox, lines, height)]
    down = [
        rule.bbox
        for rule in rules
        if not rule.horizontal and common(rule.bbox, room) >= WITHIN * common(rule.bbox, rule.bbox)
    ]
    return hull([around, *own, *down])


def without_far(lines: Sequence[TextLine]) -> tuple[list[TextLine], list[TextLine]]:
    """Lines of a table, and those of rows of one piece above or below it that stand `FAR` of its usual row gaps away: a header, a note."""
    rows = rows_of(lines)
    if len(rows) < LEAST_ROWS:
        return list(lines), []
    edges = [(min(line.bbox[1] for line in row), max(line.bbox[3] for line in row)) for row in rows]
    gaps = [max(0.0, below[0] - above[1]) for above, below in pairwise(edges)]
    height = median(bottom - top for top, bottom in edges)
    most = max(FAR * median(gaps), height)
    first, last = 0, len(rows)
    while first < last - 2 and len(rows[first]) == 1 and gaps[first] > most:
        first += 1
    while last > first + 2 and len(rows[last - 1]) == 1 and gaps[last - 2] > most:
        last -= 1
    return [x for row in rows[first:last] for x in row], [x for row in (*rows[:first], *rows[last:]) for x in row]


def _is_row(band: Sequence[float], lines: Sequence[TextLine], height: float) -> bool:
    """Whether a coloured box is the ground of a row, wherever it ends: it holds a line of the table and is no higher than three."""
    return band[3] - band[1] <= 3 * height and any(share_inside(line.bbox, band) >= WITHIN for line in lines)
