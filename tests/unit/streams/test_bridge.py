"""What the consumer's thread calls when the event loop is over already."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest

from shared.streams.bridge import Bridge
from shared.streams.work import Commit, Place

pytestmark = pytest.mark.unit


class Resident:
    def __getattr__(self, name: str) -> Any:
        return lambda *_: None

    async def drain(self, places: list[Place]) -> list[Commit]:
        return [Commit(*place, 0, "") for place in places]


def test_a_consumer_that_closes_after_its_loop_has_nothing_to_commit_and_raises_nothing() -> None:
    loop = asyncio.new_event_loop()
    bridge = Bridge(Resident(), loop)
    drained = loop.run_until_complete(loop.run_in_executor(None, bridge.drain, [("docs.rec", 0)]))
    assert drained == [Commit("docs.rec", 0, 0, "")]
    loop.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a coroutine that nobody awaits
        assert bridge.drain([("docs.rec", 0)]) == []
        bridge.turned()
        bridge.arrived([])
