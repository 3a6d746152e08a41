"""Boxes on a picture of a page, in a way that leaves the page readable: outlines on it, names beside it, a legend below.

What a mark means is the business of who makes it (`overlays`: blocks of a document, `look`: regions of a layout). Names stand in the
margins, never on text, each on the side its box is nearer to, moved apart where they would touch, with a thin line to their box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from shared.contracts.document import Label

MAX_WIDTH = 1_600
"""Pixels across the page: photographs and scans of high resolution are drawn on at that size and no larger."""
MIN_FONT = 11
"""Pixels: smaller names cannot be read."""
INK = "#22262b"
PAPER = "#ffffff"

COLOURS: dict[Label, str] = {
    "title": "#b3001b",
    "section_header": "#e0520e",
    "text": "#1f6fd1",
    "list_item": "#0e8ea8",
    "table": "#0b8a3c",
    "picture": "#8a3ffc",
    "caption": "#c2389b",
    "formula": "#a66a00",
    "code": "#4d5b6a",
    "footnote": "#7a6a4f",
    "page_header": "#8c8c8c",
    "page_footer": "#8c8c8c",
    "page_number": "#8c8c8c",
    "seal": "#d4002a",
    "checkbox": "#5a7d00",
    "form_field": "#5a7d00",
    "reference": "#3b4cc0",
    "aside_text": "#6b6b6b",
}
"""One colour a label; furniture is grey."""


@dataclass(frozen=True)
class Fill:
    """A box without a name: a line of text, a cell. `box` in units of the page, `quad` (eight numbers) where it is not upright."""

    box: Sequence[float]
    colour: str
    alpha: int = 60
    """0..255 of the area; the outline is three times as strong."""
    quad: Sequence[float] | None = None


@dataclass(frozen=True)
class Mark:
    """A box with a name beside the page. `chip` is the colour of the name's ground, `colour` that of the box."""

    box: Sequence[float]
    name: str
    colour: str
    chip: str | None = None
    alpha: int = 16
    fills: Sequence[Fill] = ()


@dataclass(frozen=True)
class Key:
    """A row of the legend: entries of colour and meaning under a heading. `style`: how the colour is used on the page."""

    heading: str
    entries: Sequence[tuple[str, str]]
    style: str = "box"
    """`box`: an outline; `chip`: the ground of a name; `fill`: a tinted area."""


@dataclass(frozen=True)
class Sheet:
    """What is drawn on one page of `width` x `height` units. Marks are in reading order; `path` draws that order as a line."""

    width: float
    height: float
    marks: Sequence[Mark]
    fills: Sequence[Fill] = ()
    legend: Sequence[Key] = ()
    path: bool = False
    title: str = ""
    notes: Sequence[str] = ()


class Drawing(NamedTuple):
    """A picture, and the pixels left of the page in it."""

    image: Image.Image
    left: int


def draw(picture: np.ndarray, sheet: Sheet) -> Drawing:
    """The picture (uint8 RGB, `(height, width, 3)`, the whole page as displayed, at any scale) between its margins, above its legend."""
    page = Image.fromarray(picture)
    if page.width > MAX_WIDTH:
        page = page.resize((MAX_WIDTH, max(1, round(page.height * MAX_WIDTH / page.width))))
    size = max(MIN_FONT, round(page.width / 75))
    scale = (page.width / sheet.width, page.height / sheet.height)
    names = _names(sheet, scale, page.height, size)
    left, right = (_margin(names, side, size) for side in ("left", "right"))
    legend = _Legend(sheet, max(left + page.width + right, 24 * size), size)
    canvas = Image.new("RGB", (legend.width, max(page.height, _depth(names, size)) + legend.height), PAPER)
    canvas.paste(page, (left, 0))
    pen = ImageDraw.Draw(canvas, "RGBA")
    pen.rectangle((left, 0, left + page.width - 1, page.height - 1), outline="#c8ccd0")
    _draw_boxes(pen, sheet, scale, left, max(1, round(page.width / 600)))
    if sheet.path:
        _draw_path(pen, sheet, scale, left, size)
    for name in names:
        _draw_name(pen, name, left, page.width, size)
    legend.draw(pen, canvas.height - legend.height)
    return Drawing(canvas, left)


def boxed(mark: Mark | Fill, scale: tuple[float, float], left: int) -> tuple[float, float, float, float]:
    """A box in pixels of the canvas, at least one of them large."""
    x0, y0, x1, y1 = mark.box
    ax, ay = x0 * scale[0] + left, y0 * scale[1]
    return ax, ay, max(x1 * scale[0] + left, ax + 1), max(y1 * scale[1], ay + 1)


@dataclass
class _Name:
    """A name on its way to its place in a margin; `y` is where it stands, `box` (pixels of the page) what it belongs to."""

    mark: Mark
    box: tuple[float, float, float, float]
    side: str
    y: float


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _names(sheet: Sheet, scale: tuple[float, float], height: int, size: int) -> list[_Name]:
    names = []
    for mark in sheet.marks:
        box = boxed(mark, scale, 0)
        side = "left" if (box[0] + box[2]) / 2 <= sheet.width * scale[0] / 2 else "right"
        names.append(_Name(mark, box, side, box[1]))
    for side in ("left", "right"):
        _set_apart([name for name in names if name.side == side], height, size)
    return names


def _set_apart(names: list[_Name], height: int, size: int) -> None:
    """Names of one margin, moved down from their boxes until none touches another, then up from the end of the page."""
    names.sort(key=lambda name: name.y)
    step = size + 7.0
    reached = 0.0
    for name in names:
        name.y = max(name.y, reached)
        reached = name.y + step
    limit = float(max(height, len(names) * step))
    for name in reversed(names):
        name.y = min(name.y, limit - step)
        limit = name.y


def _margin(names: Sequence[_Name], side: str, size: int) -> int:
    widths = [_font(size).getlength(name.mark.name) for name in names if name.side == side]
    return int(max(widths, default=0)) + (2 * size if widths else size // 2)


def _depth(names: Sequence[_Name], size: int) -> int:
    return int(max((name.y + size + 7 for name in names), default=0))


def _draw_boxes(pen: ImageDraw.ImageDraw, sheet: Sheet, scale: tuple[float, float], left: int, line: int) -> None:
    for mark in sheet.marks:
        pen.rectangle(boxed(mark, scale, left), outline=mark.colour, width=line, fill=mark.colour + f"{mark.alpha:02x}")
        for fill in mark.fills:
            _draw_fill(pen, fill, scale, left)
    for fill in sheet.fills:
        _draw_fill(pen, fill, scale, left)
    for mark in sheet.marks:
        if mark.chip is not None:
            x0, y0, _, y1 = boxed(mark, scale, left)
            pen.rectangle((x0 - 2 * line - 1, y0, x0 - 1, y1), fill=mark.chip)


def _draw_fill(pen: ImageDraw.ImageDraw, fill: Fill, scale: tuple[float, float], left: int) -> None:
    inside, outline = fill.colour + f"{fill.alpha:02x}", fill.colour + f"{min(255, 3 * fill.alpha):02x}"
    if fill.quad is None:
        pen.rectangle(boxed(fill, scale, left), outline=outline, fill=inside)
    else:
        points = [(x * scale[0] + left, y * scale[1]) for x, y in zip(fill.quad[0::2], fill.quad[1::2], strict=True)]
        pen.polygon(points, outline=outline, fill=inside)


def _draw_path(pen: ImageDraw.ImageDraw, sheet: Sheet, scale: tuple[float, float], left: int, size: int) -> None:
    """From the middle of each box to that of the next, with a head on the arrow."""
    middles = [((x0 + x1) / 2, (y0 + y1) / 2) for x0, y0, x1, y1 in (boxed(m, scale, left) for m in sheet.marks)]
    colour = INK + "70"
    for (ax, ay), (bx, by) in pairwise(middles):
        length = max(1.0, float(np.hypot(bx - ax, by - ay)))
        ux, uy, head = (bx - ax) / length, (by - ay) / length, min(size * 0.6, length / 2)
        pen.line((ax, ay, bx - ux * head, by - uy * head), fill=colour, width=max(1, size // 9))
        wing = head * 0.45
        base = (bx - ux * head, by - uy * head)
        pen.polygon(
            [(bx, by), (base[0] - uy * wing, base[1] + ux * wing), (base[0] + uy * wing, base[1] - ux * wing)],
            fill=colour,
        )
    if middles:
        x, y = middles[0]
        pen.ellipse((x - size / 3, y - size / 3, x + size / 3, y + size / 3), fill=colour)


def _draw_name(pen: ImageDraw.ImageDraw, name: _Name, left: int, page_width: int, size: int) -> None:
    font = _font(size)
    width = font.getlength(name.mark.name)
    chip = name.mark.chip or name.mark.colour
    edge = left - size // 2 if name.side == "left" else left + page_width + size // 2
    x = edge - width - 6 if name.side == "left" else edge
    at = left + (name.box[0] if name.side == "left" else name.box[2])
    pen.line((edge, name.y + size / 2 + 2, at, name.box[1]), fill=name.mark.colour + "a0", width=1)
    pen.rectangle((x, name.y, x + width + 6, name.y + size + 5), fill=chip, outline=name.mark.colour, width=2)
    pen.text((x + 3, name.y + 1), name.mark.name, fill=PAPER, font=font)


@dataclass(frozen=True)
class _Row:
    """A row of the legend: (style, colour, text) each, and the gap between them in letters' heights."""

    entries: Sequence[tuple[str, str, str]]
    gap: float


class _Legend:
    """Rows below the page: a title, what colours mean, notes; as high as it has to be."""

    def __init__(self, sheet: Sheet, width: int, size: int) -> None:
        self._size = size
        self._font = _font(size)
        self.width = width
        self._rows = self._wrapped([("", "", word) for word in sheet.title.split()], 0.35)
        for key in sheet.legend:
            self._rows += self._wrapped(
                [("", "", key.heading), *((key.style, c, text) for c, text in key.entries)], 1.2
            )
        for note in sheet.notes:
            self._rows += self._wrapped([("", "", word) for word in note.split()], 0.35)
        self.height = round(len(self._rows) * 1.6 * size + (size if self._rows else 0))

    def _wrapped(self, entries: Sequence[tuple[str, str, str]], gap: float) -> list[_Row]:
        rows: list[list[tuple[str, str, str]]] = [[]]
        reached = 0.0
        for entry in entries:
            width = self._width(entry) + gap * self._size
            if rows[-1] and reached + width > self.width - self._size:
                rows.append([])
                reached = 0.0
            rows[-1].append(entry)
            reached += width
        return [_Row(row, gap) for row in rows if row]

    def _width(self, entry: tuple[str, str, str]) -> float:
        return self._font.getlength(entry[2]) + (1.6 * self._size if entry[0] else 0)

    def draw(self, pen: ImageDraw.ImageDraw, top: int) -> None:
        y = top + self._size * 0.6
        for row in self._rows:
            x = self._size / 2
            for style, colour, text in row.entries:
                if style:
                    _draw_key(pen, style, colour, x, y, self._size)
                pen.text((x + (1.6 * self._size if style else 0), y), text, fill=INK, font=self._font)
                x += self._width((style, colour, text)) + row.gap * self._size
            y += 1.6 * self._size


def _draw_key(pen: ImageDraw.ImageDraw, style: str, colour: str, x: float, y: float, size: int) -> None:
    box = (x, y + 1, x + 1.2 * size, y + size + 1)
    if style == "chip":
        pen.rectangle(box, fill=colour)
    elif style == "fill":
        pen.rectangle(box, fill=colour + "50", outline=colour)
    else:
        pen.rectangle(box, outline=colour, width=max(2, size // 6))
