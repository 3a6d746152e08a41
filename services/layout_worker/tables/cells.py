"""Lines of a ruled table, cut where they run through a wall: one line for two cells is one thing only to whoever cannot see the rule.

A detected line is cut at the wall's place. Text of the page itself is split by the width of its characters, at a blank where one is
near; where there is none it stays whole and belongs to the cell of its middle.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from shared.contracts.layout import Grid, TextLine

REACH = 0.6
"""Line heights that a line must reach over a wall on both sides to be cut: the detector's boxes are wider than the letters."""
NEAR = 3
"""Characters around a wall in which a blank is looked for."""


def cut(lines: Sequence[TextLine], grid: Grid, bbox: Sequence[float]) -> list[TextLine]:
    """The lines, those that cross walls in parts, in the order given. `bbox` is the table's, about whose middle a skewed grid turns."""
    return [part for line in lines for part in _parts(line, grid, bbox)]


def at_gaps(line: TextLine, gaps: Sequence[Sequence[float]]) -> list[TextLine]:
    """A detected line in parts, without the white between them. `gaps` are shares `[begin, end]` of its length, left to right."""
    if not gaps or line.quad is None or line.vertical:
        return [line]
    ends = [0.0, *(share for gap in gaps for share in gap), 1.0]
    return [_part(line, begin, end) for begin, end in zip(ends[::2], ends[1::2], strict=True)]


def upright(box: Sequence[float], slope: float, bbox: Sequence[float]) -> list[float]:
    """The box of a line in a table whose rows fall by `slope`, as it is when the table is turned upright about the middle of `bbox`."""
    x0, y0, x1, y1 = box
    x, y = (x0 + x1) / 2 - (bbox[0] + bbox[2]) / 2, (y0 + y1) / 2 - (bbox[1] + bbox[3]) / 2
    dx, dy = slope * y, -slope * x
    thinner = min(abs(slope) * (x1 - x0), 0.5 * (y1 - y0)) / 2
    return [x0 + dx, y0 + dy + thinner, x1 + dx, y1 + dy - thinner]


def _parts(line: TextLine, grid: Grid, bbox: Sequence[float]) -> list[TextLine]:
    if line.vertical or line.angle:
        return [line]
    x0, y0, x1, y1 = upright(line.bbox, grid.slope, bbox)
    middle, height = (y0 + y1) / 2, y1 - y0
    row = [cell.bbox[0] for cell in grid.cells if cell.bbox[1] <= middle < cell.bbox[3]]
    shares = sorted({(x - x0) / (x1 - x0) for x in row if x0 + REACH * height < x < x1 - REACH * height})
    if not shares:
        return [line]
    return _cut_text(line, shares) if line.text is not None else _cut_quad(line, shares)


def _cut_quad(line: TextLine, shares: Sequence[float]) -> list[TextLine]:
    if line.quad is None:
        return [line]
    return [_part(line, begin, end) for begin, end in pairwise([0.0, *shares, 1.0])]


def _part(line: TextLine, begin: float, end: float) -> TextLine:
    """The part of a line with a quad between two shares of its length."""
    x0, y0, x1, y1 = line.bbox
    assert line.quad is not None
    return msgspec.structs.replace(
        line,
        bbox=[round(x0 + begin * (x1 - x0), 2), y0, round(x0 + end * (x1 - x0), 2), y1],
        quad=_between(line.quad, begin, end),
    )


def _between(quad: Sequence[float], begin: float, end: float) -> list[float]:
    """The part of a quad between two shares of its length."""
    tx0, ty0, tx1, ty1, bx1, by1, bx0, by0 = quad

    def at(a: float, b: float, share: float) -> float:
        return round(a + (b - a) * share, 1)

    return [
        *(at(tx0, tx1, begin), at(ty0, ty1, begin), at(tx0, tx1, end), at(ty0, ty1, end)),
        *(at(bx0, bx1, end), at(by0, by1, end), at(bx0, bx1, begin), at(by0, by1, begin)),
    ]


def _cut_text(line: TextLine, shares: Sequence[float]) -> list[TextLine]:
    x0, y0, x1, y1 = line.bbox
    text = line.text or ""
    widths = [2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text]
    parts: list[TextLine] = []
    begin, left = 0, x0
    for share in shares:
        index = _blank_near(text, widths, share * sum(widths))
        if index is None or not text[begin:index].strip():
            continue
        wall = round(x0 + share * (x1 - x0), 2)
        parts.append(msgspec.structs.replace(line, bbox=[left, y0, wall, y1], text=text[begin:index].strip()))
        begin, left = index + 1, wall
    if rest := text[begin:].strip():
        parts.append(msgspec.structs.replace(line, bbox=[left, y0, x1, y1], text=rest))
    return parts or [line]


def _blank_near(text: str, widths: Sequence[int], target: float) -> int | None:
    seen, index = 0.0, 0
    while index < len(text) and seen + widths[index] / 2 < target:
        seen += widths[index]
        index += 1
    near = [i for i in range(max(1, index - NEAR), min(len(text), index + NEAR + 1)) if text[i].isspace()]
    return min(near, key=lambda i: (abs(i - index), i)) if near else None
