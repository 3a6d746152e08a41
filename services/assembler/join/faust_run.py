"""Runs the Faust driver of the join as a process: from settings to an exit code."""

from __future__ import annotations

import asyncio
import logging
import os

import faust
import structlog

from services.assembler.join.faust_app import FaustJoin
from services.assembler.join.offsets import CannotStart
from shared.contracts.errors import DocfleetError
from shared.settings import Settings
from shared.streams.clients import Seldom
from shared.telemetry.health import Health

log = structlog.get_logger()

CHATTY = (
    "aiokafka",
    "aiokafka.client",
    "aiokafka.cluster",
    "aiokafka.conn",
    "aiokafka.consumer.consumer",
    "aiokafka.consumer.fetcher",
    "aiokafka.consumer.group_coordinator",
)
"""Loggers that say fifty times a second that a broker is away (seen: 631 lines in twelve seconds)."""


def run(settings: Settings, health: Health) -> int:
    """Run until SIGTERM or SIGINT. 0 when it ended as asked, 1 when it could not start or go on, 3 when it was stuck, 4 after a
    failed append, 5 when it slept through its session."""
    health.ready("recovery", False, "starting")
    for name in CHATTY:
        logging.getLogger(name).addFilter(Seldom())
    if os.environ.get("PROCESSING_GUARANTEE", "at_least_once") != "at_least_once":
        log.error("the join runs at_least_once only; unset PROCESSING_GUARANTEE")
        return 1
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        join = FaustJoin(settings, health)
    except (CannotStart, DocfleetError) as error:
        log.error("cannot start", why=str(error))
        return 1
    worker = faust.Worker(join.app, loop=loop, quiet=True, override_logging=False, redirect_stdouts=False)
    worker.spinner = None
    try:
        worker.execute_from_commandline()
    except SystemExit as end:
        return int(end.code or 0) if not isinstance(end.code, str) else 1
    except Exception:
        log.exception("ended by an error")
        return 1
    return 0
