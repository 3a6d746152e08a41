"""Which loose lines belong together: neighbours in one column, of about one size.

Lines are joined like stones of a wall: one below the other with a gap smaller than a line and with a common stretch, or side by side in
one row with a gap smaller than a letter. A group never grows over a region that is already there, so order stays sane.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.layout_worker.boxes import Box, common, hull, overlap
from shared.contracts.layout import TextLine

ROW_GAP = 0.9
"""Gap to the line below, in line heights."""
WORD_GAP = 1.2
"""Gap to the neighbour in the same row, in line heights."""
SAME_SIZE = 1.6
"""Lines whose heights differ by a larger factor are not one text."""
SHARED = 0.5
"""Share of the shorter line that must stand above, or beside, the other."""


def grouped(lines: Sequence[TextLine], taken: Sequence[Box] = ()) -> list[list[TextLine]]:
    """Lines in groups, each line in one; groups and lines keep the order from top to bottom, then left to right."""
    ordered = sorted(lines, key=lambda line: (line.bbox[1], line.bbox[0], line.bbox[3], line.bbox[2], line.text or ""))
    groups: list[list[TextLine]] = []
    active: list[list[TextLine]] = []
    for line in ordered:
        active = [g for g in active if _in_reach(g, line)]
        near = [g for g in active if any(_neighbours(line, other) for other in g) and _free([*g, line], taken)]
        if not near:
            groups.append([line])
            active.append(groups[-1])
            continue
        first, *others = near
        first.append(line)
        for other in others:
            if _free([*first, *other], taken):
                first.extend(other)
                groups = [g for g in groups if g is not other]
                active = [g for g in active if g is not other]
    for group in groups:
        group.sort(key=lambda line: (line.bbox[1], line.bbox[0], line.bbox[3], line.bbox[2], line.text or ""))
    return groups


def _in_reach(group: Sequence[TextLine], line: TextLine) -> bool:
    """Whether this line, or one that begins further down, can still be a neighbour of the group's last lines."""
    return any(
        other.vertical or line.bbox[1] - other.bbox[3] <= SAME_SIZE * (other.bbox[3] - other.bbox[1]) for other in group
    )


def _free(lines: Sequence[TextLine], taken: Sequence[Box]) -> bool:
    """Whether the group covers nothing of a region that its single lines don't cover."""
    if len(lines) < 2:
        return True
    around = hull(line.bbox for line in lines)
    for box in taken:
        both = common(around, box)
        if both > 0 and both > sum(common(line.bbox, box) for line in lines) + 1e-6:
            return False
    return True


def _neighbours(a: TextLine, b: TextLine) -> bool:
    if a.vertical != b.vertical:
        return False
    ax, ay, ax1, ay1 = _reading_frame(a)
    bx, by, bx1, by1 = _reading_frame(b)
    tall, low = max(ay1 - ay, by1 - by), min(ay1 - ay, by1 - by)
    if low <= 0 or tall > SAME_SIZE * low:
        return False
    beside = overlap(ax, ax1, bx, bx1)
    above = overlap(ay, ay1, by, by1)
    if above >= SHARED * low:
        return beside >= -WORD_GAP * low
    return beside >= SHARED * min(ax1 - ax, bx1 - bx) and above >= -ROW_GAP * low


def _reading_frame(line: TextLine) -> Box:
    """The box with the direction of reading as x, so that vertical lines are compared like horizontal ones."""
    x0, y0, x1, y1 = line.bbox
    return [y0, x0, y1, x1] if line.vertical else [x0, y0, x1, y1]
