"""A page that is being drawn: whatever is put on it is put into its truth with the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymupdf

from samples.generator import fonts
from samples.generator.truth import Box, Element, Line, Page, hull, rounded

Color = tuple[float, float, float]
BLACK: Color = (0.0, 0.0, 0.0)
RED: Color = (0.78, 0.1, 0.12)
GREY: Color = (0.35, 0.35, 0.35)
STROKED = 2
"""PDF text rendering mode: filled and stroked."""


class Sheet:
    """One page. Text is collected and written when the page is finished, so that it lies over tints and pictures."""

    def __init__(
        self, document: pymupdf.Document, width: float, height: float, number: int, tint: Color | None
    ) -> None:
        self._document = document
        self.page = document.new_page(width=width, height=height)
        self.number = number
        self.width, self.height = width, height
        self.truth = Page(w=width, h=height, kind="native", columns=1, elements=[])
        self._writers: dict[tuple[Color, bool], pymupdf.TextWriter] = {}
        self._vertical: list[tuple[float, float, str, float]] = []
        self._count = 0
        self.fields = 0
        """Form fields so far."""
        self.stamps: list[tuple[Box, bytes]] = []
        """Pictures that lie over the text, PNG."""
        if tint is not None:
            self.page.draw_rect(self.page.rect, color=None, fill=tint)

    def text(
        self,
        x: float,
        baseline: float,
        text: str,
        how: fonts.Face,
        size: float,
        *,
        color: Color = BLACK,
        measure: float | None = None,
    ) -> Line:
        """Write a line; with `measure` it is stretched to that width, between words or, without blanks, between characters."""
        widths = fonts.advances(text, how, size)
        if measure is not None:
            gaps = [index for index, c in enumerate(text[:-1]) if c == " "] or list(range(len(text) - 1))
            extra = max(0.0, (measure - sum(widths)) / len(gaps)) if gaps else 0.0
            for index in gaps:
                widths[index] += extra
        edges = [0.0]
        for width in widths:
            edges.append(edges[-1] + width)
        self._append(x, baseline, text, how, size, color, edges, stretched=measure is not None)
        above, below = fonts.ink(text, size)
        return _line(text, [x, baseline - above, x + edges[-1], baseline + below], edges)

    def _append(
        self,
        x: float,
        baseline: float,
        text: str,
        how: fonts.Face,
        size: float,
        color: Color,
        edges: list[float],
        *,
        stretched: bool,
    ) -> None:
        """Give the writer as long pieces as have their natural width."""
        start = 0
        for end in range(1, len(text) + 1):
            last = text[end - 1]
            more = (
                end < len(text)
                and fonts.is_han(text[end]) == fonts.is_han(last)
                and not (stretched and (last == " " or fonts.is_han(last)))
            )
            if not more:
                piece = text[start:end]
                han = fonts.is_han(piece[0])
                font = fonts.font("cjk") if han else fonts.font(how.latin)
                self._writer(color, how.bold and han).append((x + edges[start], baseline), piece, font, size)
                start = end

    def column_of_text(self, x: float, top: float, text: str, size: float) -> Line:
        """Write Han characters from top to bottom, centred on `x`, in PDF's vertical writing mode. Shown only after `finish`."""
        self._vertical.append((x, top, text, size))
        edges = [index * size for index in range(len(text) + 1)]
        box = [x - size / 2, top, x + size / 2, top + edges[-1]]
        line = _line(text, box, edges)
        x0, y0, x1, y1 = line.bbox
        line.quad = [x1, y0, x1, y1, x0, y1, x0, y0]
        line.vertical = True
        return line

    def add(self, label: str, lines: Sequence[Line] = (), bbox: Box | None = None, **facts: Any) -> Element:
        """Put an element into the truth; without a box, its own is that of its lines."""
        self._count += 1
        element = Element(
            id=f"p{self.number}-{self._count}",
            label=label,
            bbox=rounded(bbox or hull([line.bbox for line in lines])),
            lines=list(lines),
            **facts,
        )
        self.truth.elements.append(element)
        return element

    def rule(self, x0: float, y0: float, x1: float, y1: float, width: float = 0.7, color: Color = BLACK) -> None:
        """Draw a straight line."""
        self.page.draw_line((x0, y0), (x1, y1), width=width, color=color)

    def box(self, bbox: Box, *, fill: Color | None = None, color: Color | None = BLACK, width: float = 0.7) -> None:
        """Draw a rectangle."""
        self.page.draw_rect(pymupdf.Rect(bbox), color=color, fill=fill, width=width)

    def image(self, bbox: Box, data: bytes) -> None:
        """Put a PNG or JPEG into a box."""
        self.page.insert_image(pymupdf.Rect(bbox), stream=data, keep_proportion=False)

    def reopen(self) -> None:
        """PyMuPDF lets go of all pages when one is added: to be called when the last one was."""
        self.page = self._document[self.number - 1]

    def finish(self) -> None:
        """Write the text."""
        for (color, stroked), writer in self._writers.items():
            writer.write_text(self.page, color=color, render_mode=STROKED if stroked else 0)
        if self._vertical:
            self._write_vertical()
        for bbox, picture in self.stamps:
            self.image(bbox, picture)

    def _writer(self, color: Color, stroked: bool) -> pymupdf.TextWriter:
        key = (color, stroked)
        if key not in self._writers:
            self._writers[key] = pymupdf.TextWriter(self.page.rect)
        return self._writers[key]

    def _write_vertical(self) -> None:
        """PyMuPDF writes no vertical text: the font is put in by it, its encoding is made the vertical one, the operators are ours."""
        document, font = self.page.parent, fonts.font("cjk")
        upright = self.page.insert_font("upright", fontbuffer=font.buffer)
        xref = document.get_new_xref()  # a copy: horizontal text of the page may share the font
        document.update_object(xref, document.xref_object(upright).replace("/Identity-H", "/Identity-V"))
        document.xref_set_key(_fonts_of(document, self.page.xref), "vertical", f"{xref} 0 R")
        parts = []
        for x, top, text, size in self._vertical:
            glyphs = "".join(f"{font.has_glyph(ord(character)):04x}" for character in text)
            parts.append(f"BT /vertical {size:.2f} Tf 1 0 0 1 {x:.2f} {self.height - top:.2f} Tm <{glyphs}> Tj ET")
        stream = document.get_new_xref()
        document.update_object(stream, "<<>>")
        document.update_stream(stream, ("q 0 g " + "\n".join(parts) + " Q").encode())
        contents = [f"{number} 0 R" for number in [*self.page.get_contents(), stream]]
        document.xref_set_key(self.page.xref, "Contents", f"[{' '.join(contents)}]")


def _fonts_of(document: pymupdf.Document, page: int) -> int:
    """Number of the object that names a page's fonts; PyMuPDF makes both it and the resources objects of their own."""
    xref = page
    for key in ("Resources", "Font"):
        kind, value = document.xref_get_key(xref, key)
        if kind != "xref":
            document.xref_set_key(xref, key, f"{(made := document.get_new_xref())} 0 R")
            document.update_object(made, value if kind == "dict" else "<<>>")
            xref = made
        else:
            xref = int(value.split()[0])
    return xref


def _line(text: str, box: Box, edges: list[float]) -> Line:
    x0, y0, x1, y1 = bbox = rounded(box)
    return Line(text=text, bbox=bbox, quad=[x0, y0, x1, y0, x1, y1, x0, y1], edges=rounded(edges))
