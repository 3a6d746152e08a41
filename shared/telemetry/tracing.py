"""W3C Trace Context in the header `traceparent`: one trace per document, one span id per record.

The identifiers travel always; whether spans are recorded and sent somewhere is `spans`'. Specification: W3C Trace Context, version 00
(`00-<32 hex trace id>-<16 hex parent id>-<2 hex flags>`, all zeros is invalid, a higher version is read by its first four fields).
"""

from __future__ import annotations

import re
import secrets

import msgspec

HEADER = "traceparent"

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


class TraceParent(msgspec.Struct, frozen=True):
    """Lower-case hex: 32 digits of trace, 16 of span; `flags` 0..255, bit 0 is `sampled`."""

    trace_id: str
    span_id: str
    flags: int = 1

    @property
    def sampled(self) -> bool:
        """Whether somebody records this trace."""
        return bool(self.flags & 1)

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"

    def child(self) -> TraceParent:
        """The same trace, a new span."""
        return TraceParent(self.trace_id, secrets.token_hex(8), self.flags)


def new() -> TraceParent:
    """A trace that begins here; not sampled, which `spans.decided` may change."""
    return TraceParent(secrets.token_hex(16), secrets.token_hex(8), 0)


def parse(header: bytes | str | None) -> TraceParent | None:
    """The trace a record belongs to; none where the header is missing or not valid, which is never an error."""
    if header is None:
        return None
    try:
        text = header.decode("ascii") if isinstance(header, bytes) else header
    except UnicodeDecodeError:
        return None
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return None
    version, trace_id, span_id, flags, rest = match.groups()
    if version == "ff" or (version == "00" and rest) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return TraceParent(trace_id, span_id, int(flags, 16))


def continued(header: bytes | str | None) -> TraceParent:
    """The span of work caused by a record: a child of its trace, or a new trace."""
    parent = parse(header)
    return parent.child() if parent else new()
