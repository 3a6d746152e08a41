"""The time model of the simulated VL server: a batching server whose tokens a second depend on how many requests it works on.

Calibrated on DeepSeek-OCR-2 on an Ascend Atlas 800 A2 (published with the recipe in cann-recipes-infer): output tokens a second at
1/4/8/32/64/100 requests at once. All requests of the batch advance together, as in continuous batching; more than `slots` wait in a queue
(vLLM's --max-num-seqs), in the order they came.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import deque

CURVE: tuple[tuple[int, float], ...] = ((1, 40.5), (4, 106.5), (8, 212.5), (32, 413.7), (64, 486.6), (100, 550.5))
"""Requests at once, tokens a second in all."""


def throughput(running: float) -> float:
    """Tokens a second with so many requests running: the curve, straight between its points on logarithmic axes, flat beyond."""
    if running <= CURVE[0][0]:
        return CURVE[0][1]
    for (n0, x0), (n1, x1) in itertools.pairwise(CURVE):
        if running <= n1:
            share = math.log(running / n0) / math.log(n1 / n0)
            return x0 * (x1 / x0) ** share
    return CURVE[-1][1]


CEILING = CURVE[-1][1]


class Batch:
    """The running batch. `speed` 2.0 is a server twice as fast; `slots` bounds the batch."""

    def __init__(self, speed: float = 1.0, slots: int = 100) -> None:
        self.speed = speed
        self.slots = slots
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.tokens = 0
        self._step: asyncio.Future[None] | None = None
        self._stepping: asyncio.Task[None] | None = None

    @property
    def ceiling(self) -> float:
        """Most tokens a second."""
        return self.speed * throughput(self.slots)

    async def enter(self) -> None:
        """Wait for a place in the batch."""
        if self.running >= self.slots:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self.leave()
                raise
        else:
            self.running += 1

    def leave(self) -> None:
        """Give the place to the next."""
        while self.waiting:
            place = self.waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self.running -= 1

    async def token(self) -> None:
        """One more token for a request of the batch: wait for the step that brings it."""
        if self._step is None:
            self._step = asyncio.get_running_loop().create_future()
        if self._stepping is None or self._stepping.done():
            self._stepping = asyncio.create_task(self._steps())
        await asyncio.shield(self._step)
        self.tokens += 1

    async def _steps(self) -> None:
        """All running requests get a token per step. Late wake-ups are made up for, so load on the machine does not slow the server."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while self._step is not None:
            due = max(due, loop.time() - 1.0) + self.running / (self.speed * throughput(self.running))
            await asyncio.sleep(due - loop.time())
            step, self._step = self._step, None
            if step is not None and not step.done():
                step.set_result(None)
            await asyncio.sleep(0)  # whoever wants another token says so now
            await asyncio.sleep(0)
