"""A dead letter: key, value and headers of a record as they came, and why it could not be worked on.

All added headers are UTF-8 text (integers too, in decimal), so that any console client shows them.
"""

from __future__ import annotations

from collections.abc import Iterable

from shared.contracts.errors import MAX_MESSAGE, ErrorCode
from shared.streams.headers import Headers

TOPIC = "docs.dlq"
MAX_STACK = 4_000
"""Characters of a stack that are kept: its end, where the error is."""
PREFIX = "dlt."


def headers(
    original: Iterable[tuple[str, bytes | None]] | None,
    *,
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    group: str,
    code: ErrorCode,
    message: str,
    stack: str = "",
    attempts: int = 1,
) -> Headers:
    """Headers of a dead letter: the original ones (in order; those of an earlier death are replaced) and `dlt.*`."""
    kept = [(name, value or b"") for name, value in original or () if not name.startswith(PREFIX)]
    added = {
        "dlt.original.topic": topic,
        "dlt.original.partition": str(partition),
        "dlt.original.offset": str(offset),
        "dlt.original.timestamp": str(timestamp_ms),
        "dlt.group": group,
        "dlt.error.code": str(code),
        "dlt.error.message": message[:MAX_MESSAGE],
        "dlt.error.stack": stack[-MAX_STACK:],
        "dlt.attempts": str(attempts),
    }
    return kept + [(name, text.encode("utf-8", "replace")) for name, text in added.items()]
