"""Ruling lines and filled boxes of a page, as tables, frames and separators are made of them.

A line may be drawn as a stroke, as a thin filled box, cell by cell, or twice; what comes out are the lines that an eye sees: parts of one
line joined, clipped as they are painted, white ones left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from shared.documents.frame import Frame
from shared.documents.page import FilledBox, Rule

THIN = 3.0
"""Points: a filled box no thicker than this is a line."""
MIN_RULE = 6.0
"""Points: shorter lines are ticks, dashes and parts of letters."""
MAX_RULES = 5_000
"""Rules, and filled boxes, of one page: a page of 100 x 50 cells drawn cell by cell has 150 rules after joining."""
_GAP = 2.0
"""Points between two parts of one line: corners that do not quite meet, dots of a dotted line."""
_BESIDE = 0.75
"""Points between the edges of two parallel lines that are one: a thin frame drawn by its outline. Double rules are further apart."""
_SLANT = 0.5
"""Points by which the ends of a straight line may differ: rounding of writers."""

Rect = tuple[float, float, float, float]


def rules_of(drawings: Iterable[dict[str, Any]], frame: Frame, most: int) -> list[Rule]:
    """Displayed horizontal and vertical lines, joined, sorted by place; at most `MAX_RULES`, from the first `most` segments.

    `drawings` are PyMuPDF's, unrotated, each with its `clip` (a box, or none).
    """
    upright: list[Rect] = []
    lying: list[Rect] = []
    segments = (
        (rect, drawing.get("clip")) for drawing in drawings if not is_white(drawing) for rect in lines_of(drawing)
    )
    for rect, clip in islice(segments, most):
        x0, y0, x1, y1 = frame.clipped(frame.box(_within(rect, clip)))
        if x0 < x1 and y0 < y1 and min(x1 - x0, y1 - y0) <= THIN:
            if x1 - x0 >= y1 - y0:
                lying.append((x0, y0, x1, y1))
            else:
                upright.append((y0, x0, y1, x1))
    rules = [Rule(bbox=list(rect), horizontal=True) for rect in _joined(lying)]
    rules += [Rule(bbox=[x0, y0, x1, y1], horizontal=False) for y0, x0, y1, x1 in _joined(upright)]
    return sorted(rules, key=lambda rule: (rule.bbox[1], rule.bbox[0], rule.bbox[3], rule.bbox[2]))[:MAX_RULES]


def filled_boxes_of(drawings: Iterable[dict[str, Any]], frame: Frame) -> list[FilledBox]:
    """Displayed boxes that are painted in one opaque colour other than white, in painting order, each once."""
    boxes: dict[tuple[float, ...], FilledBox] = {}
    for drawing in drawings:
        if len(boxes) >= MAX_RULES:
            break
        if not is_solid_box(drawing) or min(drawing["fill"]) >= 0.98:
            continue
        bbox = frame.clipped(frame.box(_within(drawing["rect"], drawing.get("clip"))))
        if min(bbox[2] - bbox[0], bbox[3] - bbox[1]) > THIN:
            colour = "#" + "".join(f"{round(min(max(part, 0.0), 1.0) * 255):02x}" for part in drawing["fill"])
            boxes[tuple(bbox)] = FilledBox(bbox=bbox, color=colour)
    return list(boxes.values())


def lines_of(drawing: dict[str, Any]) -> Iterator[Rect]:
    """Thin boxes around the straight, upright strokes and thin fills of a path."""
    stroked = "s" in drawing["type"]
    half = max(drawing.get("width") or 0.0, 0.2) / 2 if stroked else 0.0
    if not stroked:
        x0, y0, x1, y1 = drawing["rect"]
        if min(x1 - x0, y1 - y0) <= THIN:
            yield from filter(_is_finite, [_thick(x0, y0, x1, y1)])
            return
    for item in drawing["items"]:
        yield from filter(_is_finite, _lines_of_item(item, half, stroked))


def _lines_of_item(item: Sequence[Any], half: float, stroked: bool) -> Iterator[Rect]:
    if item[0] == "re":
        x0, y0, x1, y1 = item[1]
        if min(x1 - x0, y1 - y0) <= THIN:
            yield _thick(x0 - half, y0 - half, x1 + half, y1 + half)
        elif stroked:
            yield x0 - half, y0 - half, x1 + half, y0 + half
            yield x0 - half, y1 - half, x1 + half, y1 + half
            yield x0 - half, y0 - half, x0 + half, y1 + half
            yield x1 - half, y0 - half, x1 + half, y1 + half
    elif item[0] == "l" and stroked:
        (ax, ay), (bx, by) = item[1], item[2]
        if abs(ax - bx) < _SLANT or abs(ay - by) < _SLANT:
            yield min(ax, bx) - half, min(ay, by) - half, max(ax, bx) + half, max(ay, by) + half


def _thick(x0: float, y0: float, x1: float, y1: float) -> Rect:
    """A box without any thickness is still painted, as thin as the device can."""
    dx, dy = (0.1 if x1 - x0 < 0.2 else 0.0), (0.1 if y1 - y0 < 0.2 else 0.0)
    return x0 - dx, y0 - dy, x1 + dx, y1 + dy


def _joined(rects: list[Rect]) -> Iterator[Rect]:
    """Lying lines, those that go on each other joined; shorter ones than `MIN_RULE` left out afterwards."""
    rects.sort(key=lambda r: (r[1], r[0], r[3], r[2]))
    band: list[Rect] = []
    bottom = -math.inf
    for rect in rects:
        if band and rect[1] > bottom + _BESIDE:
            yield from _joined_in_band(band)
            band, bottom = [], -math.inf
        band.append(rect)
        # A band may not creep down over a hatching of fine lines.
        bottom = max(bottom, rect[3]) if len(band) == 1 or rect[3] - band[0][1] <= THIN else bottom
    if band:
        yield from _joined_in_band(band)


def _joined_in_band(band: list[Rect]) -> Iterator[Rect]:
    band.sort()
    x0, y0, x1, y1 = band[0]
    for a0, b0, a1, b1 in band[1:]:
        if a0 <= x1 + _GAP:
            x1, y0, y1 = max(x1, a1), min(y0, b0), max(y1, b1)
            continue
        if x1 - x0 >= MIN_RULE:
            yield x0, y0, x1, y1
        x0, y0, x1, y1 = a0, b0, a1, b1
    if x1 - x0 >= MIN_RULE:
        yield x0, y0, x1, y1


def _within(rect: Sequence[float], clip: Sequence[float] | None) -> Sequence[float]:
    if clip is None:
        return rect
    x0, y0 = max(rect[0], clip[0]), max(rect[1], clip[1])
    return x0, y0, max(x0, min(rect[2], clip[2])), max(y0, min(rect[3], clip[3]))


def is_solid_box(drawing: dict[str, Any]) -> bool:
    """Whether a fill paints all of its bounding box, opaquely: one rectangle, or the four lines of one."""
    if drawing.get("fill") is None or (drawing.get("fill_opacity") or 0.0) < 0.99:
        return False
    items = drawing["items"]
    if len(items) == 1 and items[0][0] == "re":
        return True
    if len(items) in (3, 4) and all(item[0] == "l" for item in items):
        corners = {(round(x, 1), round(y, 1)) for item in items for x, y in item[1:3]}
        return len(corners) == 4 and len({x for x, _ in corners}) == 2 and len({y for _, y in corners}) == 2
    return False


def is_white(drawing: dict[str, Any]) -> bool:
    used = [
        drawing.get("fill") if "f" in drawing["type"] else None,
        drawing.get("color") if "s" in drawing["type"] else None,
    ]
    colours = [colour for colour in used if colour is not None]
    return bool(colours) and all(min(colour) >= 0.98 for colour in colours)


def _is_finite(rect: Sequence[float]) -> bool:
    """Hostile matrices give boxes that are not numbers."""
    return all(map(math.isfinite, rect))
