"""Ink that nothing covers: no line, no picture, no seal. It is looked at again for text, and what then is left and large is a picture.

Works on the coarse map of `ink.ink_map`. Cells under what is known are cleared, what is left is grouped by nearness. Photographs and dirty
pages have ink everywhere: where it is more than `MOST_INK` of the page, or falls in too many pieces, nothing is made of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from services.layout_worker.boxes import Box, area, common, hull
from services.layout_worker.found import Look

INKED = 2
"""Inked pixels, of 16, from which a cell counts: a single one is dust."""
BLOCK = 2
"""Cells across a block; blocks that touch, also by a corner, are one cluster."""
GROWN = 1.0
"""Cells by which known boxes are grown: the map is that coarse, and accents stand over lines."""
LEAST_CELLS = 6
"""Inked cells of a cluster that is looked at."""
MOST_INK = 0.25
"""Share of the map's blocks from which the page is a picture itself."""
EDGE = 0.015
"""Share of a side, from each edge of the page, where ink is the scanner's."""
LEAST_SHARE = 0.003
"""Share of a picture's cells with ink: a diagram of thin lines has 0.02, paper with a page number 0.001."""
MOST_CLUSTERS = 200
PARTS = 6
"""Places of a page that are looked at again."""
PART_AREA = 0.3
"""Share of the page that they cover together, at most."""
FIGURE_SIDE, FIGURE_CELLS = 0.03, 30
"""Least side of a picture that only its ink shows, as a share of the page's long side (25 pt of A4), and its inked cells."""
ON_OTHERS = 0.3
"""Share of such a picture that other regions may cover."""


class Cluster(NamedTuple):
    """Ink that stands together; `bbox` in page units, `cells` of them inked."""

    bbox: Box
    cells: int


class Ink(NamedTuple):
    """The map, and page units across and down a cell."""

    cells: NDArray[np.uint8]
    across: float
    down: float


def ink_of(look: Look, scale: tuple[float, float]) -> Ink | None:
    """The map of what was seen at a glance; `scale` is pixels of the picture per page unit, x and y. None where there is no map."""
    if not look.ink_map or look.ink_columns <= 0:
        return None
    cells = np.frombuffer(look.ink_map, dtype=np.uint8).reshape(-1, look.ink_columns)
    return Ink(cells, look.ink_cell / scale[0], look.ink_cell / scale[1])


def clusters(ink: Ink, known: Iterable[Sequence[float]]) -> list[Cluster]:
    """Ink outside the known boxes (page units), top to bottom; empty where it is everywhere."""
    dense = ink.cells >= INKED
    rows, columns = dense.shape
    y, x = math.ceil(EDGE * rows), math.ceil(EDGE * columns)
    dense[:y], dense[rows - y :], dense[:, :x], dense[:, columns - x :] = False, False, False, False
    for x0, y0, x1, y1 in known:
        top, bottom = math.floor(y0 / ink.down - GROWN), math.ceil(y1 / ink.down + GROWN)
        left, right = math.floor(x0 / ink.across - GROWN), math.ceil(x1 / ink.across + GROWN)
        dense[max(0, top) : max(0, bottom), max(0, left) : max(0, right)] = False
    height, width = -(-rows // BLOCK), -(-columns // BLOCK)
    padded = np.zeros((height * BLOCK, width * BLOCK), dtype=np.uint8)
    padded[:rows, :columns] = dense
    counts = padded.reshape(height, BLOCK, width, BLOCK).sum(axis=(1, 3))
    if np.count_nonzero(counts) > MOST_INK * counts.size:
        return []
    found = []
    for blocks in _together(counts):
        cells = sum(int(counts[block]) for block in blocks)
        if cells >= LEAST_CELLS:
            ys, xs = [row for row, _ in blocks], [column for _, column in blocks]
            step_x, step_y = BLOCK * ink.across, BLOCK * ink.down
            found.append(
                Cluster([min(xs) * step_x, min(ys) * step_y, (max(xs) + 1) * step_x, (max(ys) + 1) * step_y], cells)
            )
    return sorted(found) if len(found) <= MOST_CLUSTERS else []


def is_empty(ink: Ink, box: Sequence[float], texts: Iterable[Sequence[float]] = ()) -> bool:
    """Whether a box (page units) is bare paper beside known texts: fewer of its cells than `LEAST_SHARE` have ink."""
    top, left = max(0, math.floor(box[1] / ink.down)), max(0, math.floor(box[0] / ink.across))
    part = ink.cells[top : math.ceil(box[3] / ink.down), left : math.ceil(box[2] / ink.across)] >= INKED
    if not part.size:
        return False
    for x0, y0, x1, y1 in (text for text in texts if common(text, box) > 0):
        rows = slice(max(0, math.floor(y0 / ink.down) - top), max(0, math.ceil(y1 / ink.down) - top))
        part[rows, max(0, math.floor(x0 / ink.across) - left) : max(0, math.ceil(x1 / ink.across) - left)] = False
    return float(part.mean()) < LEAST_SHARE


def inked(ink: Ink, box: Box) -> Box:
    """The part of a box (page units) that holds ink, to the next cell; all of it where there is none."""
    top, left = math.floor(box[1] / ink.down), math.floor(box[0] / ink.across)
    part = ink.cells[max(0, top) : math.ceil(box[3] / ink.down), max(0, left) : math.ceil(box[2] / ink.across)] >= INKED
    rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    if not len(rows):
        return list(box)
    return [
        max(box[0], (max(0, left) + int(columns[0])) * ink.across),
        max(box[1], (max(0, top) + int(rows[0])) * ink.down),
        min(box[2], (max(0, left) + int(columns[-1]) + 1) * ink.across),
        min(box[3], (max(0, top) + int(rows[-1]) + 1) * ink.down),
    ]


def _together(counts: NDArray[np.int64]) -> list[list[tuple[int, int]]]:
    """Blocks with ink that touch."""
    left = {(int(row), int(column)) for row, column in np.argwhere(counts)}
    groups = []
    while left:
        group = [left.pop()]
        for row, column in group:
            for near in ((row + dy, column + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)):
                if near in left:
                    left.remove(near)
                    group.append(near)
        groups.append(sorted(group))
    return sorted(groups)


def parts(found: Sequence[Cluster], width: float, height: float, margin: float) -> list[Box]:
    """Where to look for lines again: boxes around clusters, grown by `margin` page units; the largest first, those that meet joined."""
    boxes: list[Box] = []
    for cluster in sorted(found, key=lambda c: (-c.cells, c.bbox)):
        x0, y0, x1, y1 = cluster.bbox
        box = [max(0.0, x0 - margin), max(0.0, y0 - margin), min(width, x1 + margin), min(height, y1 + margin)]
        met = [other for other in boxes if common(other, box) > 0]
        joined = hull([box, *met])
        rest = [other for other in boxes if other not in met]
        if len(rest) < PARTS and sum(map(area, rest)) + area(joined) <= PART_AREA * width * height:
            boxes = [*rest, joined]
    return sorted(boxes, key=lambda b: (b[1], b[0], b[3], b[2]))


def figures(found: Sequence[Cluster], others: Sequence[Box], width: float, height: float) -> list[Box]:
    """Clusters that are large enough to be pictures and stand by themselves."""
    least = FIGURE_SIDE * max(width, height)
    return [
        cluster.bbox
        for cluster in found
        if cluster.cells >= FIGURE_CELLS
        and min(cluster.bbox[2] - cluster.bbox[0], cluster.bbox[3] - cluster.bbox[1]) >= least
        and sum(common(cluster.bbox, other) for other in others) <= ON_OTHERS * area(cluster.bbox)
    ]
