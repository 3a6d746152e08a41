"""Which text of a page cannot be seen although it is painted: under something opaque, or in the colour of its ground.

Suspicion comes from the order of painting; it is confirmed by pixels, because a highlighter (blend mode) looks like a cover to
anybody who only reads the drawing commands, and text that is lost weighs more than text that is kept in vain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pymupdf
from numpy.typing import NDArray

from shared.contracts.layout import Hidden
from shared.documents.marks import Marks

_SAME_COLOUR = 0.05
"""Greatest difference of a channel (0..1) between text and ground that no eye tells apart."""
_UNIFORM = 16
"""Greatest range of grey values (0..255) of an area in which nothing can be read."""
_LIKE, _INKED = 40, 0.04
"""Grey levels by which ink may differ from its colour when it is drawn small, and the share of a text's box that its ink covers at least."""
_PIXELS = 4_000_000
_LIGHT = 0xD0 / 255
"""A text colour whose channels are all above this might not show on white."""
_ALIKE = 0.08
"""As `_SAME_COLOUR`, with room for a colour of print that was converted in two ways."""
_PAIRS = 2_000_000
"""Boxes times pieces of text that are compared at once; a page with more is followed character by character."""

Place = tuple[int, int, int]
"""Where a character stands (origin in half points) and which it is."""


def place(character: int, origin: Sequence[float]) -> Place:
    """Key of a character, equal for the two ways in which MuPDF reports text."""
    return round(origin[0] * 2), round(origin[1] * 2), character


class Hiding:
    """Answers for one page (rotation 0) whether a character at a place is hidden. Costs nothing where nothing can hide."""

    def __init__(self, page: Any, marks: Marks, colours: Iterable[int]) -> None:
        """`colours`: those of the page's text, as 0xRRGGBB."""
        self._page = page
        self._marks = marks
        self._grey: NDArray[np.uint8] | None = None
        self._scale = 1.0
        self._type3: set[str] | None = None
        self._hidden: dict[Place, Hidden] = {}
        self._seen: set[Place] = set()
        if not _might_hide(marks, colours):
            return
        self._last_cover = int(marks.sequence[marks.solid].max(initial=-1))
        grounds = marks.colours[~np.isnan(marks.colours).any(axis=1)]
        self._grounds = np.unique(np.vstack([grounds, np.ones((1, 3))]).round(3), axis=0)
        judged = [(span, self._judge(span)) for span in page.get_texttrace() if span["type"] != 3 and span["chars"]]
        for span, reason in judged if any(reason for _, reason in judged) else ():
            for character, _, origin, _ in span["chars"]:
                if reason is None:
                    self._seen.add(place(character, origin))
                else:
                    self._hidden[place(character, origin)] = reason

    @property
    def nothing(self) -> bool:
        """Whether no character at all is hidden."""
        return not self._hidden

    def why(self, key: Place) -> Hidden | None:
        """Why the character at a place is hidden; none where it is seen, also if it is painted twice and seen once."""
        return None if key in self._seen else self._hidden.get(key)

    def is_blank(self, bbox: Sequence[float]) -> bool:
        """Whether the page shows nothing at a place but one colour, or only a picture that was there before: an image is no sign of text."""
        area = self._area(_ink(bbox))
        r = self._marks.rects[self._marks.is_image]
        under = (r[:, 0] < bbox[2]) & (r[:, 2] > bbox[0]) & (r[:, 1] < bbox[3]) & (r[:, 3] > bbox[1])
        return bool(under.any()) or area.size == 0 or int(area.max()) - int(area.min()) <= _UNIFORM

    def is_type3(self, font: str) -> bool:
        """Whether a font of this name, as MuPDF has it, is one of the page's Type 3 fonts."""
        if self._type3 is None:
            self._type3 = {
                name
                for xref, _, kind, base, *_ in self._page.get_fonts(full=True)
                if kind == "Type3"
                for name in (f"Type3 ({xref} 0 R)", base, self._own_name(xref))
            }
        return font in self._type3

    def _own_name(self, xref: int) -> str:
        document = self._page.parent
        kind, value = document.xref_get_key(xref, "FontDescriptor/FontName")
        return str(value).lstrip("/") if kind == "name" else ""

    def _judge(self, span: dict[str, Any]) -> Hidden | None:
        # Nearly all text is dark and painted last, and needs no closer look.
        if span["seqno"] > self._last_cover and not self._has_ground_of(_rgb(span["color"])):
            return None
        reason = self._suspicion(span)
        return reason if reason is not None and self._confirmed(span, reason) else None

    def _has_ground_of(self, colour: NDArray[np.float64]) -> bool:
        return bool((np.abs(self._grounds - colour).max(axis=1) <= _SAME_COLOUR).any())

    def _suspicion(self, span: dict[str, Any]) -> Hidden | None:
        marks = self._marks
        box = _ink(span["bbox"])
        if not len(marks.rects):
            return "background_colour" if _distance(_rgb(span["color"]), np.ones(3)) <= _SAME_COLOUR else None
        r = marks.rects
        touches = (r[:, 0] < box[2]) & (r[:, 2] > box[0]) & (r[:, 1] < box[3]) & (r[:, 3] > box[1])
        holds = (r[:, 0] <= box[0]) & (r[:, 2] >= box[2]) & (r[:, 1] <= box[1]) & (r[:, 3] >= box[3]) & marks.solid
        later = marks.sequence > span["seqno"]
        if bool((holds & later).any()):
            return "covered"
        under = np.flatnonzero(touches & ~later)
        ground = np.ones(3)
        if len(under):
            top = under[-1]
            if not holds[top] or np.isnan(marks.colours[top]).any():
                return None
            ground = marks.colours[top]
        return "background_colour" if _distance(_rgb(span["color"]), ground) <= _SAME_COLOUR else None

    def _confirmed(self, span: dict[str, Any], reason: Hidden) -> bool:
        box = _ink(span["bbox"])
        if reason == "covered":
            later = self._marks.sequence > span["seqno"]
            r = self._marks.rects
            holds = (r[:, 0] <= box[0]) & (r[:, 2] >= box[2]) & (r[:, 1] <= box[1]) & (r[:, 3] >= box[3])
            if bool((holds & later & self._marks.solid & self._marks.is_image).any()):
                # What an image shows is anything but uniform; it is opaque, and that is all that can be known. Where something is
                # clipped, only a part of it may be painted: ink in the text's colour is then taken for the text.
                return not self._marks.clips or not self._has_ink_of(span, box)
        area = self._area(box)
        return area.size == 0 or int(area.max()) - int(area.min()) <= _UNIFORM

    def _has_ink_of(self, span: dict[str, Any], box: Sequence[float]) -> bool:
        area = self._area(box)
        colour = float(_rgb(span["color"]) @ np.array([0.299, 0.587, 0.114])) * 255
        return area.size > 0 and float((np.abs(area - colour) <= _LIKE).mean()) >= _INKED

    def _area(self, box: Sequence[float]) -> NDArray[np.uint8]:
        grey = self._pixels()
        s = self._scale
        y0, y1 = max(int(box[1] * s), 0), int(np.ceil(box[3] * s))
        x0, x1 = max(int(box[0] * s), 0), int(np.ceil(box[2] * s))
        return grey[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]

    def _pixels(self) -> NDArray[np.uint8]:
        if self._grey is None:
            rect = self._page.rect
            self._scale = min(2.0, (_PIXELS / max(rect.width * rect.height, 1.0)) ** 0.5)
            drawn = self._page.get_pixmap(
                matrix=pymupdf.Matrix(self._scale, self._scale), colorspace=pymupdf.csGRAY, alpha=False, annots=False
            )
            self._grey = (
                np.frombuffer(drawn.samples, dtype=np.uint8).reshape(drawn.h, drawn.stride)[:, : drawn.w].copy()
            )
        return self._grey


def _might_hide(marks: Marks, colours: Iterable[int]) -> bool:
    """Whether any text is nearly white, stands on a ground of nearly its colour, or lies under something opaque painted later.

    Answered from boxes alone, because following the text character by character costs as much as all the rest of a page.
    """
    used = (
        np.array([(c >> 16 & 255, c >> 8 & 255, c & 255) for c in set(colours)], dtype=np.float64).reshape(-1, 3) / 255
    )
    if bool((used.min(axis=1, initial=1.0) > _LIGHT).any()):
        return True
    if not len(marks.rects) or not len(marks.text_rects):
        return False
    if len(marks.rects) * len(marks.text_rects) > _PAIRS:
        return True
    same = np.zeros(len(marks.rects), dtype=bool)
    for colour in used:
        same |= np.abs(marks.colours - colour).max(axis=1) <= _ALIKE
    earlier = marks.sequence[:, None] < marks.text_sequence[None, :]
    suspects = np.where(earlier, same[:, None], marks.solid[:, None])
    r, t = marks.rects[:, None, :], marks.text_rects[None, :, :]
    touch = (r[..., 0] < t[..., 2]) & (r[..., 2] > t[..., 0]) & (r[..., 1] < t[..., 3]) & (r[..., 3] > t[..., 1])
    return bool((suspects & touch).any())


def _ink(box: Sequence[float]) -> tuple[float, float, float, float]:
    """The middle of a text box, where the letters are; neighbours and rules touch its edges."""
    x0, y0, x1, y1 = box
    dx, dy = min((x1 - x0) * 0.05, 1.0), (y1 - y0) * 0.25
    return x0 + dx, y0 + dy, x1 - dx, y1 - dy


def _rgb(colour: Sequence[float] | None) -> NDArray[np.float64]:
    """A colour of 1, 3 or 4 components as RGB; CMYK by the plain formula, near enough to compare."""
    if not colour:
        return np.zeros(3)
    if len(colour) == 1:
        return np.full(3, colour[0])
    if len(colour) == 4:
        c, m, y, k = colour
        return np.array([(1 - c) * (1 - k), (1 - m) * (1 - k), (1 - y) * (1 - k)])
    return np.array(colour[:3])


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.abs(one - other).max())
