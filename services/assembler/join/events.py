"""From bytes to events, the same for both drivers."""

from __future__ import annotations

from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.records import CancelDocument, Result, decode_result

RESULTS = "docs.results"
CONTROL = "docs.control"
SOURCES = (RESULTS, CONTROL)
PARSED = "docs.parsed"
OPEN = "docs.join.open"


def read_event(topic: str, value: bytes | None) -> Result | CancelDocument:
    """The event in a record of a source. Raises `DocfleetError(invalid_message)` for foreign bytes."""
    if value is None:
        raise DocfleetError(ErrorCode.invalid_message, f"a record of {topic} has no value")
    return decode(value, CancelDocument) if topic == CONTROL else decode_result(value)
