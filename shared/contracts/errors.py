"""What can go wrong, as one enum: the same code is found in results, dead-letter headers and metric labels.

Two kinds of trouble are kept apart. A `DocfleetError` is about one document, page or region: it becomes a failure record
and the fleet goes on. `Unavailable` is about the world (store, broker, model server away): the stage waits, says so
in its readiness, and nothing is dead-lettered.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

MAX_MESSAGE = 500
"""Characters of an error message that travel; the rest is cut."""


class Category(StrEnum):
    """Whose trouble it is."""

    input = "input"
    limit = "limit"
    source = "source"
    model = "model"
    internal = "internal"


class Phase(StrEnum):
    """The stage in which it happened."""

    ingest = "ingest"
    layout = "layout"
    rec = "rec"
    vl = "vl"
    assemble = "assemble"


class ErrorCode(StrEnum):
    """Every outcome that is not a success."""

    encrypted = "encrypted"
    corrupt = "corrupt"
    empty_file = "empty_file"
    unsupported_type = "unsupported_type"
    too_large = "too_large"
    resource_limit = "resource_limit"
    timeout = "timeout"
    stalled = "stalled"
    crashed = "crashed"
    conflict = "conflict"
    source_missing = "source_missing"
    source_changed = "source_changed"
    model_unavailable = "model_unavailable"
    invalid_message = "invalid_message"
    cancelled = "cancelled"
    internal = "internal"

    @property
    def category(self) -> Category:
        return _RULES[self][0]

    @property
    def retryable(self) -> bool:
        """Whether submitting the same document again, unchanged, may succeed."""
        return _RULES[self][1]


_RULES: dict[ErrorCode, tuple[Category, bool]] = {
    ErrorCode.encrypted: (Category.input, False),
    ErrorCode.corrupt: (Category.input, False),
    ErrorCode.empty_file: (Category.input, False),
    ErrorCode.unsupported_type: (Category.input, False),
    ErrorCode.too_large: (Category.limit, False),
    ErrorCode.resource_limit: (Category.limit, False),
    ErrorCode.timeout: (Category.limit, True),
    ErrorCode.stalled: (Category.limit, True),
    ErrorCode.crashed: (Category.internal, False),
    ErrorCode.conflict: (Category.source, False),
    ErrorCode.source_missing: (Category.source, True),
    ErrorCode.source_changed: (Category.source, True),
    ErrorCode.model_unavailable: (Category.model, True),
    ErrorCode.invalid_message: (Category.input, False),
    ErrorCode.cancelled: (Category.input, True),
    ErrorCode.internal: (Category.internal, True),
}


class ErrorInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An error as it is stored in a document and travels in records. `message` is safe to show to anybody."""

    code: ErrorCode
    category: Category
    phase: Phase
    page_no: int | None = None
    region_id: str | None = None
    retryable: bool = False
    message: str = ""
    attempts: int = 1


class DocfleetError(Exception):
    """A typed outcome of one document, page or region. `message` must say what happened and what to do, and hold no content."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        page_no: int | None = None,
        region_id: str | None = None,
        attempts: int = 1,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.page_no = page_no
        self.region_id = region_id
        self.attempts = attempts

    def info(self, phase: Phase, page_no: int | None = None) -> ErrorInfo:
        """The error as it travels, named for the stage it happened in."""
        return ErrorInfo(
            code=self.code,
            category=self.code.category,
            phase=phase,
            page_no=self.page_no if self.page_no is not None else page_no,
            region_id=self.region_id,
            retryable=self.code.retryable,
            message=self.message[:MAX_MESSAGE],
            attempts=self.attempts,
        )


class Unavailable(Exception):
    """Something the stage needs is away (object store, broker, model server); wait and try again.

    `what` is the metric label: `objects`, `broker`, `vl`, `machine` (its disk, its descriptors). Never an outcome of a document.
    """

    def __init__(self, what: str, message: str, *, longest_s: float | None = None) -> None:
        super().__init__(message)
        self.what = what
        self.longest_s = longest_s
        """The longest pause worth making before the next try, where trying is cheap."""
