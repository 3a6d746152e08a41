"""Logs and traces."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shared.settings.group import Group


class Telemetry(Group):
    """Logs and traces."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level of log lines.")
    format: Literal["json", "text"] = Field("json", description="`text` is for people.")
    otlp_endpoint: str | None = Field(
        None,
        description="Where spans are sent, OTLP over HTTP (`http://jaeger:4318`); none records no traces. Needs `docfleet[tracing]`. "
        "Headers and certificates by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_HEADERS`, …).",
    )
    trace_ratio: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of documents that are traced, where their sender did not decide it (`sampled` in `traceparent`).",
    )
