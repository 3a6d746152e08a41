"""Setting text on pages: it runs down a column, into the next one, over to the next page.

A page is cut into bands of one or more columns; what spans columns is a band of its own. Footnotes take their room from the foot of the
column that carries their mark, and are written when the page is left.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import pymupdf

from samples.generator import breaking, fonts
from samples.generator.sheet import BLACK, Color, Sheet
from samples.generator.style import Style, heading_number
from samples.generator.truth import Element, Line, hull, rounded

NOTE = 0.8
"""Size of footnotes by that of the body."""
MARK, RAISED = 0.62, 0.36
"""Size of a footnote mark, and how far it is raised, ems."""


class Note(NamedTuple):
    """A footnote that waits for the foot of its column."""

    target: Element
    mark: str
    text: str
    column: int
    left: float
    measure: float


class Flow:
    """The cursor. Invariant: `y` lies between the band's top and `bottom`, and everything above it in the column is in the truth."""

    def __init__(self, document: pymupdf.Document, style: Style, rng: Random) -> None:
        self.document, self.style, self.rng = document, style, rng
        self.sheets: list[Sheet] = []
        self._counters: list[int] = []
        self._numbers = {"table": 0, "figure": 0, "note": 0}
        self._notes: list[Note] = []
        self.new_page()

    @property
    def sheet(self) -> Sheet:
        return self.sheets[-1]

    @property
    def left(self) -> float:
        return self._columns[self.column][0]

    @property
    def measure(self) -> float:
        x0, x1 = self._columns[self.column]
        return x1 - x0

    @property
    def room(self) -> float:
        """Points to the foot of the column."""
        return self.bottom - self.y

    def new_page(self) -> None:
        """Leave this page for a fresh one in the style's columns."""
        if self.sheets:
            self._write_notes()
        style = self.style
        self.sheets.append(Sheet(self.document, style.width, style.height, len(self.sheets) + 1, style.tint))
        self.y = self._low = style.top
        self.limit = style.height - style.bottom
        self.band(style.columns)

    def band(self, columns: int, height: float | None = None) -> None:
        """Begin a band below what is there: so many columns, to the foot of the page or `height` high."""
        self._low = max(self._low, self.y)
        style, gutter = self.style, self.style.gutter
        width = (style.measure - gutter * (columns - 1)) / columns
        self._columns = [
            (style.left + index * (width + gutter), style.left + index * (width + gutter) + width)
            for index in range(columns)
        ]
        self.column, self._top = 0, self._low
        self.y = self._top
        self.bottom = self.limit if height is None else min(self.limit, self._top + height)
        self._bounded = height is not None
        self.sheet.truth.columns = max(self.sheet.truth.columns, columns)

    def next_column(self) -> None:
        """Go on in the next column; after the last, on the next page."""
        self._low = max(self._low, self.y)
        if self.column + 1 < len(self._columns):
            self.column += 1
            self.y = self._top
            self.bottom = self.limit if not self._bounded else self.bottom
        else:
            self.new_page()

    @property
    def is_in_columns(self) -> bool:
        return len(self._columns) > 1

    @property
    def is_last_column(self) -> bool:
        return self.column + 1 == len(self._columns)

    def need(self, height: float) -> None:
        """Make room for something that must not be cut."""
        if self.room < height and self.y > self._top:
            self.next_column()

    def skip(self, points: float) -> None:
        """Leave white space."""
        self.y = min(self.y + points, self.bottom)

    def add(self, label: str, lines: list[Line], **facts: Any) -> Element:
        """Into the truth, with the column it stands in."""
        facts.setdefault("column", self.column if len(self._columns) > 1 else (-1 if self.style.columns > 1 else 0))
        return self.sheet.add(label, lines, **facts)

    def paragraph(
        self,
        text: str,
        *,
        label: str = "text",
        face: fonts.Face | None = None,
        size: float | None = None,
        color: Color = BLACK,
        indent: float | None = None,
        inset: float = 0.0,
        align: str | None = None,
        fit: bool = False,
        note: str | None = None,
        **facts: Any,
    ) -> list[Element]:
        """A paragraph, in as many elements as columns it touches; only the first has the `text`.

        `inset` (points) narrows it on the left, `indent` (ems) its first line; `fit` cuts it off where a bounded band ends;
        `note` is a footnote whose mark ends the paragraph.
        """
        style = self.style
        how, size = face or style.body, size or style.size
        first = (style.indent if indent is None else indent) * size
        step = size * style.leading
        broken = breaking.lines(text, how, size, self.measure - inset, indent=first, hyphens=style.hyphens)
        if note is not None:
            self.need(len(broken) * step + self._note_height(note))
        self.need(min(2, len(broken)) * step)
        if fit:
            broken = broken[: max(1, int(self.room / step))]
            text = (("" if style.words.han else " ").join(line.text for line in broken)).replace("- ", "")
        parts: list[Element] = []
        lines: list[Line] = []
        for index, line in enumerate(broken):
            if self.room < step and lines:
                parts.append(self._part(label, lines, parts, text, size, facts))
                lines = []
                self.next_column()
            at = self.left + inset + (first if index == 0 else 0.0)
            lines.append(
                self._line(line, at, self.measure - inset - (first if index == 0 else 0.0), how, size, color, align)
            )
            self.y += step
        parts.append(self._part(label, lines, parts, text, size, facts))
        if note is not None:
            self._mark(parts[-1], note, how, size)
        self.y = min(self.y + style.gap * size, self.bottom)
        return parts

    def _line(
        self,
        line: breaking.Set,
        x: float,
        measure: float,
        how: fonts.Face,
        size: float,
        color: Color,
        align: str | None,
    ) -> Line:
        baseline = self.y + size * (self.style.leading / 2 + 0.34)
        wide = fonts.width(line.text, how, size)
        if align == "center":
            return self.sheet.text(x + (measure - wide) / 2, baseline, line.text, how, size, color=color)
        if align == "right":
            return self.sheet.text(x + measure - wide, baseline, line.text, how, size, color=color)
        stretched = align is None and self.style.justified and not line.last and wide > 0.75 * measure
        return self.sheet.text(x, baseline, line.text, how, size, color=color, measure=measure if stretched else None)

    def _part(
        self, label: str, lines: list[Line], before: list[Element], text: str, size: float, facts: dict[str, Any]
    ) -> Element:
        rest = {"continues": before[-1].id} if before else {"text": text}
        return self.add(label, lines, size=size, **rest, **facts)

    def heading(self, level: int, *, text: str | None = None, number: str | None = None) -> Element:
        """A numbered heading that stays with what follows."""
        style = self.style
        size = style.size * {1: 1.55, 2: 1.25, 3: 1.08}.get(level, 1.0)
        self._counters = [*self._counters[:level], *([0] * (level - len(self._counters)))]
        self._counters[-1] += 1
        number = heading_number(style.numbering, self._counters) if number is None else number
        title = text or style.words.heading(self.rng)
        self.need(size * 2.2 + 4 * style.size * style.leading)
        self.skip(size * 0.7 if self.y > self._top else 0.0)
        shown = f"{number}{'' if number.endswith(('、', '）')) or not number else ' '}{title}"
        element = self.paragraph(
            shown,
            label="section_header",
            face=style.heading,
            size=size,
            color=style.accent,
            indent=0.0,
            align="left",
            level=level,
            number=number or None,
        )[0]
        self.skip(size * 0.25)
        return element

    def title(self, text: str, *, factor: float = 2.0, align: str = "center", color: Color | None = None) -> Element:
        """The document's own."""
        style = self.style
        element = self.paragraph(
            text,
            label="title",
            face=style.heading,
            size=min(24.0, style.size * factor),
            color=color or style.accent,
            indent=0.0,
            align=align,
            level=0,
        )[0]
        self.skip(style.size)
        return element

    def items(self, entries: list[tuple[int, str, str]]) -> list[Element]:
        """A list of (depth, marker, text); markers hang."""
        style, found = self.style, []
        for depth, marker, text in entries:
            inset = style.size * (1.2 + 1.6 * depth)
            hang = max(style.size * 1.3, fonts.width(marker, style.body, style.size) + style.size * 0.5)
            broken = breaking.lines(text, style.body, style.size, self.measure - inset - hang)
            step = style.size * style.leading
            self.need(len(broken) * step)
            lines = []
            for index, line in enumerate(broken):
                baseline = self.y + style.size * (style.leading / 2 + 0.34)
                if index == 0:
                    lines.append(self.sheet.text(self.left + inset, baseline, marker, style.body, style.size))
                lines.append(self.sheet.text(self.left + inset + hang, baseline, line.text, style.body, style.size))
                self.y += step
            found.append(self.add("list_item", lines, text=text, number=marker, depth=depth, size=style.size))
        self.skip(style.size * 0.6)
        return found

    def caption(self, text: str, *, centred: bool = False, target: Element | None = None) -> Element:
        """Of a table or picture, smaller than the body."""
        style = self.style
        element = self.paragraph(
            text,
            label="caption",
            size=max(6.5, style.size * 0.88),
            indent=0.0,
            align="center" if centred else "left",
            target=target.id if target else None,
        )[0]
        return element

    def number(self, kind: str) -> int:
        """The next table's or figure's."""
        self._numbers[kind] += 1
        return self._numbers[kind]

    def _note_height(self, note: str) -> float:
        style = self.style
        size = style.size * NOTE
        return (len(breaking.lines(note, style.body, size, self.measure)) + 1.0) * size * 1.25

    def _mark(self, element: Element, note: str, how: fonts.Face, size: float) -> None:
        """Raise a number behind the paragraph's last character, and keep the note for the foot of the page."""
        mark = str(self.number("note"))
        line = element.lines[-1]
        baseline = line.bbox[3] - fonts.ink(line.text, size)[1]
        raised = self.sheet.text(line.bbox[2], baseline - RAISED * size, mark, how, size * MARK)
        start = line.edges[-1]
        line.text += mark
        line.edges += rounded([start + edge for edge in raised.edges[1:]])
        x0, y0, x1, y1 = line.bbox = rounded(hull([line.bbox, raised.bbox]))
        line.quad = [x0, y0, x1, y0, x1, y1, x0, y1]
        element.bbox = rounded(hull([part.bbox for part in element.lines]))
        self._notes.append(Note(element, mark, note, self.column, self.left, self.measure))
        self.bottom -= self._note_height(note)

    def _write_notes(self) -> None:
        """At the foot of their columns, each under a short rule."""
        style, size = self.style, self.style.size * NOTE
        for column in sorted({note.column for note in self._notes}):
            notes = [note for note in self._notes if note.column == column]
            y = self.limit - sum(self._note_height(note.text) for note in notes) + size * 0.5
            self.sheet.rule(notes[0].left, y - 2, notes[0].left + 70, y - 2, width=0.5)
            for note in notes:
                lines = []
                for line in breaking.lines(f"{note.mark} {note.text}", style.body, size, note.measure):
                    lines.append(self.sheet.text(note.left, y + size, line.text, style.body, size))
                    y += size * 1.25
                self.add(
                    "footnote", lines, text=note.text, mark=note.mark, target=note.target.id, size=size, column=column
                )
                y += size * 0.3
        self._notes = []

    def close(self) -> None:
        """No more is set."""
        self._write_notes()
