"""Native lines against detected ones: what the page's own text already gives is not read a second time.

A detected line that trusted text covers is dropped; one that it covers in part (a printed word and a stamped date in one row, which the
detector saw as one line) keeps only the uncovered stretch. Untrusted text that the detector overlooked is read at its own place, so
nothing visible is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from services.layout_worker.boxes import area, common, overlap, share_inside
from services.layout_worker.found import FoundLine
from services.layout_worker.regions.drafts import Piece
from shared.contracts.layout import TextLine
from shared.contracts.turned import LINE_HEIGHT, Turned

COVERED = 0.6
"""Share of a detected line under trusted text from which there is nothing left to read."""
STRETCH = 1.5
"""Uncovered stretch that is worth reading, in line heights; the detector's boxes are wider than the letters by about half a height."""
FLAT = 0.15
"""Slope of a line's upper edge up to which it is cut like a rectangle."""
_STEPS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Where a quad is probed, along and across."""


def unread(found: Sequence[FoundLine], trusted: Sequence[TextLine], scale_x: float, scale_y: float) -> list[Piece]:
    """Detected lines (pixels) as lines in page units, without what `trusted` covers. `scale_*` are pixels per page unit."""
    pieces: list[Piece] = []
    across = [t for t in trusted if t.angle % 90]
    along = [t for t in trusted if not t.angle % 90]
    for line in found:
        bbox = _bbox(line.quad, scale_x, scale_y)
        if any(_lies_on(line.quad, t, scale_x, scale_y) for t in across):
            continue
        near = [t.bbox for t in along if common(t.bbox, bbox) > 0]
        if not near:
            pieces.append(Piece(_line(line, line.quad, scale_x, scale_y), line.red, line.gaps))
            continue
        if sum(common(t, bbox) for t in near) >= COVERED * area(bbox) or any(
            share_inside(bbox, t) > COVERED for t in near
        ):
            continue
        pieces.extend(
            Piece(_line(line, quad, scale_x, scale_y), line.red) for quad in _uncovered(line.quad, bbox, near, scale_x)
        )
    return pieces


def _lies_on(quad: Sequence[float], own: TextLine, scale_x: float, scale_y: float) -> bool:
    """Whether most of a detected line lies on text that runs across the page, whose box is mostly paper and what else stands there."""
    frame = Turned(own.angle, 0.0, 0.0)
    x0, y0, x1, y1 = frame.into(own.bbox, LINE_HEIGHT * (own.font_size or 0.0))
    corners = [frame.into([x / scale_x, y / scale_y] * 2) for x, y in zip(quad[0::2], quad[1::2], strict=True)]
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = (corner[:2] for corner in corners)
    inside = 0
    for u, v in product(_STEPS, _STEPS):
        x = (1 - v) * ((1 - u) * ax + u * bx) + v * ((1 - u) * dx + u * cx)
        y = (1 - v) * ((1 - u) * ay + u * by) + v * ((1 - u) * dy + u * cy)
        inside += x0 <= x <= x1 and y0 <= y <= y1
    return inside >= COVERED * len(_STEPS) ** 2


SUPPORTED = 0.3
"""Share of a layer's line under detected lines from which the picture shows it: detected boxes are lower than those of fonts."""


def supported(
    layer: Sequence[TextLine], found: Sequence[FoundLine], scale_x: float, scale_y: float
) -> tuple[list[TextLine], list[TextLine]]:
    """Lines of a text layer that stand on a detected line, and those that stand on nothing: nobody sees these."""
    boxes = [_bbox(line.quad, scale_x, scale_y) for line in found]
    shown: list[TextLine] = []
    alone: list[TextLine] = []
    for line in layer:
        covered = sum(common(line.bbox, box) for box in boxes)
        (shown if covered >= SUPPORTED * area(line.bbox) else alone).append(line)
    return shown, alone


def overlooked(untrusted: Sequence[TextLine], pieces: Sequence[Piece], scale_x: float, scale_y: float) -> list[Piece]:
    """Visible lines with unusable text that no detected line touches, to be read where they stand."""
    missing: list[Piece] = []
    for line in untrusted:
        seen = sum(common(line.bbox, piece.line.bbox) for piece in pieces)
        if seen < 0.3 * area(line.bbox):
            x0, x1 = line.bbox[0] * scale_x, line.bbox[2] * scale_x
            y0, y1 = line.bbox[1] * scale_y, line.bbox[3] * scale_y
            quad = [round(v, 1) for v in (x0, y0, x1, y0, x1, y1, x0, y1)]
            missing.append(Piece(TextLine(bbox=line.bbox, quad=quad, vertical=line.vertical, font_size=line.font_size)))
    return missing


def _bbox(quad: Sequence[float], scale_x: float, scale_y: float) -> list[float]:
    xs, ys = quad[0::2], quad[1::2]
    return [min(xs) / scale_x, min(ys) / scale_y, max(xs) / scale_x, max(ys) / scale_y]


def _line(line: FoundLine, quad: Sequence[float], scale_x: float, scale_y: float) -> TextLine:
    bbox = _bbox(quad, scale_x, scale_y)
    return TextLine(
        bbox=[round(v, 2) for v in bbox],
        quad=[round(v, 1) for v in quad],
        confidence=round(line.score, 4),
        vertical=is_vertical(bbox),
    )


VERTICAL = 1.8
"""A box taller than this many widths holds a column of characters, or a line turned by 90 degrees."""


def is_vertical(bbox: Sequence[float]) -> bool:
    return bbox[3] - bbox[1] > VERTICAL * (bbox[2] - bbox[0])


def _uncovered(
    quad: Sequence[float], bbox: Sequence[float], near: Sequence[Sequence[float]], scale_x: float
) -> list[list[float]]:
    """Stretches of a flat line that no trusted line covers, as quads in pixels; the whole quad where it can't be cut."""
    width, height = quad[2] - quad[0], quad[7] - quad[1]
    if width <= 0 or height <= 0 or abs(quad[3] - quad[1]) > FLAT * width:
        return [list(quad)]
    edges = [bbox[0]]
    for x0, _, x1, _ in sorted(
        list(t) for t in near if overlap(t[1], t[3], bbox[1], bbox[3]) > 0.4 * (bbox[3] - bbox[1])
    ):
        edges += [x0, x1]
    edges.append(bbox[2])
    stretches, reached = [], edges[0]
    for start, end in zip(edges[0::2], edges[1::2], strict=True):
        if end - max(start, reached) >= STRETCH * (bbox[3] - bbox[1]):
            stretches.append((max(start, reached), end))
        reached = max(reached, end)
    return [_cut(quad, x0 * scale_x, x1 * scale_x) for x0, x1 in stretches]


def _cut(quad: Sequence[float], x0: float, x1: float) -> list[float]:
    """The part of a flat quad between two abscissas."""

    def at(ax: float, ay: float, bx: float, by: float, x: float) -> float:
        return ay + (by - ay) * (x - ax) / (bx - ax) if bx != ax else ay

    tx0, ty0, tx1, ty1, bx1, by1, bx0, by0 = quad
    left, right = max(x0, min(tx0, bx0)), min(x1, max(tx1, bx1))
    top = (at(tx0, ty0, tx1, ty1, left), at(tx0, ty0, tx1, ty1, right))
    bottom = (at(bx0, by0, bx1, by1, left), at(bx0, by0, bx1, by1, right))
    return [left, top[0], right, top[1], right, bottom[1], left, bottom[0]]
