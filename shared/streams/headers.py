"""The headers of every record: CloudEvents 1.0 in Kafka's binary mode, `generation`, and the W3C trace.

`ce_id` is a pure function of what the record is about, so that the same event produced twice has the same id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from shared.contracts.ids import event_id
from shared.telemetry.tracing import HEADER as TRACEPARENT
from shared.telemetry.tracing import TraceParent

Headers = list[tuple[str, bytes]]


def type_of(record: msgspec.Struct) -> str:
    """`ce_type`: the record's `type` field, or its class name where it has none."""
    return str(record.__struct_config__.tag or type(record).__name__)


def identity(record: msgspec.Struct) -> tuple[object, ...]:
    """What a record is about, as the parts of its `ce_id`: document, generation and, where it has them, task, pages, attempt."""
    names = ("document_id", "generation", "task_id", "page_no", "pages", "region_id", "attempt", "state", "updated_at")
    parts = [getattr(record, name, None) for name in names]
    if parts[0] is None and (source := getattr(record, "source", None)) is not None:
        parts[0] = "\0".join(str(getattr(source, name, None)) for name in ("bucket", "key", "version_id", "etag"))
    return tuple(parts)


def make(
    record: msgspec.Struct,
    *,
    source: str,
    trace: TraceParent,
    extra: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> Headers:
    """Headers of a record that `source` (a stage or tool) produces. UTF-8 text, each name once; `extra` wins."""
    kind = type_of(record)
    fields = {
        "ce_specversion": "1.0",
        "ce_id": event_id(kind, *identity(record)),
        "ce_type": kind,
        "ce_source": f"docfleet/{source}",
        "ce_time": (now or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "content-type": "application/json",
        TRACEPARENT: str(trace),
    }
    generation = getattr(record, "generation", None)
    if generation is not None:
        fields["generation"] = str(generation)
    fields.update(extra or {})
    return [(name, value.encode()) for name, value in fields.items()]


def read(headers: Iterable[tuple[str, bytes | None]] | None) -> dict[str, bytes]:
    """Headers by name; of a name that comes twice the last counts, a null value is empty."""
    return {name: value or b"" for name, value in headers or ()}
