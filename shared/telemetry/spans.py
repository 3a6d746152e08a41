"""Spans: what of a trace is recorded and sent to an OpenTelemetry collector. Off unless `telemetry.otlp_endpoint` is set.

The identifiers are `tracing`'s: a span has its ids before it begins, because records caused by the work carry them whether or not
anybody records. Whether a trace is recorded is decided once, where it begins (a client with an endpoint of its own, else ingest), by the
share `telemetry.trace_ratio` of trace ids; the flag `sampled` then travels in every `traceparent`. A caller who sends that flag has decided.

OpenTelemetry is imported only where spans are recorded (`docfleet[tracing]`).
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

import structlog

from shared.telemetry.tracing import TraceParent

if TYPE_CHECKING:
    from shared.settings import Telemetry

_log = structlog.get_logger()

Kind = Literal["consumer", "producer", "client", "internal"]
Attributes = Mapping[str, str | int | float | bool]

EXPORT_S = 5.0
"""Time limit of one export; a collector that does not answer costs spans, never work."""
END_S = 5.0
"""Time limit for sending what is left at the end of the process."""

_current: ContextVar[TraceParent | None] = ContextVar("trace", default=None)


class Span:
    """A span under way; this one is not recorded, and costs nothing."""

    recorded = False

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""

    def failed(self, code: str, message: str) -> None:
        """The work ended with a typed error."""

    def end(self, at: float | None = None) -> None:
        """It is over, now or at a time in seconds since the epoch."""


NOT_RECORDED = Span()


class _Recorded(Span):
    recorded = True

    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(dict(attributes))

    def failed(self, code: str, message: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attribute("error.type", code)
        self._span.set_status(Status(StatusCode.ERROR, message))

    def end(self, at: float | None = None) -> None:
        self._span.end(None if at is None else _nanoseconds(at))


class Recorder:
    """Makes spans and hands them to an exporter, in the background. One per process; `install` sets it."""

    def __init__(self, service: str, ratio: float, exporter: Any, *, at_once: bool = False) -> None:
        """`exporter` is an OpenTelemetry `SpanExporter`; `at_once` exports each span as it ends, for tests."""
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
        from opentelemetry.sdk.trace.id_generator import IdGenerator
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        class Given(IdGenerator):  # type: ignore[misc]
            """The ids that `begin` was given; its lock is held from there to here."""

            trace_id = span_id = 0

            def generate_trace_id(self) -> int:
                return self.trace_id

            def generate_span_id(self) -> int:
                return self.span_id

        self.ratio = ratio
        self._ids = Given()
        self._lock = threading.Lock()
        resource = Resource.create(
            {"service.name": f"docfleet/{service}", "service.instance.id": f"{socket.gethostname()}:{os.getpid()}"}
        )
        self._provider = TracerProvider(
            sampler=ALWAYS_ON, resource=resource, id_generator=self._ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(SimpleSpanProcessor(exporter) if at_once else BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("docfleet")

    def begin(
        self,
        name: str,
        trace: TraceParent,
        parent: TraceParent | None,
        kind: Kind,
        attributes: Attributes,
        links: Iterable[TraceParent],
        at: float | None,
    ) -> Span:
        from opentelemetry.context import Context
        from opentelemetry.trace import Link, NonRecordingSpan, SpanKind, set_span_in_context

        context = Context() if parent is None else set_span_in_context(NonRecordingSpan(_context(parent)), Context())
        with self._lock:
            self._ids.trace_id, self._ids.span_id = int(trace.trace_id, 16), int(trace.span_id, 16)
            span = self._tracer.start_span(
                name,
                context=context,
                kind=SpanKind[kind.upper()],
                attributes=dict(attributes),
                links=[Link(_context(link)) for link in links],
                start_time=None if at is None else _nanoseconds(at),
            )
        return _Recorded(span)

    def flush(self) -> None:
        """Send what is left; gives up after `END_S`, because an exporter may wait longer for a collector that does not answer."""
        flushing = threading.Thread(target=self._provider.force_flush, name="spans", daemon=True)
        flushing.start()
        flushing.join(END_S)


_recorder: Recorder | None = None


class NoTracing(ValueError):
    """Traces are asked for and OpenTelemetry is not installed."""


def configure(settings: Telemetry, service: str) -> None:
    """Record spans of this process if an endpoint is set; may be called again. Raises `NoTracing`."""
    if not settings.otlp_endpoint or _recorder is not None:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise NoTracing(
            "telemetry.otlp_endpoint is set, but OpenTelemetry is not installed: pip install 'docfleet[tracing]'"
        ) from error
    url = f"{settings.otlp_endpoint.rstrip('/')}/v1/traces"
    install(Recorder(service, settings.trace_ratio, OTLPSpanExporter(endpoint=url, timeout=EXPORT_S)))


def install(recorder: Recorder | None) -> None:
    """Record with this one from now on; none ends recording."""
    global _recorder
    _recorder = recorder


def flush() -> None:
    """Send what is left: to be called before a process ends."""
    if _recorder is not None:
        _recorder.flush()


def decided(trace: TraceParent) -> TraceParent:
    """A trace that begins here, with the flag that says whether it is recorded."""
    if _recorder is None or trace.sampled or int(trace.trace_id[16:], 16) >= _recorder.ratio * 2**64:
        return trace
    return TraceParent(trace.trace_id, trace.span_id, trace.flags | 1)


def recording(trace: TraceParent) -> bool:
    """Whether spans of this trace are recorded by this process: ask before attributes are put together."""
    return _recorder is not None and trace.sampled


def begin(
    name: str,
    trace: TraceParent,
    parent: TraceParent | None = None,
    kind: Kind = "internal",
    attributes: Attributes | None = None,
    links: Iterable[TraceParent] = (),
    at: float | None = None,
) -> Span:
    """A span with the ids of `trace` below `parent` (of the same trace; none for the first), from now or from `at`, seconds since the epoch."""
    if _recorder is None or not trace.sampled:
        return NOT_RECORDED
    try:
        return _recorder.begin(name, trace, parent, kind, attributes or {}, links, at)
    except Exception:  # work never ends because it could not be recorded
        _log.exception("a span could not be begun", span=name)
        return NOT_RECORDED


def enter(trace: TraceParent) -> None:
    """What this task does from now on is part of that span."""
    _current.set(trace)


def current() -> TraceParent | None:
    """The span this task is part of; none outside of one."""
    return _current.get()


def _context(trace: TraceParent) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(int(trace.trace_id, 16), int(trace.span_id, 16), True, TraceFlags(trace.flags))


def _nanoseconds(at: float) -> int:
    return int(at * 1e9)
