"""A stage's start: tried until what it needs is there, told while it lasts, given up when the process is told to stop."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from shared.contracts.errors import Unavailable
from shared.streams.stage import Stage
from shared.telemetry import metrics
from shared.telemetry.health import Health

log = structlog.get_logger()

TELL_S = 0.5
"""Between two looks at how far the start is."""
PAUSE_S = 1.0
"""Before the second try; twice as long before each one after it."""
LONGEST_S = 30.0
"""Between two tries, where what is away does not say better."""


async def started(stage: Stage[Any], health: Health, stopping: asyncio.Event) -> bool:
    """Start a stage; false when it was told to stop before. Raises what `stage.start` raised, but `Unavailable`."""
    loop = asyncio.get_running_loop()
    starting = loop.create_task(_warm_up(stage, health))
    telling = loop.create_task(_tell(stage, health))
    ending = loop.create_task(stopping.wait())
    await asyncio.wait({starting, ending}, return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    telling.cancel()
    if not starting.done():
        starting.cancel()
        await asyncio.wait({starting})
        return False
    if stopping.is_set():
        return False
    starting.result()
    health.ready("stage", True)
    return True


async def _warm_up(stage: Stage[Any], health: Health) -> None:
    pause = PAUSE_S
    while True:
        try:
            return await stage.start()
        except Unavailable as away:
            log.warning("can't start yet", what=away.what, why=str(away))
            health.ready("stage", False, str(away), away=True)
            metrics.UNAVAILABLE.labels(what=away.what).inc()
            await asyncio.sleep(pause)
            pause = min(away.longest_s or LONGEST_S, pause * 2)


async def _tell(stage: Stage[Any], health: Health) -> None:
    """Readiness says how far a long start is, where the stage knows."""
    told = ""
    while True:
        await asyncio.sleep(TELL_S)
        if (note := getattr(stage, "starting", "")) != told:
            told = note
            health.ready("stage", False, note)
