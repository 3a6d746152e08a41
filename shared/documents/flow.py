"""What travels between the document child and its parent for documents that are text without places (DOCX)."""

from __future__ import annotations

import msgspec

from shared.contracts.document import Warning
from shared.contracts.layout import FlowBlock


class FlowCall(msgspec.Struct, frozen=True, kw_only=True):
    """Read a document of flowing text; see `Documents.read_flow`."""

    path: str
    mime_type: str
    password: str | None = None
    pictures: bool = False
    places: bool = False
    """Whether pictures are to be read: where each stands on the page's picture, which `Documents.open_page` makes."""


class FlowPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture of the document: bytes `start` to `end` of the answer's block, shown by the flow block `index`."""

    index: int
    number: int
    """1-based count of distinct pictures: one that is shown twice is stored once."""
    mime_type: str
    start: int
    end: int


class FlowAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """All blocks in order. With pictures asked for, and where there are any, one block of their bytes follows."""

    blocks: list[FlowBlock]
    pictures: list[FlowPicture] = []
    places: dict[int, list[float]] = {}
    """Index of a picture's block to its box on the page's picture, in pixels."""
    warnings: list[Warning] = []
