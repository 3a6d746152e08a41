"""What is on a generated page: the truth that the benchmarks and tests measure against.

Frame: points of the page as displayed, origin top left; `[x0, y0, x1, y1]`. Elements are in reading order: running heads first, then the
body, its footnotes, running feet last. Labels are those of the parsed document (`shared.contracts.document.Label`).
A line's box is the ink that a line with ascenders and descenders has (see `fonts`), not the line height of some font file.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Box = list[float]
Ruling = Literal["full", "rows", "three", "none"]
"""Lines of a table: all, under each row, above and below the header and at the end, or none."""


class Line(msgspec.Struct, kw_only=True):
    """A line of text."""

    text: str
    bbox: Box
    quad: list[float]
    """Corners `[x0, y0, … y3]`, clockwise from the top left of the text; turned where the page is."""
    edges: list[float]
    """Where each character begins, and the last one ends, along the reading direction from the line's beginning, points."""
    vertical: bool = False


class Cell(msgspec.Struct, kw_only=True):
    """A cell of a table; `lines` are its own."""

    row: int
    col: int
    row_span: int = 1
    col_span: int = 1
    header: bool = False
    text: str
    bbox: Box
    lines: list[Line] = []


class Table(msgspec.Struct, kw_only=True):
    """A table, or the part of one that is on this page; rows count from 0 in each part."""

    num_rows: int
    num_cols: int
    ruling: Ruling
    cells: list[Cell]
    header_rows: int = 1
    repeated_header: bool = False
    """The part goes on with a table and shows its header again."""


class Element(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing on a page."""

    id: str
    label: str
    bbox: Box
    text: str = ""
    """Its words as they were before they were broken into lines: no hyphens of line ends. Of a table: empty."""
    lines: list[Line] = []
    """All of its lines; of a table those of its cells, of a picture the words in it, of a seal its own."""
    level: int | None = None
    """Of a heading, 1..; a title has 0."""
    number: str | None = None
    """Of a heading or list item, as printed: `1.2`, `第一章`, `•`."""
    depth: int = 0
    """Nesting of a list item."""
    furniture: bool = False
    column: int = 0
    """Of the column it stands in, from 0 in reading order; -1 for what spans several."""
    size: float = 0.0
    """Font size, points."""
    table: Table | None = None
    target: str | None = None
    """Of a caption: the picture or table; of a footnote: what carries its mark; of a side note: what it stands beside."""
    mark: str | None = None
    """Of a footnote."""
    continues: str | None = None
    """The element of which this is the rest, in another column or on the page before."""
    checked: bool | None = None
    """Of a checkbox."""
    vertical: bool = False


class Page(msgspec.Struct, kw_only=True):
    """A page and everything on it."""

    w: float
    h: float
    kind: Literal["native", "scanned"]
    columns: int
    elements: list[Element]
    angle: float = 0.0
    """Degrees by which a scan is turned counter-clockwise."""
    dpi: int | None = None
    distractors: list[Box] = []
    """Red things that are no seals."""


class Document(msgspec.Struct, kw_only=True):
    """A generated document: `name` is that of its files."""

    name: str
    template: str
    language: str
    seed: int
    pages: list[Page]


def hull(boxes: list[Box]) -> Box:
    """Smallest box around all; there must be one."""
    columns = list(zip(*boxes, strict=True))
    return [min(columns[0]), min(columns[1]), max(columns[2]), max(columns[3])]


def rounded(values: list[float]) -> list[float]:
    """Two decimals, as everywhere in the parsed document."""
    return [round(value, 2) for value in values]
