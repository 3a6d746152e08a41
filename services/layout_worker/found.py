"""What the engine child is asked and what it answers (`program` runs there, `service` here): pictures go as blocks.

Boxes and quads are in pixels of the picture that was given.
"""

from __future__ import annotations

import msgspec

from shared.contracts.document import Label, ModelRef


class LookRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Block 0: a picture of the page, uint8 RGB, (height, width, 3)."""

    width: int
    height: int
    layout: bool
    """Whether to run the layout network."""
    upright: bool = True
    """The page says itself which way up it stands, or was turned already; else that is asked first."""
    scan: bool = False
    """The page has no text of its own, so that it may be skewed: its boxes are then found with its lines level."""


class FoundBox(msgspec.Struct, frozen=True, kw_only=True):
    """A box of the layout network."""

    label: Label
    raw_label: str
    bbox: list[float]
    score: float


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What is on the page at a glance."""

    boxes: list[FoundBox]
    seals: list[list[float]]
    """Boxes of red stamps."""
    ink: float
    """Share of pixels, 0..1, that differ from the page's ground."""
    slope: float = 0.0
    """Fall of the page's text lines, dy by dx, by its ink; 0 where it is level. Boxes are hulls on the picture as it was given."""
    turn: int = 0
    """Degrees (0, 90, 180, 270) to turn the page clockwise to make it upright; where it is not 0, nothing else was looked for."""
    ink_map: bytes = b""
    """Row by row, inked pixels (0..16) of cells of equal size that cover the picture; see `ink.ink_map`."""
    ink_columns: int = 0
    """Cells in a row."""
    ink_cell: float = 1.0
    """Pixels of the picture across and down a cell."""
    models: list[ModelRef] = []


class LinesRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Block 0: the full picture, uint8 RGB, (height, width, 3)."""

    width: int
    height: int
    seals: list[list[float]] = []
    """Seals in pixels of this picture; for lines in them the share of red is measured."""
    tables: list[list[float]] = []
    """Boxes in which ruling lines are wanted."""
    slope: float = 0.0
    """Fall of the page's lines by its ink, for where its lines are too few or too short to say."""
    parts: list[list[float]] = []
    """Boxes to be looked at one by one instead of the whole picture."""
    parts_scale: float = 1.0
    """Size at which parts are looked at, by their own."""


class FoundLine(msgspec.Struct, frozen=True, kw_only=True):
    """A detected text line: four corners `[x0, y0, … y3]`, clockwise from the top left of the text."""

    quad: list[float]
    score: float
    red: bool = False
    """Most of its ink is red, as in a stamp."""
    gaps: list[list[float]] = []
    """Wide white in it, `[begin, end]` as shares 0..1 of its length, left to right: in a table a line is cut there (`tables.gaps`)."""


class Strokes(msgspec.Struct, frozen=True, kw_only=True):
    """Ruling lines of a page or a part of it, in pixels of the picture, turned upright about the middle of `bbox` (what was looked at)."""

    bbox: list[float]
    slope: float
    """Fall of the page's lines, dy by dx."""
    across: list[list[float]]
    down: list[list[float]]
    dots: list[list[float]] = []
    """Rows of dots or short dashes across: rules, or what leads from an entry of a table of contents to its page."""


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """All text lines of a picture."""

    lines: list[FoundLine]
    strokes: list[Strokes] = []
    """Of the tables asked for, those that have any."""
    models: list[ModelRef] = []


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a page's own text, where the picture should show it."""

    bbox: list[float]
    angle: float
    """Degrees clockwise by which it is turned, a multiple of 90."""
    text: str


class CompareRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Block 0: the full picture, uint8 RGB, (height, width, 3)."""

    width: int
    height: int
    samples: list[Sample]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """For each sample how like its reading it is, 0..1; none where that can't be said."""

    similarities: list[float | None]
    model: ModelRef
