"""Rectangles of a page: `[x0, y0, x1, y1]`, origin top left, any unit as long as it is one.

Plain arithmetic on lists, because that is how boxes travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Box = list[float]


def area(box: Sequence[float]) -> float:
    """0 for an empty or turned-round box."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def common(a: Sequence[float], b: Sequence[float]) -> float:
    """Area that both cover."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def share_inside(inner: Sequence[float], outer: Sequence[float]) -> float:
    """Share of `inner`'s area that lies in `outer`, 0..1; a box without area counts by its centre."""
    if (whole := area(inner)) > 0:
        return common(inner, outer) / whole
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return float(outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3])


def iou(a: Sequence[float], b: Sequence[float]) -> float:
    """Intersection over union, 0..1."""
    both = common(a, b)
    return both / (area(a) + area(b) - both) if both > 0 else 0.0


def hull(boxes: Iterable[Sequence[float]]) -> Box:
    """Smallest box around all; raises `ValueError` when there is none."""
    columns = list(zip(*boxes, strict=True))
    if not columns:
        raise ValueError("no boxes")
    return [min(columns[0]), min(columns[1]), max(columns[2]), max(columns[3])]


def clipped(box: Sequence[float], width: float, height: float) -> Box:
    """The part of a box that lies on a page of this size."""
    x0, x1 = min(max(box[0], 0.0), width), min(max(box[2], 0.0), width)
    y0, y1 = min(max(box[1], 0.0), height), min(max(box[3], 0.0), height)
    return [x0, y0, max(x0, x1), max(y0, y1)]


def grown(box: Sequence[float], margin: float, width: float, height: float) -> Box:
    """The box with this much more on all sides, as far as the page reaches."""
    return clipped([box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin], width, height)


def merged(boxes: Iterable[Sequence[float]]) -> list[Box]:
    """Boxes that lie apart: those that overlap, also once they were joined, become one. Top to bottom, then left to right."""
    apart: list[Box] = []
    for box in boxes:
        one = list(box)
        while near := [other for other in apart if common(one, other) > 0]:
            apart = [other for other in apart if not any(other is gone for gone in near)]
            one = hull([one, *near])
        apart.append(one)
    return sorted(apart, key=lambda b: (b[1], b[0], b[3], b[2]))


def overlap(a0: float, a1: float, b0: float, b1: float) -> float:
    """Length that two intervals share; negative is the gap between them."""
    return min(a1, b1) - max(a0, b0)
