"""Everything that can go wrong on a card, on the double: it is typed, the session is replaced where it must be, the work is done again once."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shared.children.child import Child
from shared.children.errors import ChildDied
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.engines import ascend_network
from shared.engines.ascend_network import AscendNetwork
from shared.models.manifest import Ascend
from shared.settings import Engines
from tests.support.ascend import Card, built, expected
from tests.support.ascend_program import Asked, Given, Page

pytestmark = pytest.mark.integration
Open = Callable[..., AscendNetwork]

ASCEND = Ascend(mode="dymdims", batches=(1, 2), sizes=((8, 16), (8, 32)))
X = np.random.default_rng(5).normal(size=(2, 3, 8, 16)).astype(np.float32)
OTHER = np.random.default_rng(6).normal(size=(1, 3, 8, 32)).astype(np.float32)
SHAPE = "2,3,8,16"

FAILURES = [
    ({"at": "execute", "code": 507010}, ErrorCode.crashed, True),
    ({"at": "execute", "code": 507014}, ErrorCode.crashed, True),
    ({"at": "execute", "code": 507018}, ErrorCode.crashed, True),
    ({"at": "execute", "code": 507899}, ErrorCode.crashed, True),
    ({"at": "malloc", "code": 207018, "printed": "device oom, ret 207018"}, ErrorCode.resource_limit, True),
    ({"at": "execute", "code": 207001}, ErrorCode.resource_limit, True),
]
TWICE = [
    ({"at": "execute", "code": 507015}, ErrorCode.crashed, True),
    ({"at": "malloc", "code": 207001}, ErrorCode.resource_limit, True),
    ({"at": "execute", "code": 100000, "printed": ""}, ErrorCode.internal, False),
    ({"at": "execute", "kind": "die"}, ErrorCode.crashed, True),
]
"""Those that are tried twice in a row as well: opening a session costs a second."""


def test_a_failure_is_done_again_once_and_comes_through(card: Card, open_network: Open, tmp_path: Path) -> None:
    network = built(tmp_path / "models", ASCEND)
    found = open_network(network)
    wanted = expected(X, network)[0]
    for number, (fault, _, replaced) in enumerate(FAILURES + TWICE, start=1):
        before = found.pid
        card.plan(faults=[{**fault, "shape": SHAPE, "times": 1}])
        np.testing.assert_array_equal(found.infer(X)[0], wanted)
        assert (found.pid != before) is replaced, fault
        assert [call["shape"] for call in card.work()] == [SHAPE] * number, "it came through once"


def test_what_fails_twice_is_an_error_of_its_own_kind_and_nobody_else_s(
    card: Card, open_network: Open, tmp_path: Path
) -> None:
    network = built(tmp_path / "models", ASCEND)
    found = open_network(network)
    for fault, code, _ in TWICE:
        card.plan(faults=[{**fault, "shape": SHAPE, "times": 2}])
        with pytest.raises(DocfleetError) as raised:
            found.infer(X)
        assert raised.value.code is code
        assert "small" in raised.value.message
        np.testing.assert_array_equal(found.infer(OTHER)[0], expected(OTHER, network)[0])
        np.testing.assert_array_equal(found.infer(X)[0], expected(X, network)[0])


def test_the_reason_that_is_only_printed_is_in_the_error(card: Card, open_network: Open, tmp_path: Path) -> None:
    found = open_network(built(tmp_path / "models", ASCEND))
    card.plan(faults=[{"at": "execute", "code": 507015, "shape": SHAPE, "times": 2}])
    with pytest.raises(DocfleetError, match=r"general failure.*aicore execution is abnormal.*507015"):
        found.infer(X)


def test_a_hang_that_holds_the_lock_stops_nobody_else_and_is_ended(
    card: Card, open_network: Open, tmp_path: Path
) -> None:
    network = built(tmp_path / "models", ASCEND)
    found = open_network(network, ascend_call_timeout_s=5.0)
    beats = 0
    over = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not over.wait(0.05):
            beats += 1

    heart = threading.Thread(target=beat)
    heart.start()
    try:
        card.plan(faults=[{"at": "execute", "kind": "hang", "shape": SHAPE, "times": 2}])
        with pytest.raises(DocfleetError, match="hung and was killed") as raised:
            found.infer(X)
    finally:
        over.set()
        heart.join()
    assert raised.value.code is ErrorCode.stalled
    assert beats >= 10, "ten seconds with the lock held in the session, and this process went on"
    np.testing.assert_array_equal(found.infer(X)[0], expected(X, network)[0])


def test_memory_of_the_device_runs_out_for_one_and_a_fresh_session_has_more(
    card: Card, open_network: Open, tmp_path: Path
) -> None:
    """Without gears memory grows until there is none; the session that took it is replaced, and the work goes on."""
    sizes = Ascend(mode="dymhw", sizes=((16, 64), (16, 640)))
    network = built(tmp_path / "models", sizes, gears=False)
    card.plan(memory_bytes=130 * 2**20)
    found = open_network(network, ascend_environment={"GE_USE_STATIC_MEMORY": "0"})
    pids = set()
    for width in range(64, 640, 8):
        found.infer(np.ones((1, 3, 16, width), np.float32))
        pids.add(found.pid)
    assert len(pids) > 1
    assert len(card.work()) == len(range(64, 640, 8)), "each came through once"


def test_a_session_over_its_memory_mark_is_replaced_and_no_work_is_lost(
    card: Card, open_network: Open, tmp_path: Path
) -> None:
    network = built(tmp_path / "models", ASCEND)
    found = open_network(network, ascend_recycle_bytes=50 * 2**20, ascend_watch_s=0.2)  # its context alone takes 100 MB
    first = found.pid
    deadline = time.monotonic() + 180
    done = 0
    while found.pid == first:
        found.infer(X)
        done += 1
        assert time.monotonic() < deadline
    found.infer(X)
    assert len(card.work()) == done + 1


def test_nobody_asks_for_memory_any_more_when_all_sessions_are_closed(open_network: Open, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    found = open_network(built(tmp_path / "models", ASCEND), ascend_watch_s=0.05)
    (watcher,) = [thread for thread in set(threading.enumerate()) - before if thread.name == "npu-memory"]
    found.close()
    watcher.join(120)
    assert not watcher.is_alive()


def test_the_list_of_variables_is_set_before_the_runtime_starts(
    card: Card, open_network: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_GLOBAL_LOG_LEVEL", "1")
    found = open_network(built(tmp_path / "models", ASCEND), ascend_environment={"GE_MINE": "7"})
    (call,) = [call for call in card.calls() if call["zeros"]][:1]
    assert call["pid"] == found.pid
    assert call["environment"] == {
        "GE_USE_STATIC_MEMORY": "3",
        "GE_MINE": "7",
        "ASCEND_GLOBAL_LOG_LEVEL": "1",
        "ASCEND_SLOG_PRINT_TO_STDOUT": "0",
    }


async def test_a_lost_card_ends_the_engine_child_and_the_stage_waits_until_it_is_back(
    card: Card, tmp_path: Path
) -> None:
    network = built(tmp_path / "models", ASCEND)
    given = Given(engines=Engines(kind="ascend", ascend_start_timeout_s=120.0).model_dump(), network=str(network))
    child = Child("tests.support.ascend_program:create", given, name="engine", call_timeout_s=200.0)
    page = Page(shape=(1, 3, 8, 16))
    try:
        first, _ = await child.call("total", page, returns=Asked)
        card.lose()
        with pytest.raises(ChildDied, match=f"exit status {ascend_network.LOST}"):
            await child.call("total", page, returns=Asked)
        with pytest.raises(Unavailable, match="the device cannot be used"):
            await child.call("total", page, returns=Asked)
        card.find()
        again, _ = await child.call("total", page, returns=Asked)
        assert again.total == first.total
        assert again.pid != first.pid
    finally:
        await child.close()


async def test_a_start_tells_how_many_gears_are_warm(card: Card, tmp_path: Path) -> None:
    sizes = tuple((8, width) for width in range(32, 32 * 15, 32))
    network = built(tmp_path / "models", Ascend(mode="dymhw", sizes=sizes))
    card.plan(seconds=0.2)
    notes: list[str] = []
    given = Given(engines=Engines(kind="ascend", ascend_start_timeout_s=120.0).model_dump(), network=str(network))
    child = Child("tests.support.ascend_program:create", given, name="engine", call_timeout_s=200.0, noted=notes.append)
    try:
        await asyncio.wait_for(child.start(), 200)
    finally:
        await child.close()
    assert notes
    assert all(note.startswith("small: ") and "of 14 gears are warm" in note for note in notes)


def test_sessions_end_with_the_process_that_opened_them(card: Card, open_network: Open, tmp_path: Path) -> None:
    found = open_network(built(tmp_path / "models", ASCEND))
    pid = found.pid
    assert pid is not None
    found.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
