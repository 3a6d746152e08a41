"""A network on the double: every mode gives what the ONNX file gives, all gears are warm, and nothing else is ever sent."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.ascend_network import AscendNetwork
from shared.models.manifest import Ascend
from tests.support.ascend import Card, built, expected

pytestmark = pytest.mark.integration
Open = Callable[..., AscendNetwork]

MODES = [
    Ascend(mode="static", sizes=((8, 16),)),
    Ascend(mode="dymbatch", batches=(1, 2, 4), sizes=((8, 16),)),
    Ascend(mode="dymhw", sizes=((8, 16), (16, 8), (24, 32))),
    Ascend(mode="dymdims", batches=(1, 2, 4), sizes=((8, 16), (8, 32), (8, 640)), max_width_sum=640),
]


@pytest.mark.parametrize("ascend", MODES, ids=lambda ascend: ascend.mode)
def test_every_gear_is_warm_and_answers_as_the_onnx_file(
    card: Card, open_network: Open, tmp_path: Path, ascend: Ascend
) -> None:
    network = built(tmp_path / "models", ascend)
    found = open_network(network)
    gears = [",".join(map(str, gear)) for gear in ascend.gears()]
    assert [call["shape"] for call in card.calls()] == gears, "every gear once, before the first page"
    assert all(call["zeros"] for call in card.calls())
    random = np.random.default_rng(1)
    for gear in ascend.gears():
        x = random.normal(size=gear).astype(np.float32)
        for got, wanted in zip(found.infer(x), expected(x, network), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)
    assert [call["shape"] for call in card.work()] == gears
    assert {call["mode"] for call in card.calls()} == {ascend.mode}


def test_arrays_of_any_order_are_sent_in_c_order_and_outputs_belong_to_the_caller(
    open_network: Open, tmp_path: Path
) -> None:
    network = built(tmp_path / "models", MODES[0])
    found = open_network(network)
    x = np.asfortranarray(np.random.default_rng(2).normal(size=(1, 3, 8, 16)).astype(np.float32))
    first = found.infer(x)
    kept = [array.copy() for array in first]
    found.infer(np.ones((1, 3, 8, 16), np.float32))
    for array, copy, wanted in zip(first, kept, expected(x, network), strict=True):
        np.testing.assert_array_equal(array, copy)
        np.testing.assert_array_equal(array, wanted)
    first[0][:] = 0.0


def test_the_double_may_answer_as_to_the_first_input_of_a_shape(card: Card, open_network: Open, tmp_path: Path) -> None:
    """For runs over many pages that are about memory and not about text."""
    network = built(tmp_path / "models", MODES[2])
    found = open_network(network)
    card.plan(answers="first")
    small, large = (np.ones((1, 3, *size), np.float32) for size in MODES[2].sizes[:2])
    for x, wanted in ((small, small), (2 * small, small), (3 * large, 3 * large), (large, 3 * large)):
        np.testing.assert_array_equal(found.infer(x)[0], expected(wanted, network)[0])
    assert len(card.work()) == 4, "each is a call all the same"
    card.plan()
    np.testing.assert_array_equal(found.infer(2 * small)[0], expected(2 * small, network)[0])


def test_calls_leave_nothing_open_here_or_in_the_session(open_network: Open, tmp_path: Path) -> None:
    found = open_network(built(tmp_path / "models", MODES[0]))
    x = np.ones((1, 3, 8, 16), np.float32)

    def open_files() -> int:
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), found.pid))

    def at_rest(most: int) -> int:
        """Once it is within `most`, or after ten seconds: a session lets go of a call's blocks after it has answered."""
        until = time.monotonic() + 10
        while True:
            now = open_files()
            if now <= most or time.monotonic() > until:
                return now
            time.sleep(0.02)

    idle = open_files()
    found.infer(x)
    before = at_rest(idle)
    gc.disable()  # what is given back late is not given back
    try:
        for _ in range(20):
            found.infer(x)
        assert at_rest(before) <= before
    finally:
        gc.enable()


def test_a_shape_without_a_gear_and_a_wrong_type_are_never_sent(card: Card, open_network: Open, tmp_path: Path) -> None:
    found = open_network(built(tmp_path / "models", MODES[3]))
    with pytest.raises(DocfleetError, match="no gear for 4x3x8x640") as raised:
        found.infer(np.ones((4, 3, 8, 640), np.float32))
    assert raised.value.code is ErrorCode.conflict
    for wrong in (
        np.ones((1, 3, 8, 16), np.float64),
        np.ones((1, 4, 8, 16), np.float32),
        np.ones((3, 8, 16), np.float32),
    ):
        with pytest.raises(ValueError, match="does not fit"):
            found.infer(wrong)
    with pytest.raises(ValueError, match="takes 1 arrays"):
        found.infer()
    assert card.work() == []


def test_callers_take_turns_on_a_session_that_is_not_safe_for_two(open_network: Open, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    network = built(tmp_path / "models", MODES[1])
    found = open_network(network)
    arrays = [np.full((2, 3, 8, 16), number + 1, np.float32) for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(found.infer, arrays))
    for x, answer in zip(arrays, answers, strict=True):
        np.testing.assert_array_equal(answer[0], expected(x, network)[0])


@pytest.mark.timeout(900)
def test_device_memory_is_flat_with_gears_and_grows_without_them(
    card: Card, open_network: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 pages of mixed sizes; without gears 400 are enough: the double grows as the published case did, so the cure has something to cure."""
    sizes = tuple((16, width) for width in range(32, 832, 32))
    ascend = Ascend(mode="dymhw", sizes=sizes)
    random = np.random.default_rng(3)
    widths = random.integers(20, 800, size=2_000)

    def held(network: AscendNetwork, pages: int, gear: bool) -> list[int]:
        for width in widths[:pages]:
            bucket = -(-int(width) // 32) * 32 if gear else int(width)
            network.infer(np.ones((1, 3, 16, bucket), np.float32))
        return [call["held"] for call in card.work()[-pages:]]

    with_gears = held(open_network(built(tmp_path / "with", ascend)), 2_000, gear=True)
    assert set(with_gears) == {with_gears[0]}
    assert {call["shape"] for call in card.work()} <= {f"1,3,16,{width}" for _, width in sizes}
    monkeypatch.setenv("GE_USE_STATIC_MEMORY", "0")
    without = held(open_network(built(tmp_path / "without", ascend, gears=False)), 400, gear=False)
    assert without == sorted(without)
    shapes = len({int(width) for width in widths[:400]})
    assert without[-1] - without[0] > 0.9 * shapes * 400 * 16 * 3 * 64, (
        "every new shape takes memory that is not given back"
    )
    monkeypatch.setenv("GE_USE_STATIC_MEMORY", "3")
    cured = held(open_network(built(tmp_path / "cured", ascend, gears=False)), 400, gear=False)
    assert cured[-1] - cured[0] < 0.05 * (without[-1] - without[0])
