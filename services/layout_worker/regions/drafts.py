"""Regions on their way: lines with what the picture says of them, and regions before they are routed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from services.layout_worker.boxes import Box
from services.layout_worker.tables.ruled import Ruled
from shared.contracts.document import Label
from shared.contracts.layout import Grid, TextLine
from shared.documents.page import FilledBox, Rule

HOLDS_TEXT: frozenset[Label] = frozenset(
    {
        "title",
        "section_header",
        "text",
        "list_item",
        "caption",
        "footnote",
        "code",
        "reference",
        "aside_text",
        "page_header",
        "page_footer",
        "page_number",
    }
)
"""Labels of regions that are nothing but their lines."""

FoundBy = Literal["model", "native", "leftover", "colour"]


class Piece(msgspec.Struct, frozen=True):
    """A line on its way to a region. `red`: its ink is mostly red, so in a seal it is the seal's own text."""

    line: TextLine
    red: bool = False
    gaps: Sequence[Sequence[float]] = ()
    """Wide white in it, as in `FoundLine`."""


class Draft(msgspec.Struct, kw_only=True):
    """A region before it is routed."""

    label: Label
    raw_label: str
    bbox: Box
    confidence: float
    found_by: FoundBy
    lines: list[TextLine] = []
    grid: Grid | None = None
    """Of a table whose ruling lines were found."""
    inside: Box | None = None
    """Box of the picture this text stands in."""
    direct: bool = False
    """Small and single-line, to be read as it is."""
    reason: str | None = None


class Widget(msgspec.Struct, frozen=True):
    """A field of an interactive form; `checked` is none where it holds text."""

    bbox: Box
    checked: bool | None = None


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """What is on a page beside text and the network's boxes; boxes in page units."""

    seals: Sequence[Box] = ()
    ruled: Sequence[Ruled] = ()
    """Drawings that may be tables."""
    rules: Sequence[Rule] = ()
    filled: Sequence[FilledBox] = ()
    """Rules and coloured boxes of the page: tables without a grid are told by them."""
    figures: Sequence[Box] = ()
    """Pictures and drawings of the page that the network need not have seen."""
    widgets: Sequence[Widget] = ()
