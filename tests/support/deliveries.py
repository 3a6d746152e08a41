"""A record as a stage gets it, for tests and benchmarks that call stages themselves."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from shared.contracts.codec import encode
from shared.streams.stage import Delivery

T = TypeVar("T", bound=msgspec.Struct)


def delivered(record: T, **changed: Any) -> Delivery[T]:
    """The first attempt at the first record of a topic."""
    fields: dict[str, Any] = {
        "lane": "first",
        "key": None,
        "headers": {},
        "timestamp": 0.0,
        "attempts": 1,
        "topic": "docs.any",
        "partition": 0,
        "offset": 0,
        "trace_id": None,
        "raw": encode(record),
    }
    return Delivery(record=record, **(fields | changed))
