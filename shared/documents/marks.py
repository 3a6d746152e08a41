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
from shared.documents.page import FilledBox, Rule
from shared.documents.rules import MAX_RULES, THIN, filled_boxes_of, is_solid_box, is_white, rules_of

_MIN_IMAGE = 8.0
"""Points: smaller pictures are bullets, icons or glyphs."""
_TEXT = ("fill-text", "stroke-text")
_GRID = 128
"""Cells per side of the grid that coverage is counted on."""


class Marks:
    """Painted areas of one page, unrotated; arrays are parallel and in painting order.

    `rects` is float64 [n, 4]; `colours` float64 [n, 3] in 0..1, NaN where it is not one colour; `solid` says that the mark
    paints all of its rectangle opaquely; `is_image` what it is. Strokes and thin fills are not among them.
    """

    def __init__(self, page: Any, width: float, height: float, most: int) -> None:
        """Look at a `pymupdf.Page` whose rotation is 0, of this size in points. Raises what MuPDF raises.

        A page with more than `most` painted items is a map or a plot: its drawings are not looked at one by one.
        """
        self._most = most
        self._size = (width, height)
        log = page.get_bboxlog()
        painted = [kind for kind, _ in log if kind != "ignore-text"]
        self.nothing = not painted
        """Nothing is painted at all."""
        self.many = len(log) > most
        """There is too much to look at it one by one."""
        self.infos: list[dict[str, Any]] = page.get_image_info() if "fill-image" in painted else []
        """PyMuPDF's facts about the images (size, transform, colour space, mask)."""
        self.ends_with_image = bool(painted) and painted[-1] == "fill-image"
        self.clips = self.many
        """Whether anything is clipped."""
        drawings: list[dict[str, Any]] = [] if self.many else self._clipped_drawings(page)
        self._drawings = drawings
        opaque_images = [info["bbox"] for info in self.infos if not info.get("has-mask")]
        by_sequence = {one["seqno"]: one for one in drawings}
        texts = [(sequence, rect) for sequence, (kind, rect) in enumerate(log) if kind in _TEXT and _is_finite(rect)]
        self.text_sequence: NDArray[np.int64] = np.array([sequence for sequence, _ in texts], dtype=np.int64)
        """When each piece of text is painted, and where (`text_rects`, as `rects`): a box may hold many lines."""
        self.text_rects: NDArray[np.float64] = np.array([rect for _, rect in texts], dtype=np.float64).reshape(-1, 4)
        rows: list[tuple[int, Sequence[float], Sequence[float] | None, bool, bool]] = []
        self.images: list[Sequence[float]] = []
        for sequence, (kind, rect) in enumerate(log):
            if not _is_finite(rect):
                continue
            if kind in ("fill-image", "fill-imgmask"):
                self.images.append(rect)
                opaque = kind == "fill-image" and any(_near(rect, one) for one in opaque_images)
                rows.append((sequence, rect, None, opaque, True))
            elif kind == "fill-path" and min(rect[2] - rect[0], rect[3] - rect[1]) > THIN:
                drawing = by_sequence.get(sequence)
                colour = drawing.get("fill") if drawing else None
                rows.append((sequence, rect, colour, drawing is not None and is_solid_box(drawing), False))
            elif kind == "fill-shade":
                rows.append((sequence, rect, None, False, False))
        self.transparent = len(opaque_images) == 0 and len(self.infos) == len(self.images)
        """All images have a mask: what lies under them shows."""
        self.sequence: NDArray[np.int64] = np.array([row[0] for row in rows], dtype=np.int64)
        self.rects: NDArray[np.float64] = np.array([row[1] for row in rows], dtype=np.float64).reshape(-1, 4)
        self.colours: NDArray[np.float64] = np.array(
            [row[2] if row[2] is not None and len(row[2]) == 3 else (np.nan,) * 3 for row in rows], dtype=np.float64
        ).reshape(-1, 3)
        self.solid: NDArray[np.bool_] = np.array([row[3] for row in rows], dtype=bool)
        self.is_image: NDArray[np.bool_] = np.array([row[4] for row in rows], dtype=bool)

    def _clipped_drawings(self, page: Any) -> list[dict[str, Any]]:
        """PyMuPDF's drawings in painting order, each that is clipped with the box it is clipped to as `clip`."""
        drawings: list[dict[str, Any]] = []
        clips: list[Sequence[float] | None] = []  # by level; a group is a level too, and clips nothing
        for one in page.get_cdrawings(extended=True):
            level = one.get("level", 0)
            del clips[level:]
            if one["type"] == "clip":
                self.clips = True
                outer = clips[-1] if clips else None
                inner = one.get("scissor") or one["rect"]
                clips.append(_common(inner, outer) if outer else inner)
            elif one["type"] == "group":
                clips.append(clips[-1] if clips else None)
            elif "items" in one and _is_finite(one["rect"]):
                if clips and clips[-1] is not None:
                    one["clip"] = clips[-1]
                drawings.append(one)
        return drawings

    @property
    def image_coverage(self) -> float:
        """Share of the page that images touch, 0..1."""
        return _coverage(self.images, self._size)

    @property
    def drawn_coverage(self) -> float:
        """Share of the page that drawings other than white ones touch, 0..1."""
        if self.many:
            return 1.0
        return _coverage([one["rect"] for one in self._drawings if not is_white(one)], self._size)

    def image_boxes(self, frame: Frame) -> list[list[float]]:
        """Displayed boxes of the images that are large enough to show something, clipped to the page, each once."""
        boxes = {tuple(frame.clipped(frame.box(rect))) for rect in self.images}
        return [list(b) for b in sorted(boxes) if b[2] - b[0] >= _MIN_IMAGE and b[3] - b[1] >= _MIN_IMAGE][:MAX_RULES]

    def rules(self, frame: Frame) -> list[Rule]:
        """Displayed ruling lines; see `rules_of`."""
        return rules_of(self._drawings, frame, self._most)

    def filled_boxes(self, frame: Frame) -> list[FilledBox]:
        """Displayed filled boxes; see `filled_boxes_of`."""
        return filled_boxes_of(self._drawings, frame)


def _common(one: Sequence[float], other: Sequence[float]) -> Sequence[float]:
    return max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])


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


def prepare() -> None:
    """Set MuPDF up for this process: no complaints about broken files on stderr, they say nothing that a warning of ours does not;
    names of fonts with the prefix that tells subsets apart."""
    pymupdf.TOOLS.set_subset_fontnames(True)
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
