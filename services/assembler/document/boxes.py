"""Arithmetic of boxes `[x0, y0, x1, y1]`, in the units of their page, origin top left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shared.contracts.document import rounded

Box = Sequence[float]


def union(boxes: Iterable[Box]) -> list[float]:
    """The smallest box that holds all; there must be at least one."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return [min(x0), min(y0), max(x1), max(y1)]


def clipped(box: Box, width: float, height: float) -> list[float]:
    """The part of a box inside a page of that size, corners in order, two decimals."""
    x0, x1 = sorted((min(max(box[0], 0.0), width), min(max(box[2], 0.0), width)))
    y0, y1 = sorted((min(max(box[1], 0.0), height), min(max(box[3], 0.0), height)))
    return [rounded(x0), rounded(y0), rounded(x1), rounded(y1)]


def overlap(a0: float, a1: float, b0: float, b1: float) -> float:
    """Length that two intervals share, 0 where they are apart."""
    return max(0.0, min(a1, b1) - max(a0, b0))


def shared_area(a: Box, b: Box) -> float:
    """Area of the intersection as a share (0..1) of the smaller box; 0 where either has no area."""
    area = overlap(a[0], a[2], b[0], b[2]) * overlap(a[1], a[3], b[1], b[3])
    smaller = min((a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1]))
    return area / smaller if smaller > 0 else 0.0


def merged(intervals: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Union of intervals as disjoint ones, in order."""
    out: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def common_length(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> float:
    """Length that two lists of disjoint, ordered intervals share."""
    total, i, j = 0.0, 0, 0
    while i < len(a) and j < len(b):
        total += overlap(*a[i], *b[j])
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total
