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
    models: list[ModelRef] = []


class LinesRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Block 0: the full picture, uint8 RGB, (height, width, 3)."""

    width: int
    height: int
    seals: list[list[float]] = []
    """Seals in pixels of this picture; for lines in them the share of red is measured."""


class FoundLine(msgspec.Struct, frozen=True, kw_only=True):
    """A detected text line: four corners `[x0, y0, … y3]`, clockwise from the top left of the text."""

    quad: list[float]
    score: float
    red: bool = False
    """Most of its ink is red, as in a stamp."""


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """All text lines of a picture."""

    lines: list[FoundLine]
    models: list[ModelRef] = []
