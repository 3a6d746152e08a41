"""Children die, stall, run out of memory and are replaced; nothing is lost, nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import REGISTRY

from shared.children.block import Block
from shared.children.child import Child
from shared.children.errors import ChildDied, ChildFault, ChildStalled
from shared.children.preference import in_lane
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from tests.support.child_programs import Ask, Told

pytestmark = pytest.mark.integration
PROGRAM = "tests.support.child_programs:create"


@contextlib.asynccontextmanager
async def child(program: str = PROGRAM, settings: object = None, **options: object) -> AsyncIterator[Child]:
    options = {"name": "test", "call_timeout_s": 20.0, **options}
    one = Child(program, settings, **options)  # type: ignore[arg-type]
    try:
        yield one
    finally:
        await one.close()


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_calls_and_settings() -> None:
    async with child(settings={"dpi": 200}) as one:
        told, blocks = await one.call("echo", Ask("grüße"), returns=Told)
        assert told.text == "grüße"
        assert told.number == one.pid != os.getpid()
        assert blocks == []
        assert (await one.call("setting", Ask(), returns=Told))[0].text == "{'dpi': 200}"


async def test_bodies_of_any_size() -> None:
    async with child(threads=4) as one:
        for size in (0, 100, 32_768, 70_000, 5_000_000):
            told, _ = await one.call("echo", Ask("x" * size), returns=Told)
            assert len(told.text) == size


async def test_pixels_travel_both_ways_and_nothing_stays_open() -> None:
    picture = np.random.default_rng(1).integers(0, 255, 3_000_000, dtype=np.uint8)
    async with child() as one:
        await one.start()
        before = open_descriptors()
        for _ in range(20):
            with Block.of(picture) as block:
                _, answers = await one.call("invert", Ask(), [block], returns=Told)
            with answers[0]:
                assert np.array_equal(answers[0].array((3_000_000,)), 255 - picture)
            del answers
        assert open_descriptors() == before
        told_pid = one.pid
        assert len(os.listdir(f"/proc/{told_pid}/fd")) < 20


async def test_many_blocks_and_many_calls_at_once() -> None:
    async with child(threads=8) as one:

        async def ask(number: int) -> bool:
            blocks = [Block.of(f"{number}-{part}".encode()) for part in range(40)]
            told, back = await one.call("echo", Ask(str(number)), blocks, returns=Told)
            return told.text == str(number) and [b.tobytes() for b in back] == [b.tobytes() for b in blocks]

        assert all(await asyncio.gather(*(ask(number) for number in range(60))))


async def test_a_typed_error_keeps_its_code_and_a_bug_its_traceback() -> None:
    async with child() as one:
        with pytest.raises(DocfleetError) as typed:
            await one.call("typed", Ask(), returns=Told)
        assert (typed.value.code, typed.value.page_no) == (ErrorCode.encrypted, 3)
        with pytest.raises(ChildFault, match=r"(?s)child_programs.*a bug of ours"):
            await one.call("bug", Ask(), returns=Told)
        with pytest.raises(ChildFault):
            await one.call("no_such_method", Ask(), returns=Told)
        assert (await one.call("echo", Ask("on"), returns=Told))[0].text == "on"


async def test_death_ends_all_calls_in_it_and_the_next_call_works() -> None:
    async with child(threads=3) as one:
        await one.start()
        first = one.pid
        calls = [asyncio.create_task(one.call("sleep", Ask(number=30), returns=Told)) for _ in range(2)]
        await asyncio.sleep(0.2)
        calls.append(asyncio.create_task(one.call("kill", Ask(), returns=Told)))
        waiting = asyncio.create_task(one.call("echo", Ask("I was outside"), returns=Told))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ChildDied] * 3
        assert "SIGKILL" in str(outcomes[0])
        assert (await waiting)[0].text == "I was outside"
        assert (await one.call("echo", Ask("again"), returns=Told))[0].text == "again"
        assert one.pid != first


async def test_deaths_in_the_middle_of_traffic_leave_nothing_open() -> None:
    payload = np.zeros(200_000, dtype=np.uint8)
    async with child(threads=6) as one:
        await one.start()
        before = open_descriptors()

        async def ask(number: int) -> str:
            with Block.of(payload) as block:
                try:
                    told, blocks = await one.call("echo", Ask("x" * 50_000 + str(number)), [block], returns=Told)
                except ChildDied:
                    return "died"
                assert told.text.endswith(str(number))
                for answer in blocks:
                    answer.close()
                return "answered"

        outcomes: list[str] = []
        for round_ in range(6):
            calls = [asyncio.create_task(ask(number)) for number in range(30)]
            await asyncio.sleep(0.01 * round_)
            if one.pid is not None:
                os.kill(one.pid, signal.SIGKILL)
            outcomes += await asyncio.gather(*calls)
        assert len(outcomes) == 180
        assert set(outcomes) == {"died", "answered"}
        await one.start()
        assert open_descriptors() == before


@pytest.mark.parametrize("method", ["sleep", "stick"])
async def test_a_stall_is_ended_at_its_limit(method: str) -> None:
    async with child(threads=2, call_timeout_s=30.0) as one:
        await one.start()
        beside = asyncio.create_task(one.call("sleep", Ask(number=30), returns=Told))
        await asyncio.sleep(0.1)
        begun = time.monotonic()
        with pytest.raises(ChildStalled):
            await one.call(method, Ask(number=30), returns=Told, timeout_s=0.5)
        assert time.monotonic() - begun < 3
        with pytest.raises(ChildDied):
            await beside
        assert (await one.call("echo", Ask("after"), returns=Told))[0].text == "after"


async def test_waiting_for_a_place_is_no_stall() -> None:
    async with child(threads=1, call_timeout_s=1.5) as one:
        calls = [one.call("sleep", Ask(number=0.6), returns=Told) for _ in range(4)]
        assert [told.text for told, _ in await asyncio.gather(*calls)] == ["slept"] * 4


async def test_a_call_whose_child_is_at_work_is_no_stall_until_its_last_limit() -> None:
    async with child(threads=1, call_timeout_s=2.0) as one:
        told, _ = await one.call("work", Ask(number=6), returns=Told)
        assert told.text == "worked"
        with pytest.raises(ChildStalled):
            await one.call("work", Ask(number=120), returns=Told, timeout_s=1.5)


async def test_a_cancelled_call_keeps_its_clock_and_frees_its_place_when_done() -> None:
    async with child(threads=1, call_timeout_s=1.0) as one:
        await one.start()
        before = open_descriptors()
        with Block.of(b"x" * 1000) as block:
            call = asyncio.create_task(one.call("echo", Ask(), [block], returns=Told))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            call.cancel()
        assert (await one.call("echo", Ask("next"), returns=Told))[0].text == "next"
        assert open_descriptors() == before
        endless = asyncio.create_task(one.call("sleep", Ask(number=60), returns=Told))
        await asyncio.sleep(0.1)
        endless.cancel()
        assert (await one.call("echo", Ask("after the kill"), returns=Told))[0].text == "after the kill"


async def test_memory_beyond_the_limit_is_a_typed_error() -> None:
    async with child(memory_bytes=2**29) as one:
        await one.start()
        first = one.pid
        with pytest.raises(DocfleetError) as error:
            await one.call("take", Ask(number=2**30), returns=Told)
        assert error.value.code is ErrorCode.resource_limit
        told, _ = await one.call("echo", Ask("still here"), returns=Told)
        assert told.text == "still here"
        assert one.pid != first, "a child that ran out of memory is replaced"


async def test_a_block_that_cannot_be_mapped_for_want_of_memory_is_the_same_typed_error() -> None:
    async with child(memory_bytes=2**29) as one:
        await one.start()
        first = one.pid
        with Block.allocate(2**30) as large, pytest.raises(DocfleetError) as error:
            await one.call("invert", Ask(), [large], returns=Told)
        assert error.value.code is ErrorCode.resource_limit
        assert (await one.call("echo", Ask("still here"), returns=Told))[0].text == "still here"
        assert one.pid != first, "a child that ran out of memory is replaced"


async def test_recycling_at_the_memory_mark_loses_nothing() -> None:
    async with child(recycle_bytes=150 * 2**20, threads=4) as one:
        calls = [one.call("take", Ask(number=20 * 2**20), returns=Told) for _ in range(40)]
        told = [answer.number for answer, _ in await asyncio.gather(*calls)]
        assert len(told) == 40
        assert 3 <= len(set(told)) <= 12, "several children took turns"


async def test_what_cannot_start_says_so() -> None:
    async with child("tests.support.child_programs:refuse") as one:
        with pytest.raises(DocfleetError) as error:
            await one.start()
        assert error.value.code is ErrorCode.model_unavailable
        with pytest.raises(Unavailable, match="no model is installed"):
            await one.call("echo", Ask(), returns=Told)
    async with child("tests.support.child_programs:die") as one:
        with pytest.raises(ChildDied, match="SIGKILL"):
            await one.start()
    async with child("tests.support.no_such_module:create") as one:
        with pytest.raises(ChildFault, match="no_such_module"):
            await one.start()


async def test_close_ends_the_process() -> None:
    async with child() as one:
        await one.start()
        pid = one.pid
        assert pid is not None
    assert not running(pid)


@pytest.mark.parametrize("method", ["sleep", "stick"])
def test_the_child_ends_with_its_parent(method: str, tmp_path: Path) -> None:
    script = (
        "import asyncio\n"
        "from shared.children.block import Block\n"
        "from shared.children.child import Child\n"
        "from tests.support.child_programs import Ask, Told\n"
        "async def main():\n"
        f"    child = Child({PROGRAM!r}, None, name='orphan', call_timeout_s=100)\n"
        "    await child.start()\n"
        "    print(child.pid, flush=True)\n"
        f"    await child.call({method!r}, Ask(number=60), [Block.of(b'x' * 100_000)], returns=Told)\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[3]
    shared_memory = os.listdir("/dev/shm")
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=root, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.3)
    assert running(pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    limit = time.monotonic() + 5
    while running(pid) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not running(pid)
    assert list(tmp_path.iterdir()) == []
    assert set(os.listdir("/dev/shm")) <= set(shared_memory)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_call_of_the_first_lane_passes_the_bulk_calls_that_wait() -> None:
    ended: list[str] = []

    async def call(one: Child, name: str) -> None:
        await one.call("sleep", Ask(number=0.02), returns=Told)
        ended.append(name)

    async with child(threads=1) as one:
        await one.start()
        with in_lane("bulk"):
            calls = [asyncio.create_task(call(one, f"long {page}")) for page in range(12)]
        await asyncio.sleep(0)
        await asyncio.gather(*(call(one, f"short {number}") for number in range(3)))
        assert ended[:4] == ["long 0", "short 0", "short 1", "short 2"]
        await asyncio.gather(*calls)
    assert ended[4:] == [f"long {page}" for page in range(1, 12)]


async def test_long_calls_of_the_bulk_lane_leave_a_place_where_it_is_asked_for() -> None:
    async with child(threads=2, bulk_threads=1) as one:
        await one.start()
        with in_lane("bulk"):
            calls = [asyncio.create_task(one.call("sleep", Ask(number=15), returns=Told)) for _ in range(2)]
        await asyncio.sleep(0)
        await one.call("echo", Ask("short"), returns=Told)
        assert not any(call.done() for call in calls)
        calls[1].cancel()
        await one.close()
        await asyncio.gather(*calls, return_exceptions=True)


async def test_a_long_start_tells_how_far_it_is_and_is_no_stall_while_it_goes_on() -> None:
    notes: list[str] = []
    async with child("tests.support.child_programs:slowly", start_timeout_s=5.0, noted=notes.append) as one:
        await asyncio.wait_for(one.start(), 60)
        assert (await one.call("echo", Ask("here"), returns=Told))[0].text == "here"
    assert notes
    assert all(note.endswith("of 6") for note in notes)


async def test_recycling_on_demand_loses_nothing() -> None:
    async with child(threads=2) as one:
        first, _ = await one.call("echo", Ask(), returns=Told)
        slow = asyncio.create_task(one.call("sleep", Ask(number=0.5), returns=Told))
        await asyncio.sleep(0.1)
        one.recycle()
        second, _ = await one.call("echo", Ask(), returns=Told)
        assert (await slow)[0].number == first.number
        assert second.number != first.number


def counted(child: str, reason: str) -> float:
    labels = {"child": child, "reason": reason}
    return REGISTRY.get_sample_value("docfleet_child_restarts_total", labels) or 0.0


async def test_a_child_that_is_asked_to_go_has_not_died() -> None:
    async with child(name="asked") as one:
        await one.start()
        one.recycle()
        await one.start()
    assert (counted("asked", "recycled"), counted("asked", "died")) == (1.0, 0.0)


async def test_replaced_children_of_a_child_are_counted_here_where_the_metrics_are_served() -> None:
    async with child(call_timeout_s=120.0) as one:
        for _ in range(2):  # what was told once is not told again
            await one.call("lose", Ask(number=2), returns=Told)
        await one.call("echo", Ask(), returns=Told)
    assert (counted("below", "died"), counted("below", "failed"), counted("below", "recycled")) == (4.0, 2.0, 0.0)
