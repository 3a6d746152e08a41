"""Paragraphs and tables of one part of a DOCX (the text, a note, a header) as flow blocks, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from shared.contracts.document import Cell, Label, Link, Table
from shared.contracts.errors import DocfleetError
from shared.contracts.layout import FlowBlock
from shared.contracts.tables import table_of
from shared.documents.docx.drawings import PictureAt, chosen
from shared.documents.docx.grid import places
from shared.documents.docx.inline import Inline, Runs
from shared.documents.docx.numbering import Numbering
from shared.documents.docx.styles import BODY_LEVEL, Style, Styles
from shared.documents.docx.xml import Element, attribute, child, name, number

MAX_HEADING = 6
"""Deepest level of a heading in the result (HTML and Markdown have six)."""
_WRAPPERS = frozenset({"w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo"})
BLOCKS = frozenset({"w:p", "w:tbl", "mc:AlternateContent", *_WRAPPERS})
"""Children of a body, cell or text box that hold text."""


@dataclass
class Aside:
    """What hangs on a block: found while it was read, and told after it."""

    pictures: list[PictureAt] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)

    def take(self, inline: Inline) -> None:
        """Add what a paragraph had; runs of one deletion are one text."""
        for drawing in inline.drawings:
            self.pictures += drawing.pictures
            self.boxes += drawing.boxes
        self.notes += inline.notes
        self.comments += inline.comments
        for texts, into in ((inline.deleted, self.deleted), (inline.hidden, self.hidden)):
            if text := "".join(texts).strip():
                into.append(text)


@dataclass
class Paragraph:
    """A paragraph that was read."""

    label: Label
    style: str
    text: str
    links: list[Link]
    level: int | None = None
    latex: str | None = None


@dataclass
class Told:
    """The blocks of a story, and which of them cite what: `(kind, id, index of the block)`."""

    blocks: list[FlowBlock] = field(default_factory=list)
    pictures: dict[int, PictureAt] = field(default_factory=dict)
    """Index of a picture block to what it shows."""
    notes: list[tuple[str, str, int]] = field(default_factory=list)
    comments: list[tuple[str, int]] = field(default_factory=list)
    characters: int = 0
    """Of all blocks so far."""

    def add(self, block: FlowBlock) -> int:
        """Append a block; its index."""
        self.blocks.append(block)
        self.characters += len(block.text) + len(block.latex or "")
        self.characters += sum(len(cell.text) for cell in block.table.cells) if block.table else 0
        return len(self.blocks) - 1

    def between(self, before: list[FlowBlock], after: list[FlowBlock]) -> Told:
        """The same between other blocks, all indices moved."""
        by = len(before)
        moved = [block if block.owner is None else replace(block, owner=block.owner + by) for block in self.blocks]
        return Told(
            blocks=[*before, *moved, *after],
            pictures={index + by: picture for index, picture in self.pictures.items()},
            notes=[(kind, note, at + by) for kind, note, at in self.notes],
            comments=[(comment, at + by) for comment, at in self.comments],
            characters=self.characters + sum(len(block.text) for block in (*before, *after)),
        )


class Story:
    """Reads the block-level elements of a part one after the other into `told`."""

    def __init__(self, styles: Styles, numbering: Numbering, runs: Runs) -> None:
        self._styles, self._numbering, self._runs = styles, numbering, runs
        self.told = Told()
        self._carried: Inline | None = None
        """A paragraph whose mark was deleted goes on in the next one."""

    def read(self, elements: Iterable[Element]) -> None:
        """Add these elements and what is in them."""
        for one in elements:
            kind = name(one)
            if kind == "w:p":
                self._add_paragraph(one)
            elif kind == "w:tbl":
                self._add_table(one)
            elif kind in _WRAPPERS:
                self.read(one)
            elif kind == "mc:AlternateContent":
                for other in chosen(one):
                    self.read(other)

    # --- paragraphs ---------------------------------------------------------------------------------------------------

    def _add_paragraph(self, element: Element) -> None:
        aside = Aside()
        paragraph = self._paragraph(element, aside)
        at = None
        if paragraph is not None:
            at = self.told.add(
                FlowBlock(
                    label=paragraph.label,
                    raw_label=paragraph.style,
                    text=paragraph.text,
                    level=paragraph.level,
                    links=paragraph.links,
                    latex=paragraph.latex,
                )
            )
        self._add_aside(aside, at)

    def _paragraph(self, element: Element, aside: Aside) -> Paragraph | None:
        """The paragraph, none where nothing of it is shown by itself; what hangs on it goes into `aside`."""
        properties = child(element, "w:pPr")
        style_id = attribute(child(properties, "w:pStyle"), "w:val")
        style = self._styles.get(style_id)
        inline = self._carried if self._carried is not None else Inline()
        self._carried = None
        self._runs.read(element, inline, hidden=bool(style.hidden))
        if child(properties, "w:rPr", "w:del") is not None:
            self._carried = inline
            return None
        aside.take(inline)
        marker, depth = self._marker(properties, style, style_id)  # an empty paragraph of a list counts too
        if inline.formulas and not inline.worded:
            return Paragraph("formula", style.name, "", [], latex=r" \\ ".join(inline.formulas))
        heading = self._heading(properties, style)
        if not inline.worded:
            return None
        text, links = inline.shown(f"{marker} " if marker else "")
        text = text.replace("\u00ad", "")  # where a word may break is nobody's letter
        if heading is not None:
            flat = " ".join(text.split())
            return Paragraph(
                "title" if heading == 0 else "section_header", style.name, flat, _same(links, text, flat), heading
            )
        if marker:
            return Paragraph("list_item", style.name, text, links, depth)
        return Paragraph(_label(style), style.name, text, links)

    def _heading(self, properties: Element | None, style: Style) -> int | None:
        own = number(child(properties, "w:outlineLvl"), "w:val")
        level = style.heading if own is None or style.heading == 0 else (own + 1 if own < BODY_LEVEL else None)
        return None if level is None else min(level, MAX_HEADING)

    def _marker(self, properties: Element | None, style: Style, style_id: str | None) -> tuple[str, int]:
        """What stands before the text, and how deep the paragraph is in its list; an empty marker where there is none."""
        listed = child(properties, "w:numPr")
        num_id = attribute(child(listed, "w:numId"), "w:val", style.num_id)
        if num_id in (None, "0"):
            return "", 0
        level = number(child(listed, "w:ilvl"), "w:val", style.num_level)
        if level is None:
            level = self._numbering.level_of(num_id or "", style_id)
        return self._numbering.marker(num_id or "", level) or "", level

    # --- tables -------------------------------------------------------------------------------------------------------

    def _add_table(self, element: Element) -> None:
        aside = Aside()
        cells = [
            Cell(
                row=place.row,
                col=place.col,
                row_span=place.row_span,
                col_span=place.col_span,
                text="\n".join(self._lines(place.cell, aside)),
                column_header=place.header,
            )
            for place in places(element)
        ]
        at = None
        if cells:
            table = _table(cells)
            text = "" if table is not None else "\n".join(cell.text for cell in cells if cell.text)
            reason = None if table is not None else "the grid of the table is not one: its cells are listed as text"
            label: Label = "table" if table is not None else "text"
            at = self.told.add(FlowBlock(label=label, raw_label="table", text=text, table=table, reason=reason))
        self._add_aside(aside, at)

    def _lines(self, elements: Iterable[Element], aside: Aside) -> list[str]:
        """The text of a cell, a line for each paragraph and for each row of a table in it."""
        out: list[str] = []
        for one in elements:
            kind = name(one)
            if kind == "w:p":
                paragraph = self._paragraph(one, aside)
                if paragraph is not None and (paragraph.text or paragraph.latex):
                    out.append(paragraph.text or f"${paragraph.latex}$")
            elif kind == "w:tbl":
                rows: dict[int, list[str]] = {}
                for place in places(one):
                    rows.setdefault(place.row, []).append(" ".join(self._lines(place.cell, aside)))
                out += ["\t".join(texts).strip() for _, texts in sorted(rows.items()) if any(texts)]
            elif kind in _WRAPPERS:
                out += self._lines(one, aside)
            elif kind == "mc:AlternateContent":
                for other in chosen(one):
                    out += self._lines(other, aside)
        return out

    # --- what hangs on blocks -----------------------------------------------------------------------------------------

    def _add_aside(self, aside: Aside, at: int | None) -> None:
        """Pictures and text boxes after the block, then what was deleted or hidden in it. `at` is the block's index, if it has one."""
        told = self.told
        for picture in aside.pictures:
            told.pictures[told.add(FlowBlock(label="picture", raw_label=picture.kind, text=picture.alt))] = picture
        for box in aside.boxes:
            self.read(box)
        near = at if at is not None else (len(told.blocks) - 1 if told.blocks else None)
        for texts, reason in ((aside.deleted, "tracked deletion"), (aside.hidden, "hidden text")):
            for text in texts:
                told.add(
                    FlowBlock(label="text", raw_label=reason, layer="invisible", text=text, owner=near, reason=reason)
                )
        told.notes += [(kind, note, near if near is not None else 0) for kind, note in aside.notes]
        told.comments += [(comment, near if near is not None else 0) for comment in aside.comments]


def _label(style: Style) -> Label:
    if style.caption:
        return "caption"
    return "code" if style.code else "text"


def _same(links: list[Link], text: str, flat: str) -> list[Link]:
    """Links of a text that was made one line: kept where their words are still found."""
    out = []
    for link in links:
        words = " ".join(text[link.start : link.end].split())
        at = flat.find(words)
        if words and at >= 0:
            out.append(Link(start=at, end=at + len(words), uri=link.uri))
    return out


def _table(cells: list[Cell]) -> Table | None:
    try:
        return table_of(cells)
    except DocfleetError:
        return None  # cells on each other, or a grid beyond all bounds
