"""Something the stage needs is away: who waits for it, for how long, and what readiness says meanwhile."""

from __future__ import annotations

import asyncio
import random

import structlog

from shared.contracts.errors import Unavailable
from shared.streams.work import Item
from shared.telemetry import metrics
from shared.telemetry.health import Health

log = structlog.get_logger()

FIRST_S = 0.5
LONGEST_S = 30.0


class Away:
    """True while any record waits for something. Each record tries again by itself, with growing pauses and full jitter; the first
    that gets through wakes the others, and from then on nothing counts as away: one that takes its time holds nobody back."""

    def __init__(self, health: Health, seed: int | None = None) -> None:
        self._health = health
        self._random = random.Random(seed)
        self._waiting: dict[Item, tuple[str, int]] = {}
        self._back: dict[str, asyncio.Event] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    async def wait(self, item: Item, trouble: Unavailable) -> None:
        """Pause before the next try. The record counts as waiting until `over`, its tries included."""
        before, tries = self._waiting.get(item, (trouble.what, 0))
        self._waiting[item] = (trouble.what, tries + 1)
        if before != trouble.what:
            self._look(before)  # with two things away, a record waits for the one, then for the other
        metrics.UNAVAILABLE.labels(what=trouble.what).inc()
        if tries == 0:
            log.warning("away", what=trouble.what, why=str(trouble))
        self._health.ready(trouble.what, False, str(trouble))
        back = self._back.setdefault(trouble.what, asyncio.Event())
        longest = LONGEST_S if trouble.longest_s is None else trouble.longest_s
        pause = self._random.uniform(0.1, min(longest, FIRST_S * 2**tries))
        item.waits = True
        try:
            await asyncio.wait_for(back.wait(), pause)
            await asyncio.sleep(self._random.uniform(0, 0.2))
        except TimeoutError:
            pass
        finally:
            item.waits = False

    def over(self, item: Item, *, through: bool = True) -> None:
        """The record is over; unless it was abandoned it got through, so what it waited for is back."""
        what, _ = self._waiting.pop(item, ("", 0))
        if not what:
            return
        if through:
            self._waiting = {other: entry for other, entry in self._waiting.items() if entry[0] != what}
        self._look(what)

    def _look(self, what: str) -> None:
        """Nothing is away that nobody waits for."""
        if all(other != what for other, _ in self._waiting.values()):
            self._health.ready(what, True)
            back = self._back.pop(what, None)
            if back is not None:
                back.set()
