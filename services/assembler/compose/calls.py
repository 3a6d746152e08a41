"""What goes to the child processes and comes back. Stored objects travel as bytes in blocks, one JSON value a line:
canonical JSON has no line breaks, and the parent need not understand what it only passes on."""

from __future__ import annotations

import msgspec

from services.assembler.document.document import DocumentInput
from shared.contracts.document import ModelRef, Unit
from shared.contracts.errors import ErrorInfo
from shared.contracts.records import SourceInfo, Status, Timings, Totals


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One block: the layout (if `laid_out`), then the readings."""

    document_id: str
    generation: int
    page_no: int
    width: float
    height: float
    unit: Unit
    rotation: int
    laid_out: bool
    errors: list[ErrorInfo]
    image_uri: str | None


class PageReply(msgspec.Struct, frozen=True, kw_only=True):
    """One block: `page.json`."""

    page_no: int


class DocumentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks of `page.json`s in order."""

    given: DocumentInput


class StoredDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Describe the one block, a stored `document.json`."""


class DocumentReply(msgspec.Struct, frozen=True, kw_only=True):
    """What records say of a document. With `DocumentRequest`: blocks of `document.json` and, if asked for, the Markdown."""

    status: Status
    source: SourceInfo
    markdown: bool
    totals: Totals
    timings: Timings
    errors: list[ErrorInfo]
    errors_total: int
    warnings_total: int
    models: list[ModelRef]
    fallbacks: int
    """Blocks that another reader than the intended one read, and warnings that say the same."""
