"""Which loose lines belong together: neighbours in one column, of about one size.

Lines are joined like stones of a wall: one below the other with a gap smaller than a line and with a common stretch, or side by side in
one row with a gap smaller than a letter. A group never grows over a region that is already there, so order stays sane.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.layout_worker.boxes import Box, area, common, hull, overlap
from shared.contracts.layout import TextLine

ROW_GAP = 0.9
"""Gap to the line below, in line heights."""
WORD_GAP = 1.2
"""Gap to the neighbour in the same row, in line heights."""
NEXT_GAP, NEXT_SHARED = 0.6, 0.8
"""The same for the next line of a paragraph, and the share of the shorter one that must stand above or below the other."""
SAME_SIZE = 1.6
"""Lines whose heights differ by a larger factor are not one text."""
SLACK = 0.05
"""Share of the smaller group's area that it may cover of a region beside: boxes of neighbours touch."""
SHARED = 0.5
"""Share of the shorter line that must stand above, or beside, the other."""


class _Group:
    """Lines that belong together, the box around them, and how much of each taken box they cover themselves."""

    def __init__(self, line: TextLine, taken: Sequence[Box]) -> None:
        self.lines = [line]
        self.hull = list(line.bbox)
        self.covered = [common(line.bbox, box) for box in taken]

    def may_join(self, other: _Group, taken: Sequence[Box]) -> bool:
        """Whether both together cover hardly more of any taken box than their lines do."""
        around = hull([self.hull, other.hull])
        slack = SLACK * min(area(self.hull), area(other.hull))
        return all(
            common(around, box) <= mine + others + slack
            for box, mine, others in zip(taken, self.covered, other.covered, strict=True)
        )

    def join(self, other: _Group) -> None:
        self.lines += other.lines
        self.hull = hull([self.hull, other.hull])
        self.covered = [mine + others for mine, others in zip(self.covered, other.covered, strict=True)]


def grouped(lines: Sequence[TextLine], taken: Sequence[Box] = ()) -> list[list[TextLine]]:
    """Lines in groups, each line in one; groups and lines keep the order from top to bottom, then left to right."""
    group_of: dict[int, _Group] = {}
    groups: dict[int, _Group] = {}
    window: list[TextLine] = []
    for line in sorted(lines, key=place):
        window = [other for other in window if _is_in_reach(other, line)]
        group = group_of[id(line)] = _Group(line, taken)
        groups[id(group)] = group
        for other in window:
            known = group_of[id(other)]
            if known is not group and _neighbours(line, other) and known.may_join(group, taken):
                known.join(group)
                del groups[id(group)]
                group_of.update((id(member), known) for member in group.lines)
                group = known
        window.append(line)
    found = [sorted(group.lines, key=place) for group in groups.values()]
    return sorted(found, key=lambda group: place(group[0]))


def continues(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Whether a line is the next, or the one before, of these lines: as near as lines of one paragraph, and mostly above or below."""
    x0, y0, x1, y1 = _reading_frame(line)
    for other in lines:
        ox0, oy0, ox1, oy1 = _reading_frame(other)
        gap = -overlap(y0, y1, oy0, oy1)
        if (
            _neighbours(line, other)
            and -0.5 * (y1 - y0) < gap <= NEXT_GAP * min(y1 - y0, oy1 - oy0)
            and overlap(x0, x1, ox0, ox1) >= NEXT_SHARED * min(x1 - x0, ox1 - ox0)
        ):
            return True
    return False


def place(line: TextLine) -> tuple[float, float, float, float, str]:
    """Sorts lines from top to bottom, then left to right."""
    return (line.bbox[1], line.bbox[0], line.bbox[3], line.bbox[2], line.text or "")


def reading_place(line: TextLine) -> tuple[float, ...]:
    """Sorts vertical lines as they are read: columns from right to left, each from the top."""
    return (-line.bbox[2], line.bbox[1], *place(line)[2:4])


def _is_in_reach(above: TextLine, line: TextLine) -> bool:
    """Whether this line, or one that begins further down, can be a neighbour of an earlier one."""
    return above.vertical or line.bbox[1] - above.bbox[3] <= SAME_SIZE * (above.bbox[3] - above.bbox[1])


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
