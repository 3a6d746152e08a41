"""The stage in its runner, at a model server that is slow, dies or refuses: nothing waits for one, nothing is lost, nothing is handed on."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from services.vl_worker.service import VlWorker
from shared.contracts.codec import encode
from shared.contracts.records import CancelDocument
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams.local import LocalBroker
from shared.streams.runner import Runner
from shared.telemetry.health import Health
from tests.support import topic
from tests.support.vl_server import Act, VlServerSimulator
from tests.support.vl_work import Work

pytestmark = pytest.mark.integration
TABLE = "<table><tr><td>1</td><td>2</td></tr></table>"


@pytest.fixture
def broker() -> Iterator[str]:
    with LocalBroker() as local:
        yield local.bootstrap_servers


def settings_of(broker: str, folder: Path, server: VlServerSimulator, **vl: Any) -> Settings:
    return Settings(
        kafka={"bootstrap_servers": broker, "embedded": True},  # type: ignore[arg-type]
        objects={"kind": "folder", "folder": folder},  # type: ignore[arg-type]
        stages={"vl_worker": {"max_in_flight": 64, "commit_interval_s": 0.1, "drain_s": 2}},  # type: ignore[dict-item]
        vl={"endpoints": [server.url], **vl},  # type: ignore[arg-type]
    )


async def put(broker: str, settings: Settings, work: Work) -> list[str]:
    """The ids of the tasks."""
    store = open_store(settings)
    await work.store(store, settings.objects.bucket)
    await store.close()
    writer = topic.Writer(broker)
    for task in work.tasks():
        writer.write("docs.vl", encode(task), key=f"{task.document_id}/{task.region_id}".encode())
    writer.flush()
    return [task.task_id for task in work.tasks()]


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[tuple[Runner, Health, list[float]]]:
    """The runner, and the times of its polls."""
    health = Health()
    runner = Runner(VlWorker(settings), settings, health)
    polls: list[float] = []
    turned = runner.turned

    def noted() -> None:
        polls.append(time.monotonic())
        turned()

    runner.turned = noted  # type: ignore[method-assign]
    ended = asyncio.create_task(runner.run())
    try:
        yield runner, health, polls
    finally:
        runner.stop()
        await asyncio.wait_for(ended, 30)


async def answers(broker: str, count: int, seconds: float = 60.0) -> Counter[str]:
    found = await asyncio.to_thread(topic.read, broker, "docs.results", count, seconds, 0.5)
    return Counter(json.loads(message.value())["task_id"] for message in found)


def count(broker: str, name: str) -> int:
    """Records in a topic."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "count", "log_level": 2})
    try:
        partitions = consumer.list_topics(name, timeout=10).topics[name].partitions
        return sum(consumer.get_watermark_offsets(TopicPartition(name, p), timeout=10)[1] for p in partitions)
    finally:
        consumer.close()


async def test_one_long_table_holds_nobody_back_and_polling_goes_on(broker, tmp_path):
    gate = asyncio.Event()
    long, short = Act(text=TABLE, gate=gate), Act(text=TABLE, delay_s=0.02)
    async with VlServerSimulator(lambda _, number: short if number else long) as server:
        settings = settings_of(broker, tmp_path, server)
        wanted = await put(broker, settings, Work(20))
        async with running(settings) as (_, _, polls):
            found = await answers(broker, 199)
            assert server.in_flight == 1, "the long one is still being read"
            gate.set()
            found = await answers(broker, 200)
        assert found == Counter(wanted)
        gaps = [b - a for a, b in itertools.pairwise(polls)]
        assert max(gaps) < 2.0, "the benchmark measures it; this only tells waiting from not waiting"


async def test_a_server_that_dies_and_returns_costs_no_region(broker, tmp_path):
    async with VlServerSimulator([Act(text=TABLE, delay_s=0.3)]) as server:
        settings = settings_of(broker, tmp_path, server)
        wanted = await put(broker, settings, Work(20))
        async with running(settings) as (_, health, _):
            while server.answered < 40:
                await asyncio.sleep(0.02)
            await server.die()
            await asyncio.sleep(4)
            assert "vl" in health.unready()
            await server.start()
            back = time.monotonic()
            answered = server.answered
            while server.answered == answered:
                await asyncio.sleep(0.02)
            assert time.monotonic() - back < 10
            assert await answers(broker, 200) == Counter(wanted)
            assert health.unready() == {}
    assert count(broker, "docs.rec") == 0
    assert count(broker, "docs.dlq") == 0


async def test_a_burst_at_a_server_that_takes_eight_loses_and_hands_on_nothing(broker, tmp_path):
    """Report allenai/olmocr#317, through the stage."""
    async with VlServerSimulator([Act(text=TABLE, delay_s=0.05)], busy_limit=8, busy_after="0.2") as server:
        settings = settings_of(broker, tmp_path, server)
        wanted = await put(broker, settings, Work(15))
        async with running(settings):
            assert await answers(broker, 150) == Counter(wanted)
        assert server.most_in_flight <= 8
        assert server.refused <= 60
    assert count(broker, "docs.rec") == 0
    assert count(broker, "docs.dlq") == 0


async def test_a_cancelled_document_frees_its_requests_at_the_server(broker, tmp_path):
    async with VlServerSimulator([Act(text=TABLE, delay_s=60)]) as server:
        settings = settings_of(broker, tmp_path, server)
        await put(broker, settings, Work(2))
        async with running(settings):
            while server.in_flight < 20:
                await asyncio.sleep(0.02)
            writer = topic.Writer(broker)
            writer.write("docs.control", encode(CancelDocument(document_id="doc-0000", generation=0)), key=b"doc-0000")
            writer.flush()
            async with asyncio.timeout(5):
                while server.in_flight > 10:
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.3)
            assert (server.in_flight, server.disconnected) == (10, 10)
