"""`python -m services.assembler.join`: the join, on the driver that the settings name."""

from __future__ import annotations

import sys

import structlog

from shared.settings import Settings
from shared.telemetry import logs, spans
from shared.telemetry.health import Health, serve

log = structlog.get_logger()


def main() -> int:
    """The whole main; returns the exit code."""
    settings = Settings()
    logs.configure(settings.telemetry, "join")
    try:
        spans.configure(settings.telemetry, "join")
    except spans.NoTracing as error:
        log.error("cannot start", why=str(error))
        return 1
    health = Health()
    port = serve(health, settings.http_host, settings.stage("join").http_port)
    log.info("started", http_port=port, bootstrap=settings.kafka.bootstrap_servers, driver=settings.join.driver)
    # One driver is imported: Faust costs the embedded fleet half a second of start-up.
    if settings.join.driver == "embedded":
        from services.assembler.join.embedded import run
    else:
        from services.assembler.join.faust_run import run
    try:
        return run(settings, health)
    finally:
        spans.flush()


if __name__ == "__main__":
    sys.exit(main())
