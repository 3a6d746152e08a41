"""This machine is short of something for a while (disk, descriptors): the records wait for it; no document fails of it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from typing import Any

import pytest

from shared.contracts.codec import encode
from shared.settings import Settings
from shared.streams.local import LocalBroker
from shared.streams.runner import Runner
from shared.telemetry.health import Health
from tests.support import topic
from tests.support.toy import ToyStage, task

pytestmark = pytest.mark.integration
RECORDS = 6


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE])
async def test_records_wait_until_there_is_room_again(number: int) -> None:
    with LocalBroker() as broker:
        writer = topic.Writer(broker.bootstrap_servers)
        for count in range(RECORDS):
            writer.write("docs.rec", encode(task(f"ok-{count}")), partition=0)
        writer.flush()
        stage, health, short = ToyStage(), Health(), True

        def lacks(_: Any) -> None:
            if short:
                raise OSError(number, os.strerror(number))

        stage.on_process = lacks
        settings = Settings(kafka={"bootstrap_servers": broker.bootstrap_servers, "embedded": True})  # type: ignore[arg-type]
        runner = Runner(stage, settings, health)
        ended = asyncio.create_task(runner.run())
        try:
            async with asyncio.timeout(60):
                while "machine" not in health.unready():
                    assert not ended.done()
                    await asyncio.sleep(0.02)
                assert os.strerror(number) in health.unready()["machine"]
                short = False
                while len(stage.done) < RECORDS or "machine" in health.unready():
                    assert not ended.done()
                    await asyncio.sleep(0.02)
        finally:
            runner.stop()
            await asyncio.wait_for(ended, 30)
        answers = await asyncio.to_thread(topic.read, broker.bootstrap_servers, "docs.results", RECORDS, 30.0, 0.3)
        assert {json.loads(m.value())["type"] for m in answers} == {"RegionsRead"}


async def test_another_error_of_the_system_is_a_bug_of_that_record() -> None:
    with LocalBroker() as broker:
        writer = topic.Writer(broker.bootstrap_servers)
        writer.write("docs.rec", encode(task("ok-1")), partition=0)
        writer.flush()
        stage = ToyStage()

        def odd(_: Any) -> None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

        stage.on_process = odd
        settings = Settings(kafka={"bootstrap_servers": broker.bootstrap_servers, "embedded": True})  # type: ignore[arg-type]
        runner = Runner(stage, settings, Health())
        ended = asyncio.create_task(runner.run())
        try:
            (answer,) = await asyncio.to_thread(topic.read, broker.bootstrap_servers, "docs.results", 1, 60.0, 0.3)
        finally:
            runner.stop()
            await asyncio.wait_for(ended, 30)
        assert json.loads(answer.value())["error"]["code"] == "internal"
