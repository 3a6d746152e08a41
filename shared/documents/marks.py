"""What is painted on a page beside text: images, filled areas, ruling lines, and how much of the page they cover.

The order of painting is kept (`sequence`), because it decides what hides what; text.py asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pymupdf
from numpy.typing import NDArray

from shared.documents.frame import Frame
from shared.documents.page import Rule

MAX_DRAWINGS = 50_000
"""A page with more painted items is a map or a plot: its drawings are not looked at one by one."""
_MAX_RULES = 5_000
_THIN = 3.0
"""Points: a filled box no thicker than this is a line."""
_MIN_RULE = 6.0
"""Points: shorter lines are ticks, dashes and parts of letters."""
_MIN_IMAGE = 8.0
"""Points: smaller pictures are bullets, icons or glyphs."""
_GRID = 128
"""Cells per side of the grid that coverage is counted on."""


class Marks:
    """Painted areas of one page, unrotated; arrays are parallel and in painting order.

    `rects` is float64 [n, 4]; `colours` float64 [n, 3] in 0..1, NaN where it is not one colour; `solid` says that the mark
    paints all of its rectangle opaquely; `is_image` what it is. Strokes and thin fills are not among them.
    """

    def __init__(self, page: Any, width: float, height: float) -> None:
        """Look at a `pymupdf.Page` whose rotation is 0, of this size in points. Raises what MuPDF raises."""
        self._size = (width, height)
        log = page.get_bboxlog()
        painted = [kind for kind, _ in log if kind != "ignore-text"]
        self.nothing = not painted
        """Nothing is painted at all."""
        self.many = len(log) > MAX_DRAWINGS
        """There is too much to look at it one by one."""
        self.infos: list[dict[str, Any]] = page.get_image_info() if "fill-image" in painted else []
        """PyMuPDF's facts about the images (size, transform, colour space, mask)."""
        self.ends_with_image = bool(painted) and painted[-1] == "fill-image"
        drawings: list[dict[str, Any]] = [] if self.many else page.get_cdrawings()
        drawings = [one for one in drawings if _is_finite(one["rect"])]
        self._drawings = drawings
        opaque_images = [info["bbox"] for info in self.infos if not info.get("has-mask")]
        by_sequence = {one["seqno"]: one for one in drawings}
        rows: list[tuple[int, Sequence[float], Sequence[float] | None, bool, bool]] = []
        self.images: list[Sequence[float]] = []
        for sequence, (kind, rect) in enumerate(log):
            if not _is_finite(rect):
                continue
            if kind in ("fill-image", "fill-imgmask"):
                self.images.append(rect)
                opaque = kind == "fill-image" and any(_near(rect, one) for one in opaque_images)
                rows.append((sequence, rect, None, opaque, True))
            elif kind == "fill-path" and min(rect[2] - rect[0], rect[3] - rect[1]) > _THIN:
                drawing = by_sequence.get(sequence)
                colour = drawing.get("fill") if drawing else None
                rows.append((sequence, rect, colour, drawing is not None and _is_solid_box(drawing), False))
            elif kind == "fill-shade":
                rows.append((sequence, rect, None, False, False))
        self.sequence: NDArray[np.int64] = np.array([row[0] for row in rows], dtype=np.int64)
        self.rects: NDArray[np.float64] = np.array([row[1] for row in rows], dtype=np.float64).reshape(-1, 4)
        self.colours: NDArray[np.float64] = np.array(
            [row[2] if row[2] is not None and len(row[2]) == 3 else (np.nan,) * 3 for row in rows], dtype=np.float64
        ).reshape(-1, 3)
        self.solid: NDArray[np.bool_] = np.array([row[3] for row in rows], dtype=bool)
        self.is_image: NDArray[np.bool_] = np.array([row[4] for row in rows], dtype=bool)

    @property
    def image_coverage(self) -> float:
        """Share of the page that images touch, 0..1."""
        return _coverage(self.images, self._size)

    @property
    def drawn_coverage(self) -> float:
        """Share of the page that drawings other than white ones touch, 0..1."""
        if self.many:
            return 1.0
        return _coverage([one["rect"] for one in self._drawings if not _is_white(one)], self._size)

    def image_boxes(self, frame: Frame) -> list[list[float]]:
        """Displayed boxes of the images that are large enough to show something, clipped to the page, each once."""
        boxes = {tuple(frame.clipped(frame.box(rect))) for rect in self.images}
        return [list(b) for b in sorted(boxes) if b[2] - b[0] >= _MIN_IMAGE and b[3] - b[1] >= _MIN_IMAGE][:_MAX_RULES]

    def rules(self, frame: Frame) -> list[Rule]:
        """Displayed horizontal and vertical lines, in painting order, at most 5,000, white ones left out."""
        rules: list[Rule] = []
        for drawing in self._drawings:
            if _is_white(drawing):
                continue
            for rect in filter(_is_finite, _lines_of(drawing)):
                box = frame.clipped(frame.box(rect))
                width, height = box[2] - box[0], box[3] - box[1]
                if max(width, height) >= _MIN_RULE and min(width, height) <= _THIN:
                    rules.append(Rule(bbox=box, horizontal=width >= height))
            if len(rules) >= _MAX_RULES:
                return rules[:_MAX_RULES]
        return rules


def _lines_of(drawing: dict[str, Any]) -> Iterable[tuple[float, float, float, float]]:
    """Thin boxes around the straight, upright strokes and thin fills of a path."""
    stroked = "s" in drawing["type"]
    half = max(drawing.get("width") or 0.0, 0.2) / 2 if stroked else 0.0
    if not stroked:
        x0, y0, x1, y1 = drawing["rect"]
        if min(x1 - x0, y1 - y0) <= _THIN:
            yield x0, y0, x1, y1
            return
    for item in drawing["items"]:
        if item[0] == "re":
            x0, y0, x1, y1 = item[1]
            if min(x1 - x0, y1 - y0) <= _THIN:
                yield x0 - half, y0 - half, x1 + half, y1 + half
            elif stroked:
                yield x0 - half, y0 - half, x1 + half, y0 + half
                yield x0 - half, y1 - half, x1 + half, y1 + half
                yield x0 - half, y0 - half, x0 + half, y1 + half
                yield x1 - half, y0 - half, x1 + half, y1 + half
        elif item[0] == "l" and stroked:
            (ax, ay), (bx, by) = item[1], item[2]
            if abs(ax - bx) < 0.5 or abs(ay - by) < 0.5:
                yield min(ax, bx) - half, min(ay, by) - half, max(ax, bx) + half, max(ay, by) + half


def _is_solid_box(drawing: dict[str, Any]) -> bool:
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


def _is_white(drawing: dict[str, Any]) -> bool:
    used = [
        drawing.get("fill") if "f" in drawing["type"] else None,
        drawing.get("color") if "s" in drawing["type"] else None,
    ]
    colours = [colour for colour in used if colour is not None]
    return bool(colours) and all(min(colour) >= 0.98 for colour in colours)


def _is_finite(rect: Sequence[float]) -> bool:
    """Hostile matrices give boxes that are not numbers."""
    return all(map(math.isfinite, rect))


def _near(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(a - b) < 1.0 for a, b in zip(one, other, strict=True))


def _coverage(rects: Iterable[Sequence[float]], size: tuple[float, float]) -> float:
    """Share of a grid's cells whose centre is in one of the rectangles."""
    covered = np.zeros((_GRID, _GRID), dtype=bool)
    sx, sy = _GRID / max(size[0], 1e-6), _GRID / max(size[1], 1e-6)
    for x0, y0, x1, y1 in rects:
        left, right = (math.ceil(min(max(v * sx, 0.0), _GRID) - 0.5) for v in (x0, x1))
        top, bottom = (math.ceil(min(max(v * sy, 0.0), _GRID) - 0.5) for v in (y0, y1))
        covered[top:bottom, left:right] = True
    return round(float(covered.mean()), 4)


def quiet() -> None:
    """MuPDF writes its complaints about broken files to stderr; they say nothing that a warning of ours does not."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
