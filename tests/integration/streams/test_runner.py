"""The runner around a toy stage, on the in-process broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from shared.children.preference import current_lane
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.contracts.records import CancelDocument
from shared.settings import Settings
from shared.streams.local import LocalBroker
from shared.streams.offsets import decode
from shared.streams.runner import Runner
from shared.telemetry.health import Health
from tests.support import topic
from tests.support.toy import ToyStage, task

pytestmark = pytest.mark.integration


@pytest.fixture
def broker() -> Iterator[str]:
    with LocalBroker() as local:
        yield local.bootstrap_servers


def settings(bootstrap: str, **stage: Any) -> Settings:
    return Settings(
        kafka={"bootstrap_servers": bootstrap, "embedded": True},
        stages={"rec_worker": {"max_in_flight": 8, "commit_interval_s": 0.1, "drain_s": 5, **stage}},
    )


class Running:
    def __init__(self, runner: Runner, stage: ToyStage, health: Health, ended: asyncio.Task[None]) -> None:
        self.runner, self.stage, self.health, self.ended = runner, stage, health, ended

    async def until(self, condition: Any, timeout_s: float = 15.0) -> None:
        async def wait() -> None:
            while not condition():
                assert not self.ended.done(), "the runner ended"
                await asyncio.sleep(0.02)

        await asyncio.wait_for(wait(), timeout_s)


@asynccontextmanager
async def running(configuration: Settings, stage: ToyStage | None = None) -> AsyncIterator[Running]:
    stage = stage or ToyStage()
    health = Health()
    runner = Runner(stage, configuration, health)
    ended = asyncio.create_task(runner.run())
    try:
        yield Running(runner, stage, health, ended)
    finally:
        runner.stop()
        await asyncio.wait_for(ended, 20)


def put(bootstrap: str, *tasks: Any, to: str = "docs.rec", partition: int = 0) -> None:
    writer = topic.Writer(bootstrap)
    for record in tasks:
        writer.write(to, encode(record), key=record.document_id.encode(), partition=partition)
    writer.flush()


def committed(bootstrap: str, partition: int = 0, name: str = "docs.rec") -> Any:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "rec-worker", "log_level": 2})
    try:
        return consumer.committed([TopicPartition(name, partition)], timeout=10)[0]
    finally:
        consumer.close()


async def read(bootstrap: str, name: str, count: int) -> list[Any]:
    return await asyncio.to_thread(topic.read, bootstrap, name, count, 20.0, 0.3)


def results(messages: list[Any]) -> dict[str, Any]:
    return {value["task_id"]: value for value in (json.loads(m.value()) for m in messages)}


async def test_records_become_results_and_offsets_are_committed(broker: str) -> None:
    put(broker, *[task(f"ok-{n}", page_no=n + 1) for n in range(50)])
    async with running(settings(broker)) as run:
        found = results(await read(broker, "docs.results", 50))
        assert set(found) == {f"ok-{n}" for n in range(50)}
        await run.until(lambda: not run.health.unready())
    position = committed(broker)
    assert position.offset == 50
    assert decode(50, position.metadata).clean
    assert run.stage.started
    assert run.stage.stopped


async def test_results_carry_cloudevents_and_the_trace(broker: str) -> None:
    trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    writer = topic.Writer(broker)
    writer.write("docs.rec", encode(task("ok-1")), key=b"k", headers={"traceparent": trace}, partition=0)
    writer.flush()
    async with running(settings(broker)):
        (message,) = await read(broker, "docs.results", 1)
    head = {name: value.decode() for name, value in message.headers()}
    assert head["ce_type"] == "RegionsRead"
    assert head["ce_source"] == "docfleet/rec_worker"
    assert head["ce_specversion"] == "1.0"
    assert head["content-type"] == "application/json"
    assert head["generation"] == "0"
    assert head["traceparent"].split("-")[1] == "a" * 32
    assert message.key() == b"doc"


async def test_a_straggler_holds_the_commit_back_and_the_metadata_names_what_is_done(broker: str) -> None:
    put(broker, task("slow-3-x"), *[task(f"ok-{n}") for n in range(20)])
    async with running(settings(broker)) as run:
        await run.until(lambda: len(run.stage.done) == 20)
        await asyncio.sleep(0.5)
        position = committed(broker)
        progress = decode(position.offset, position.metadata)
        assert position.offset == 0
        assert progress.completed == set(range(1, 21))
        assert progress.in_flight == {0}
        assert not progress.clean
        await run.until(lambda: len(run.stage.done) == 21)
    assert committed(broker).offset == 21


async def test_back_pressure_pauses_and_loses_nothing(broker: str) -> None:
    put(broker, *[task(f"slow-0.01-{n}") for n in range(300)])
    async with running(settings(broker, max_in_flight=4)) as run:
        await run.until(lambda: len(run.stage.done) == 300, 30)
        assert run.stage.most_active == 4
    assert committed(broker).offset == 300
    assert max(run.stage.runs.values()) == 1


async def test_a_typed_error_becomes_a_failure_record_and_a_dead_letter(broker: str) -> None:
    put(broker, task("fail-corrupt-1"), task("ok-1"))
    async with running(settings(broker)):
        found = results(await read(broker, "docs.results", 2))
        (letter,) = await read(broker, "docs.dlq", 1)
    assert found["fail-corrupt-1"]["type"] == "PageFailed"
    assert found["fail-corrupt-1"]["error"]["code"] == "corrupt"
    assert found["fail-corrupt-1"]["error"]["phase"] == "rec"
    head = dict(letter.headers())
    assert head["dlt.error.code"] == b"corrupt"
    assert head["dlt.original.topic"] == b"docs.rec"
    assert head["dlt.original.offset"] == b"0"
    assert head["dlt.group"] == b"rec-worker"
    assert letter.value() == encode(task("fail-corrupt-1"))
    assert committed(broker).offset == 2


async def test_foreign_bytes_are_dead_letters_and_the_records_behind_go_on(broker: str) -> None:
    writer = topic.Writer(broker)
    writer.write("docs.rec", b"not-json {{{", key=b"k1", headers={"x": b"\x00\xff"}, partition=0)
    writer.write("docs.rec", None, key=b"k2", partition=0)
    writer.write("docs.rec", b'{"type":"RecTask","schema_version":"9.0.0"}', key=None, partition=0)
    writer.flush()
    put(broker, task("ok-1"))
    async with running(settings(broker)):
        letters = await read(broker, "docs.dlq", 3)
        assert "ok-1" in results(await read(broker, "docs.results", 1))
    by_offset = {dict(m.headers())["dlt.original.offset"]: m for m in letters}
    assert by_offset[b"0"].value() == b"not-json {{{"
    assert dict(by_offset[b"0"].headers())["x"] == b"\x00\xff"
    assert by_offset[b"1"].value() is None
    assert {dict(m.headers())["dlt.error.code"] for m in letters} == {b"invalid_message"}
    assert committed(broker).offset == 4


async def test_a_bug_is_tried_again_alone_then_internal_with_its_stack(broker: str) -> None:
    put(broker, task("bug-1"), *[task(f"slow-0.1-{n}") for n in range(6)])
    async with running(settings(broker)) as run:
        found = results(await read(broker, "docs.results", 7))
        (letter,) = await read(broker, "docs.dlq", 1)
    assert found["bug-1"]["error"]["code"] == "internal"
    assert run.stage.runs["bug-1"] == 2
    assert run.stage.company["bug-1"] == set()
    assert b"ZeroDivisionError" in dict(letter.headers())["dlt.error.stack"]


@pytest.mark.parametrize(("name", "code"), [("die-1", "crashed"), ("stall-1", "stalled")])
async def test_only_what_dies_alone_twice_is_poison(broker: str, name: str, code: str) -> None:
    # All of the first eight are in the child when it dies; the innocent ones run again alone and succeed.
    put(broker, task(name), *[task(f"ok-{n}") for n in range(20)])
    stage = ToyStage()
    stage.on_process = lambda delivery: _die_with(stage, name, delivery.record.task_id)
    async with running(settings(broker), stage) as run:
        found = results(await read(broker, "docs.results", 21))
        (letter,) = await read(broker, "docs.dlq", 1)
    assert found[name]["error"]["code"] == code
    assert {task_id for task_id, value in found.items() if value["type"] == "PageFailed"} == {name}
    assert run.stage.runs[name] == 3
    assert run.stage.company[name] == set()
    assert dict(letter.headers())["dlt.error.code"] == code.encode()


def _die_with(stage: ToyStage, culprit: str, task_id: str) -> None:
    from shared.children.errors import ChildDied

    if task_id != culprit and culprit in stage.active:
        raise ChildDied("a neighbour")


async def test_infrastructure_away_waits_and_counts_nothing(broker: str) -> None:
    put(broker, *[task(f"ok-{n}") for n in range(10)])
    stage = ToyStage()
    stage.away = True
    async with running(settings(broker), stage) as run:
        await run.until(lambda: "objects" in run.health.unready())
        await asyncio.sleep(1)
        assert stage.done == []
        stage.away = False
        await run.until(lambda: len(stage.done) == 10)
        await run.until(lambda: "objects" not in run.health.unready())
    assert committed(broker).offset == 10


async def test_cancel_drops_what_waits_and_ends_what_runs(broker: str) -> None:
    put(broker, task("slow-60-a", "gone"), task("ok-1", "stays"))
    async with running(settings(broker)) as run:
        await run.until(lambda: "slow-60-a" in run.stage.active and "ok-1" in run.stage.done)
        put(broker, CancelDocument(document_id="gone", generation=0), to="docs.control")
        await run.until(lambda: not run.stage.active, 5)
        put(broker, task("ok-2", "gone"), task("ok-3", "stays"))
        await run.until(lambda: "ok-3" in run.stage.done)
    assert "ok-2" not in run.stage.runs
    assert committed(broker).offset == 4


async def test_a_cancel_from_before_the_start_is_known_before_the_first_record(broker: str) -> None:
    put(broker, CancelDocument(document_id="gone", generation=0), to="docs.control", partition=2)
    put(broker, task("ok-1", "gone"), task("ok-2", "stays"))
    async with running(settings(broker)) as run:
        await run.until(lambda: "ok-2" in run.stage.done)
    assert "ok-1" not in run.stage.runs


async def test_overdue_work_fails_with_timeout_and_is_no_dead_letter(broker: str) -> None:
    put(broker, task("ok-1", deadline=1.0))
    async with running(settings(broker)) as run:
        found = results(await read(broker, "docs.results", 1))
    assert found["ok-1"]["error"]["code"] == "timeout"
    assert run.stage.runs == {}


async def test_stop_drains_what_is_in_flight_and_the_next_process_repeats_nothing(broker: str) -> None:
    put(broker, *[task(f"slow-0.5-{n}") for n in range(30)])
    async with running(settings(broker)) as first:
        await first.until(lambda: len(first.stage.active) == 8)
    assert len(first.stage.done) >= 8
    async with running(settings(broker)) as second:
        await second.until(lambda: len(first.stage.done) + len(second.stage.done) == 30)
    assert not set(first.stage.runs) & set(second.stage.runs)
    assert committed(broker).offset == 30


async def test_what_outlasts_the_drain_budget_is_abandoned_and_done_by_the_next(broker: str) -> None:
    put(broker, task("slow-60-x"), *[task(f"ok-{n}") for n in range(5)])
    async with running(settings(broker, drain_s=0.5)) as first:
        await first.until(lambda: len(first.stage.done) == 5)
    position = committed(broker)
    assert position.offset == 0
    assert decode(0, position.metadata).completed == {1, 2, 3, 4, 5}
    stage = ToyStage()
    async with running(settings(broker, drain_s=0.5), stage) as second:
        await second.until(lambda: "slow-60-x" in stage.active)
        await asyncio.sleep(0.3)
    assert set(stage.runs) == {"slow-60-x"}


async def test_both_lanes_are_read_and_the_first_is_preferred(broker: str) -> None:
    put(broker, *[task(f"slow-0.02-b{n}", lane="bulk") for n in range(40)], to="docs.rec.bulk")
    put(broker, *[task(f"slow-0.02-f{n}") for n in range(40)])
    async with running(settings(broker, max_in_flight=2)) as run:
        await run.until(lambda: len(run.stage.done) == 80)
    half = run.stage.done[: len(run.stage.done) // 2]
    assert sum("-f" in name for name in half) > 25
    assert sum("-b" in name for name in half) >= 5


async def test_work_knows_its_lane_wherever_it_waits(broker: str) -> None:
    put(broker, *[task(f"ok-b{n}", lane="bulk") for n in range(3)], to="docs.rec.bulk")
    put(broker, *[task(f"ok-f{n}") for n in range(3)])
    stage, lanes = ToyStage(), dict[str, str]()
    stage.on_process = lambda delivery: lanes.update({delivery.record.task_id: current_lane()})
    async with running(settings(broker), stage) as run:
        await run.until(lambda: len(stage.done) == 6)
    assert lanes == {f"ok-{lane[0]}{n}": lane for lane in ("bulk", "first") for n in range(3)}


async def test_the_clean_mark_is_gone_before_the_first_record_is_worked_on(broker: str) -> None:
    # Else a process that dies at its first record would look as if it had been drained, again and again.
    put(broker, task("ok-1"))
    async with running(settings(broker)) as run:
        await run.until(lambda: len(run.stage.done) == 1)
    assert decode(1, committed(broker).metadata).clean
    put(broker, task("ok-2"))
    stage = ToyStage()
    seen = []

    def look(_: Any) -> None:
        position = committed(broker)
        seen.append((position.offset, decode(position.offset, position.metadata).clean))

    stage.on_process = look
    async with running(settings(broker, commit_interval_s=30), stage) as run:
        await run.until(lambda: len(stage.done) == 1)
    assert seen == [(1, False)]


async def test_a_stage_that_cannot_start_because_something_is_away_tries_again(broker: str) -> None:
    put(broker, task("ok-1"))

    class Late(ToyStage):
        tries = 0

        async def start(self) -> None:
            self.tries += 1
            if self.tries == 1:
                raise Unavailable("objects", "the store is away")

    stage = Late()
    async with running(settings(broker), stage) as run:
        await run.until(lambda: stage.done == ["ok-1"])
    assert stage.tries == 2


async def test_a_stage_that_cannot_start_at_all_ends_the_runner(broker: str) -> None:
    class Broken(ToyStage):
        async def start(self) -> None:
            raise DocfleetError(ErrorCode.model_unavailable, "no model")

    stage = Broken()
    with pytest.raises(DocfleetError, match="no model"):
        await asyncio.wait_for(Runner(stage, settings(broker), Health()).run(), 20)
    assert stage.stopped
