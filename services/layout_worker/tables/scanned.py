"""Tables of scans by their ruling lines: strokes that were found in the picture, without those that are parts of letters, as grids.

The picture knows no letters from rules, but the page's lines are known: a stroke that lies within a line of text is a part of it. What is
left has to hold most lines of a table that the network saw there; else that table stays without a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from services.layout_worker.boxes import Box, area, common, hull
from services.layout_worker.found import Strokes
from services.layout_worker.tables import ruled
from services.layout_worker.tables.cells import upright
from services.layout_worker.tables.ruled import Ruled
from shared.contracts.layout import Grid, GridCell, TextLine
from shared.documents.page import Rule

OF_TABLE = 0.7
"""Share of the lines of a table of the network that grids must hold, and of a grid in such a table from which it is asked."""
TALL = 1.3
"""Line heights up to which a stroke down, and the middle share of a line's height in which a stroke across, is one of letters."""
CORE = 0.7
LEAD, LOW = 1.5, 0.25
"""Line heights between words and the dots that lead from or to them, and below a line's box in which these may stand, at most."""
SEAL = 2.0
"""Page units by which a stamp's ink may reach out of its box."""
ROWS = 3
"""Rows spanned by a cell from which lines that keep to the rows are no accident."""


def grids(
    strokes: Sequence[Strokes],
    lines: Sequence[TextLine],
    scale: tuple[float, float],
    point: float,
    tables: Sequence[Box] = (),
    seals: Sequence[Box] = (),
) -> list[Ruled]:
    """Grids in page units. `scale` is pixels per page unit, `point` page units per point, `tables` are boxes of the network, `seals` those of
    stamps, whose rings and letters are no rules."""
    found: list[Ruled] = []
    for seen in strokes:
        found += _grids(_without_seals(seen, seals, scale), lines, scale, point, tables)
    return found


def rules(
    strokes: Sequence[Strokes], lines: Sequence[TextLine], scale: tuple[float, float], point: float
) -> list[Rule]:
    """Rules in page units, by their middles where the page is skewed: tables without a grid and fields of forms are told by them."""
    out = []
    for seen in strokes:
        about, boxes = _level(seen, lines, scale)
        for rule in _rules(seen, boxes, scale):
            x0, y0, x1, y1 = _back(rule.bbox, seen.slope, about)
            thin, x, y = 0.25 * point, (x0 + x1) / 2, (y0 + y1) / 2
            box = [x0, y - thin, x1, y + thin] if rule.horizontal else [x - thin, y0, x + thin, y1]
            out.append(Rule(bbox=box, horizontal=rule.horizontal))
    return out


def _without_seals(seen: Strokes, seals: Sequence[Box], scale: tuple[float, float]) -> Strokes:
    """The strokes that reach out of every stamp."""
    if not seals:
        return seen
    about = _in_units(seen.bbox, scale)
    boxes = [_grown(upright(seal, seen.slope, about), SEAL) for seal in seals]

    def kept(runs: Sequence[Box]) -> list[Box]:
        return [run for run in runs if not any(_is_in(_in_units(run, scale), box) for box in boxes)]

    return msgspec.structs.replace(seen, across=kept(seen.across), down=kept(seen.down), dots=kept(seen.dots))


def _grown(box: Box, by: float) -> Box:
    return [box[0] - by, box[1] - by, box[2] + by, box[3] + by]


def _is_in(inner: Box, outer: Box) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def _grids(
    seen: Strokes, lines: Sequence[TextLine], scale: tuple[float, float], point: float, tables: Sequence[Box]
) -> list[Ruled]:
    about, boxes = _level(seen, lines, scale)
    found = [
        drawing
        for drawing in ruled.grids(_rules(seen, boxes, scale), point)
        if not any(_lacks_walls(cell.bbox, _inner_edges(cell, drawing.grid), boxes) for cell in drawing.grid.cells)
    ]
    level = [upright(box, seen.slope, about) for box in tables]
    refuted = [box for box in level if not _explains(found, box, boxes)]
    return [
        _turned(drawing, seen.slope, about)
        for drawing in found
        if not any(common(drawing.bbox, box) > OF_TABLE * area(drawing.bbox) for box in refuted)
    ]


def _explains(found: Sequence[Ruled], table: Box, lines: Sequence[Box]) -> bool:
    """Whether the lines of a table of the network are those of grids: if not, the grids are a part of what is drawn there."""
    held = [line for line in lines if common(line, table) > 0.5 * area(line)]
    return sum(any(_holds(drawing.bbox, line) for drawing in found) for line in held) >= OF_TABLE * len(held)


def _level(seen: Strokes, lines: Sequence[TextLine], scale: tuple[float, float]) -> tuple[Box, list[Box]]:
    """The part of the page that was looked at, and its lines, turned upright about its middle."""
    about = _in_units(seen.bbox, scale)
    within = [line for line in lines if common(line.bbox, about) > 0.5 * area(line.bbox) and not line.vertical]
    return about, [upright(line.bbox, seen.slope, about) for line in within]


def _rules(seen: Strokes, lines: Sequence[Box], scale: tuple[float, float]) -> list[Rule]:
    """Strokes that are no parts of letters."""
    dots = [box for box in (_in_units(run, scale) for run in seen.dots) if not _leads(box, lines)]
    boxes = [(_in_units(run, scale), True) for run in seen.across] + [(box, True) for box in dots]
    boxes += [(_in_units(run, scale), False) for run in seen.down]
    return [Rule(bbox=box, horizontal=across) for box, across in boxes if not _in_letters(box, lines, across)]


def _back(box: Box, slope: float, about: Box) -> Box:
    """An upright box with its size, its middle where it is on the skewed page."""
    dx = -slope * ((box[1] + box[3]) / 2 - (about[1] + about[3]) / 2)
    dy = slope * ((box[0] + box[2]) / 2 - (about[0] + about[2]) / 2)
    return [box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy]


def _in_letters(rule: Box, lines: Sequence[Box], across: bool) -> bool:
    x0, y0, x1, y1 = rule
    for lx0, ly0, lx1, ly1 in lines:
        height = ly1 - ly0
        if across:
            edge = (1 - CORE) / 2 * height
            if lx0 - height <= x0 and x1 <= lx1 + height and ly0 + edge <= (y0 + y1) / 2 <= ly1 - edge:
                return True
        elif (
            lx0 - 0.2 * height <= (x0 + x1) / 2 <= lx1 + 0.2 * height
            and y1 - y0 <= TALL * height
            and min(y1, ly1) > max(y0, ly0)
        ):
            return True
    return False


def _leads(dots: Box, lines: Sequence[Box]) -> bool:
    """Whether a row of dots leads from words to others in their row, as in a table of contents; lines may hold the dots or leave them out."""
    x0, x1, y = dots[0], dots[2], (dots[1] + dots[3]) / 2
    begins = ends = False
    for left, top, right, bottom in lines:
        height = bottom - top
        if not top <= y <= bottom + LOW * height:
            continue
        begins = begins or left < x0 <= right + LEAD * height
        ends = ends or left - LEAD * height <= x1 <= right + LOW * height
    return begins and ends


def _inner_edges(cell: GridCell, grid: Grid) -> list[float]:
    """Where the rows that a cell spans meet, by the cells beside it."""
    starts = {other.row: other.bbox[1] for other in grid.cells}
    return [starts[row] for row in range(cell.row + 1, cell.row + cell.row_span) if row in starts]


def _lacks_walls(cell: Sequence[float], edges: Sequence[float], lines: Sequence[Box]) -> bool:
    """Whether the lines in a cell that spans several rows keep to these rows, at least `ROWS` of them: its walls were not seen.

    The text of one cell runs on over the places where its neighbours' rows meet.
    """
    if len(edges) + 1 < ROWS:
        return False
    held = [line for line in lines if _holds(cell, line)]
    crossed = any(
        line[1] + 0.3 * (line[3] - line[1]) < edge < line[3] - 0.3 * (line[3] - line[1])
        for line in held
        for edge in edges
    )
    bands = pairwise([cell[1], *edges, cell[3]])
    return not crossed and all(any(top <= (line[1] + line[3]) / 2 < bottom for line in held) for top, bottom in bands)


def _holds(grid: Sequence[float], line: Sequence[float]) -> bool:
    x, y = (line[0] + line[2]) / 2, (line[1] + line[3]) / 2
    return grid[0] <= x <= grid[2] and grid[1] <= y <= grid[3]


def _turned(drawing: Ruled, slope: float, about: Box) -> Ruled:
    """The grid on the skewed page: its box around where it stands, its cells turned about the middle of that box."""
    if not slope:
        return drawing
    x0, y0, x1, y1 = drawing.bbox
    middle = (about[0] + about[2]) / 2, (about[1] + about[3]) / 2
    corners = [
        (middle[0] + (x - middle[0]) - slope * (y - middle[1]), middle[1] + (y - middle[1]) + slope * (x - middle[0]))
        for x in (x0, x1)
        for y in (y0, y1)
    ]
    bbox = hull([x, y, x, y] for x, y in corners)
    dx = (bbox[0] + bbox[2] - x0 - x1) / 2
    dy = (bbox[1] + bbox[3] - y0 - y1) / 2
    cells = [
        msgspec.structs.replace(
            cell,
            bbox=[round(v, 2) for v in (cell.bbox[0] + dx, cell.bbox[1] + dy, cell.bbox[2] + dx, cell.bbox[3] + dy)],
        )
        for cell in drawing.grid.cells
    ]
    grid = msgspec.structs.replace(drawing.grid, cells=cells, slope=slope)
    return drawing._replace(bbox=bbox, grid=grid)


def _in_units(box: Sequence[float], scale: tuple[float, float]) -> Box:
    return [box[0] / scale[0], box[1] / scale[1], box[2] / scale[0], box[3] / scale[1]]
