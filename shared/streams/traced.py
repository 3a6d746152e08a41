"""The span of a record that is worked on: which one caused it, and what it says of itself.

Names and attributes are those of OpenTelemetry's conventions for messaging where there is one.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from shared.streams.headers import Headers, read, type_of
from shared.streams.work import Item
from shared.telemetry import spans, tracing
from shared.telemetry.spans import NOT_RECORDED, Attributes, Span
from shared.telemetry.tracing import TraceParent


def caused(
    headers: list[tuple[str, bytes | None]] | Headers, *, decides: bool
) -> tuple[TraceParent, TraceParent | None]:
    """The span of a record's work, and the span that produced the record, where one did and it is recorded.

    `decides`: a trace that nobody has decided to record may begin here (ingest).
    """
    parent = tracing.parse(read(headers).get(tracing.HEADER))
    trace = parent.child() if parent is not None else tracing.new()
    if decides and not trace.sampled:
        trace = spans.decided(trace)
        parent = None if trace.sampled else parent  # what came before was not recorded
    return trace, parent


def begun(item: Item, group: str) -> Span:
    """The span of an admitted record, from now on."""
    if not spans.recording(item.trace):
        return NOT_RECORDED
    if item.attempts:  # it runs again, alone: a span of its own
        item.trace = item.trace.child()
    polled = item.polled
    attributes = about(item.record, polled.topic, polled.partition, polled.offset, group)
    waited = max(0.0, time.time() - polled.timestamp_ms / 1000)
    return spans.begin(
        name_of(item.record), item.trace, item.parent, "consumer", {**attributes, "docfleet.waited_s": round(waited, 3)}
    )


def name_of(record: Any) -> str:
    """Of few values: the record's type."""
    return f"process {type_of(record)}" if isinstance(record, msgspec.Struct) else "process"


def about(record: Any, topic: str, partition: int, offset: int, group: str) -> Attributes:
    """Where a record came from and what it is about."""
    found: dict[str, str | int | float | bool] = {
        "messaging.system": "kafka",
        "messaging.operation.type": "process",
        "messaging.destination.name": topic,
        "messaging.destination.partition.id": str(partition),
        "messaging.kafka.offset": offset,
        "messaging.consumer.group.name": group,
    }
    for name in ("document_id", "generation", "page_no", "task_id", "region_id"):
        value = getattr(record, name, None)
        if value is not None:
            found[f"docfleet.{name}"] = value
    return found
