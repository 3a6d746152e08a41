"""Large text regions that hold several columns, cut into parts that hold one each.

The layout network boxes whole pages of columns as one text. Order can only be found between regions, so such a region is cut: at the
gutter, the vertical white strip with the most lines standing beside each other on both sides, and above and below the lines that cross
it; each part again by the same rule. A line that crosses stands alone in its row; where many don't, it is no gutter. Where there is none
for the whole region, or lines of other columns cross it, there may be above or below white that runs through it: three columns over a
picture, two under it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

import msgspec

from services.layout_worker.boxes import overlap
from shared.contracts.layout import TextLine

GUTTER = 0.2
"""Least width of a gutter, in line heights. Lines end at gaps much wider than this, but the detector's boxes reach a quarter of a
height into it from both sides."""
COLUMN, COLUMN_LINE = 10.0, 4.0
"""Least width of a column and of its median line, in line heights: bullets, numbers and short names before text are no column."""
PAIRS = 3
"""Lines on each side that must have a neighbour on the other."""
BAND = 2.0
"""Height of white through a region, in line heights, above and below which columns may be others: a picture, a heading. Between paragraphs
there is less."""
MOST_EDGES = 12
"""Places tried of each kind."""
MOST_LINES = 400
"""A region with more lines is left as it is: the search is quadratic."""


class _Gutter(msgspec.Struct, frozen=True):
    left: list[TextLine]
    right: list[TextLine]
    crossing: list[TextLine]
    worth: float
    crossed: int
    """How many lines cross it that have others beside them: those of other columns."""


def parts(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """The lines in parts of one column each, every line in one; one part where there are no columns."""
    upright = [line for line in lines if not line.vertical]
    if len(upright) < 2 * PAIRS or len(upright) < 0.8 * len(lines) or len(lines) > MOST_LINES:
        return [list(lines)]
    height = median(line.bbox[3] - line.bbox[1] for line in upright)
    gutter = _gutter(sorted(lines, key=_place), height)
    if gutter is None or gutter.crossed >= PAIRS:
        found = _of_stretches(lines, height)
        if gutter is None or len(found) > 1:
            return found
    out: list[list[TextLine]] = []
    across: list[TextLine] = []
    for crossing, left, right in _bands(gutter):
        if _beside(left, right):
            if across:
                out.append(across)
            out += parts(left) + parts(right)
            across = crossing
        else:
            across = [*across, *left, *right, *crossing]
    return [*out, across] if across else out


def _of_stretches(lines: Sequence[TextLine], height: float) -> list[list[TextLine]]:
    """The parts of each stretch between wide white; one part where no stretch has columns."""
    stretches: list[list[TextLine]] = []
    reached = -math.inf
    for line in sorted(lines, key=_place):
        if not stretches or line.bbox[1] - reached >= BAND * height:
            stretches.append([])
        stretches[-1].append(line)
        reached = max(reached, line.bbox[3])
    found = [parts(stretch) for stretch in stretches] if len(stretches) > 1 else []
    if all(len(held) == 1 for held in found):
        return [list(lines)]
    return [part for held in found for part in held]


def _bands(gutter: _Gutter) -> list[tuple[list[TextLine], list[TextLine], list[TextLine]]]:
    """Between two lines that cross: what stands left and right, and the lower one of the two, as (crossing, left, right)."""
    bands = []
    left, right = list(gutter.left), list(gutter.right)
    for crossing in [*sorted(gutter.crossing, key=_middle), None]:
        end = float("inf") if crossing is None else _middle(crossing)
        bands.append(
            (
                [] if crossing is None else [crossing],
                [line for line in left if _middle(line) < end],
                [line for line in right if _middle(line) < end],
            )
        )
        left = [line for line in left if _middle(line) >= end]
        right = [line for line in right if _middle(line) >= end]
    return bands


def _gutter(lines: list[TextLine], height: float) -> _Gutter | None:
    best: _Gutter | None = None
    for edge in _edges(lines, height):
        left = [line for line in lines if line.bbox[2] <= edge]
        right = [line for line in lines if line.bbox[0] >= edge + GUTTER * height]
        if len(left) < PAIRS or len(right) < PAIRS:
            continue
        left_paired, right_paired = _paired(left, right), _paired(right, left)
        pairs = min(len(left_paired), len(right_paired))
        if pairs < PAIRS or not (_is_column(left_paired, height) and _is_column(right_paired, height)):
            continue
        sides = {id(line) for line in (*left, *right)}
        crossing = [line for line in lines if id(line) not in sides]
        crossed = len(_paired(crossing, [*left, *right], 0.5))
        worth = pairs - 2.0 * crossed
        if worth > 0 and (best is None or worth > best.worth):
            best = _Gutter(left, right, crossing, worth, crossed)
    return best


def _edges(lines: Sequence[TextLine], height: float) -> list[float]:
    """Abscissas where a column may end, from left to right: where several lines end, or just before several begin."""
    step = height / 2
    ends = Counter(math.ceil(line.bbox[2] / step) * step for line in lines)
    begins = Counter(math.floor(line.bbox[0] / step) * step - GUTTER * height for line in lines)
    often = [edge for counter in (ends, begins) for edge, count in counter.most_common(MOST_EDGES) if count >= PAIRS]
    return sorted(set(often))


def _beside(left: Sequence[TextLine], right: Sequence[TextLine]) -> bool:
    return bool(_paired(left, right))


def _paired(lines: Sequence[TextLine], others: Sequence[TextLine], share: float = 0.35) -> list[TextLine]:
    """Lines that have more than this share of their height in common with one of the others: columns need not be in step."""
    return [
        line
        for line in lines
        if any(
            overlap(line.bbox[1], line.bbox[3], other.bbox[1], other.bbox[3])
            > share * min(line.bbox[3] - line.bbox[1], other.bbox[3] - other.bbox[1])
            for other in others
        )
    ]


def _is_column(lines: Sequence[TextLine], height: float) -> bool:
    whole = max(line.bbox[2] for line in lines) - min(line.bbox[0] for line in lines)
    return whole >= COLUMN * height and median(line.bbox[2] - line.bbox[0] for line in lines) >= COLUMN_LINE * height


def _middle(line: TextLine) -> float:
    return (line.bbox[1] + line.bbox[3]) / 2


def _place(line: TextLine) -> tuple[float, ...]:
    return (line.bbox[1], line.bbox[0], line.bbox[3], line.bbox[2])
