"""A simulated OpenTelemetry collector: takes OTLP over HTTP on the loopback, keeps the spans, and passes them on where it is told to."""

from __future__ import annotations

import gzip
import threading
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Seen:
    """A span as it arrived. Ids are hex; times in seconds since the epoch; `parent` is empty for a root."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent: str
    kind: int
    begin: float
    end: float
    failed: bool
    attributes: dict[str, Any] = field(hash=False)
    links: list[tuple[str, str]] = field(hash=False)
    """Trace and span id."""


class Collector:
    """Context manager; `endpoint` is what `telemetry.otlp_endpoint` takes. `status` is what it answers."""

    def __init__(self, forward_to: str | None = None) -> None:
        self.spans: list[Seen] = []
        self.requests = 0
        self.status = 200
        self._forward_to = forward_to
        collector = self

        class Request(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests += 1
                if collector.status == 200:
                    collector._take(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
                    if collector._forward_to is not None:
                        head = {
                            name: self.headers[name]
                            for name in ("Content-Type", "Content-Encoding")
                            if self.headers[name]
                        }
                        request = urllib.request.Request(f"{collector._forward_to}{self.path}", body, head)
                        urllib.request.urlopen(request, timeout=10).close()
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Said by the test that fails."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _take(self, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _plain(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_seen(service, span) for span in scope.spans]

    def of(self, trace_id: str) -> list[Seen]:
        """The spans of a trace, in order of their beginning."""
        return sorted((span for span in list(self.spans) if span.trace_id == trace_id), key=lambda span: span.begin)


def _seen(service: str, span: Any) -> Seen:
    return Seen(
        service=service,
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        kind=span.kind,
        begin=span.start_time_unix_nano / 1e9,
        end=span.end_time_unix_nano / 1e9,
        failed=span.status.code == 2,
        attributes=_plain(span.attributes),
        links=[(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
    )


def _plain(attributes: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in attributes}
