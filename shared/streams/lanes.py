"""Which lane a record takes (`shared.children.preference` says which goes next)."""

from __future__ import annotations

import msgspec

from shared.contracts.options import Lane
from shared.streams.catalog import BULK, load


def lane_of(topic: str) -> Lane:
    """The lane a topic belongs to."""
    return "bulk" if topic.endswith(BULK) else "first"


def topic_of(base: str, record: msgspec.Struct) -> str:
    """Where a record goes: the bulk twin when the record says so and the topic has one."""
    bulk = getattr(record, "lane", None) == "bulk" or getattr(record, "priority", None) == "bulk"
    return (load().bulk_of(base) or base) if bulk else base
