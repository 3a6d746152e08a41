"""Regions of a skewed page, by the rules for level ones: all that is known goes into the upright frame, what comes of it goes back.

On the page as displayed the hulls of skewed lines reach over their neighbours above, below and beside; of columns, rows and indentation
nothing can be said there.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from services.layout_worker.boxes import Box, clipped, hull
from services.layout_worker.found import FoundBox, FoundLine
from services.layout_worker.regions import regions
from services.layout_worker.regions.drafts import HOLDS_TEXT, Draft, Drawn, Piece, Widget
from services.layout_worker.tables.ruled import Ruled
from shared.contracts.layout import Grid, TextLine
from shared.contracts.upright import LEVEL, STEEPEST, Upright

LONG = 5.0
"""Times its height from which on a line's slope means something."""
FEW = 4
"""Long lines below which what the ink says is believed, and lines below which nothing is."""
NEAR, AGREED = 0.02, 0.6
"""Slopes differ by no more than this (a degree) for at least that share of the long lines; else the page has no one slope."""


def slope_of(found: Sequence[FoundLine], by_ink: float) -> float:
    """Slope of a page's lines (dy by dx, y down) as they were detected; `by_ink` where too few are long. 0 where it is level, or unclear."""
    known = sorted((slope, _length(line.quad)) for line in found if (slope := _slope(line.quad)) is not None)
    slopes = [slope for slope, _ in known]
    slope = by_ink if len(found) >= FEW else 0.0
    if len(slopes) >= FEW:
        weights = list(accumulate(length**2 for _, length in known))
        slope = slopes[bisect_left(weights, 0.5 * weights[-1])]
        if sum(abs(one - slope) <= NEAR for one in slopes) < AGREED * len(slopes):
            return 0.0
    return round(slope, 5) if LEVEL < abs(slope) <= STEEPEST else 0.0


def height_of(line: FoundLine) -> float:
    """Height of a detected line across its reading direction, in pixels: the shorter side of its quad."""
    x0, y0, x1, y1, *_ = line.quad
    return min(math.hypot(x1 - x0, y1 - y0), math.hypot(line.quad[6] - x0, line.quad[7] - y0))


def box_of(line: FoundLine) -> Box:
    """The upright box around a detected line, in pixels."""
    return [min(line.quad[0::2]), min(line.quad[1::2]), max(line.quad[0::2]), max(line.quad[1::2])]


def _length(quad: Sequence[float]) -> float:
    return math.hypot(
        max(abs(quad[2] - quad[0]), abs(quad[6] - quad[0])), max(abs(quad[3] - quad[1]), abs(quad[7] - quad[1]))
    )


def _slope(quad: Sequence[float]) -> float | None:
    """Of a long line by its upper edge, of a long column by its left one; none of what is neither."""
    x0, y0, x1, y1 = quad[:4]
    left, high = quad[6] - x0, quad[7] - y0
    if x1 - x0 > LONG * max(1.0, abs(high)):
        return (y1 - y0) / (x1 - x0)
    return -left / high if high > LONG * max(1.0, x1 - x0) else None


def build(
    boxes: Sequence[FoundBox],
    drawn: Drawn,
    pieces: Sequence[Piece],
    width: float,
    height: float,
    *,
    slope: float,
    scale: tuple[float, float],
    max_regions: int,
) -> list[Draft]:
    """`regions.build` for a page whose lines fall by `slope`; `scale` is pixels of the full picture, in which quads are, per page unit."""
    frame = Upright(slope, width, height)
    level = [msgspec.structs.replace(piece, line=_level(piece.line, frame, scale)) for piece in pieces]
    known = {id(upright.line): piece.line for upright, piece in zip(level, pieces, strict=True)}
    drafts = regions.build(
        [msgspec.structs.replace(box, bbox=frame.into(box.bbox)) for box in boxes],
        _drawn(drawn, frame),
        level,
        width,
        height,
        detected=True,
        max_regions=max_regions,
    )
    for draft in drafts:
        draft.lines = [known.get(id(line)) or _back(line, frame, scale) for line in draft.lines]
        upright = draft.bbox
        draft.bbox = clipped(frame.back(upright), width, height)
        if draft.label in HOLDS_TEXT and draft.lines:
            draft.bbox = hull(line.bbox for line in draft.lines)
        draft.inside = None if draft.inside is None else clipped(frame.back(draft.inside), width, height)
        if draft.grid is not None:
            draft.grid = _shifted(draft.grid, _step(upright, draft.bbox), slope)
    return drafts


def _level(line: TextLine, frame: Upright, scale: tuple[float, float]) -> TextLine:
    """The line with its upright box: exactly, where its corners are known."""
    if line.quad is None:
        return msgspec.structs.replace(line, bbox=_rounded(frame.into(line.bbox)))
    corners = [frame.point(line.quad[i] / scale[0], line.quad[i + 1] / scale[1]) for i in range(0, len(line.quad), 2)]
    return msgspec.structs.replace(line, bbox=_rounded(hull([x, y, x, y] for x, y in corners)))


def _back(line: TextLine, frame: Upright, scale: tuple[float, float]) -> TextLine:
    """A line that was cut in the upright frame."""
    if line.quad is None:
        return msgspec.structs.replace(line, bbox=_rounded(frame.back(line.bbox)))
    x, y = [value / scale[0] for value in line.quad[0::2]], [value / scale[1] for value in line.quad[1::2]]
    return msgspec.structs.replace(line, bbox=_rounded([min(x), min(y), max(x), max(y)]))


def _drawn(drawn: Drawn, frame: Upright) -> Drawn:
    return Drawn(
        seals=[frame.moved(box) for box in drawn.seals],
        ruled=[_upright_table(table, frame) for table in drawn.ruled],
        rules=[msgspec.structs.replace(rule, bbox=frame.moved(rule.bbox)) for rule in drawn.rules],
        filled=[msgspec.structs.replace(box, bbox=frame.into(box.bbox)) for box in drawn.filled],
        figures=[frame.into(box) for box in drawn.figures],
        widgets=[Widget(frame.into(one.bbox), one.checked) for one in drawn.widgets],
    )


def _upright_table(table: Ruled, frame: Upright) -> Ruled:
    """A drawn table, whose cells are upright already, about the middle of its box."""
    bbox = frame.into(table.bbox)
    return table._replace(bbox=bbox, grid=_shifted(table.grid, _step(table.bbox, bbox), 0.0))


def _step(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    return (after[0] + after[2] - before[0] - before[2]) / 2, (after[1] + after[3] - before[1] - before[3]) / 2


def _shifted(grid: Grid, step: tuple[float, float], slope: float) -> Grid:
    cells = [
        msgspec.structs.replace(
            cell,
            bbox=_rounded(
                [cell.bbox[0] + step[0], cell.bbox[1] + step[1], cell.bbox[2] + step[0], cell.bbox[3] + step[1]]
            ),
        )
        for cell in grid.cells
    ]
    return Grid(cells=cells, slope=slope)


def _rounded(box: Sequence[float]) -> Box:
    return [round(value, 2) for value in box]
