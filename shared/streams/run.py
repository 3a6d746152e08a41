"""The whole main of a service: settings, logs, health server, runner, signals."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import structlog

from shared.contracts.errors import DocfleetError
from shared.settings import Settings
from shared.streams.runner import GRACE_S, Runner
from shared.streams.stage import Stage
from shared.telemetry import logs, spans
from shared.telemetry.health import Health, serve

log = structlog.get_logger()

STUCK = 3
"""Exit code of a process that did not end within its drain budget and was ended by its watchdog."""


def run(make_stage: Callable[[Settings], Stage[Any]]) -> int:
    """Run a stage until SIGTERM or SIGINT; returns the exit code (0 ended as asked, 1 could not go on).

    The first signal drains, the second abandons what is in flight.
    """
    settings = Settings()
    stage = make_stage(settings)
    logs.configure(settings.telemetry, stage.name)
    try:
        spans.configure(settings.telemetry, stage.name)
    except spans.NoTracing as error:
        log.error("cannot start", why=str(error))
        return 1
    health = Health()
    port = serve(health, settings.http_host, settings.stage(stage.name).http_port)
    log.info("started", http_port=port, bootstrap=settings.kafka.bootstrap_servers)
    try:
        asyncio.run(_run(stage, settings, health))
    except DocfleetError as error:
        # It says what to do, and a traceback below it would hide that from whoever reads the last lines.
        log.error("cannot go on", why=error.message, code=error.code)
        return 1
    except Exception as error:
        log.error("ended by an error", why=str(error), kind=type(error).__name__, exc_info=True)
        return 1
    finally:
        spans.flush()
    return 0


async def _run(stage: Stage[Any], settings: Settings, health: Health) -> None:
    runner = Runner(stage, settings, health)
    loop = asyncio.get_running_loop()

    def asked() -> None:
        # A client that hangs in its last call must not keep the process: librdkafka's close can, when a callback blocks.
        watchdog = threading.Timer(settings.stage(stage.name).drain_s + 4 * GRACE_S, os._exit, [STUCK])
        watchdog.daemon = True
        watchdog.start()
        runner.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked)
    await runner.run()
