"""The simulator does what its time model says: tokens a second by requests in flight, as published."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.support.vl_timing import CURVE, Batch

pytestmark = pytest.mark.integration
SPEED = 2.0


async def rate_of(requests: int, tokens: int, slots: int = 100) -> float:
    """Tokens a second of so many requests that ask again at once."""
    batch = Batch(SPEED, slots)

    async def ask() -> None:
        while True:
            await batch.enter()
            try:
                for _ in range(tokens):
                    await batch.token()
            finally:
                batch.leave()

    asking = [asyncio.create_task(ask()) for _ in range(requests)]
    await asyncio.sleep(0.3)
    began, before = time.monotonic(), batch.tokens
    await asyncio.sleep(2.0)
    rate = (batch.tokens - before) / (time.monotonic() - began)
    for one in asking:
        one.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    assert batch.running == 0
    return rate


@pytest.mark.parametrize(("requests", "rate"), CURVE)
async def test_it_is_as_fast_as_published(requests, rate):
    assert await rate_of(requests, 40) == pytest.approx(SPEED * rate, rel=0.08)


async def test_what_has_no_place_in_the_batch_waits():
    assert await rate_of(300, 20) == pytest.approx(SPEED * CURVE[-1][1], rel=0.08)
