"""What is done about each failure of a session, and what a session is opened with; the session's process is a script here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from shared.children.block import Block
from shared.children.errors import ChildDied, ChildStalled
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.engines import ascend_network
from shared.engines.ascend_built import Tensor
from shared.engines.ascend_failures import Failure
from shared.engines.ascend_network import AscendNetwork, Loop
from shared.engines.ascend_session import Opening, Ran
from shared.settings import Engines
from tests.support.ascend import described

pytestmark = pytest.mark.unit
BUILT = described(
    mode="dymbatch",
    gears=(((1, 3),), ((2, 3),)),
    inputs=(Tensor(name="x", dtype="float32", shape=(None, 3)),),
    outputs=(Tensor(name="y", dtype="float32", shape=(None, 1)),),
)
X = np.arange(6, dtype=np.float32).reshape(2, 3)
GOOD = Ran(shapes=[(2, 1)])
LOOP = Loop()


class Scripted:
    """Stands for the process: what each start and each call comes to, in turn; then all is well."""

    made: Scripted
    starts: list[Exception]
    calls: list[Any]

    def __init__(self, program: str, settings: Opening, **given: Any) -> None:
        Scripted.made = self
        self.opening, self.given = settings, given
        self.pid = 17
        self.started = self.called = 0
        self.recycled: list[str] = []
        self.closed = False
        self.blocks: list[Block] = []

    async def start(self) -> None:
        self.started += 1
        if self.starts:
            raise self.starts.pop(0)

    async def call(self, method: str, argument: Any, blocks: list[Block], *, returns: type) -> tuple[Ran, list[Block]]:
        assert (method, argument.shapes, returns) == ("infer", [(2, 3)], Ran)
        self.called += 1
        self.blocks += blocks
        np.testing.assert_array_equal(blocks[0].array((2, 3), "float32"), X)
        came = self.calls.pop(0) if self.calls else GOOD
        if isinstance(came, Exception):
            raise came
        answers = [] if came.failure else [Block.of(np.full((2, 1), 5, np.float32))]
        self.blocks += answers
        return came, answers

    def recycle(self, reason: str = "recycled") -> None:
        self.recycled.append(reason)

    async def close(self) -> None:
        self.closed = True


def assert_closed(blocks: list[Block]) -> None:
    assert blocks
    for block in blocks:
        with pytest.raises(ValueError, match="closed"):
            block.fileno()


Make = Callable[..., AscendNetwork]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(ascend_network, "Child", Scripted)

    def make_(*calls: Any, starts: list[Exception] | None = None, lost: Any = None, **engines: Any) -> AscendNetwork:
        Scripted.calls, Scripted.starts = list(calls), list(starts or [])
        settings = Engines(kind="ascend", **engines)
        return AscendNetwork(BUILT, Path("/om/network.om"), settings, LOOP, lost or (lambda why: pytest.fail(why)))

    return make_


def test_what_a_session_is_opened_with(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_GLOBAL_LOG_LEVEL", "1")
    make(
        ascend_device=2,
        ascend_environment={"GE_MINE": "7"},
        ascend_call_timeout_s=4.0,
        ascend_start_timeout_s=50.0,
        recycle_bytes=10**9,
    )
    child = Scripted.made
    assert (child.opening.built, child.opening.om, child.opening.device) == (BUILT, "/om/network.om", 2)
    assert child.opening.environment["GE_MINE"] == "7"
    assert child.opening.environment["GE_USE_STATIC_MEMORY"] == "3"
    assert "ASCEND_GLOBAL_LOG_LEVEL" not in child.opening.environment, "it is in the environment already"
    assert child.given == {
        "name": "npu-small",
        "recycle_bytes": 10**9,
        "call_timeout_s": 4.0,
        "start_timeout_s": 50.0,
        "noted": ascend_network.progress.report,
    }


FAILED = {failure: Ran(failure=failure, why="said") for failure in Failure}
CASES = [
    (FAILED[Failure.memory], ErrorCode.resource_limit, 2, ["failed"]),
    (FAILED[Failure.device], ErrorCode.crashed, 2, ["failed"]),
    (FAILED[Failure.other], ErrorCode.internal, 2, []),
    (FAILED[Failure.refused], ErrorCode.internal, 2, []),
    (FAILED[Failure.shape], ErrorCode.conflict, 1, []),
    (ChildDied("exit status -9"), ErrorCode.crashed, 2, []),
    (ChildStalled("30 s"), ErrorCode.stalled, 2, []),
]
"""What came, the error if it comes again, tries, and for what the session is replaced after each (one that is gone replaces itself)."""


@pytest.mark.parametrize(("came", "code", "tries", "replaced"), CASES, ids=lambda value: str(value)[:30])
def test_each_failure_is_done_again_once_or_not_and_typed(
    make: Make, came: Any, code: ErrorCode, tries: int, replaced: list[str]
) -> None:
    network = make(*[came] * 5)
    with pytest.raises(DocfleetError, match="small") as raised:
        network.infer(X)
    child = Scripted.made
    assert raised.value.code is code
    assert child.called == tries
    assert child.recycled == replaced * tries
    if tries == 2:
        network = make(came)
        np.testing.assert_array_equal(network.infer(X)[0], np.full((2, 1), 5))
        assert (Scripted.made.called, Scripted.made.recycled) == (2, replaced)
    assert_closed(Scripted.made.blocks)


def test_when_no_session_can_be_opened_the_process_is_told(make: Make) -> None:
    told: list[str] = []
    network = make(Unavailable("npu-small", "the device cannot be used"), lost=told.append)
    network.infer(X)
    assert len(told) == 1
    assert "the device cannot be used" in told[0]


def test_what_has_no_gear_and_what_does_not_fit_is_not_sent(make: Make) -> None:
    network = make()
    with pytest.raises(DocfleetError, match=r"no gear for 4x3; it was not sent \(one of 2 is asked for\)") as raised:
        network.infer(np.ones((4, 3), np.float32))
    assert raised.value.code is ErrorCode.conflict
    for wrong in (X.astype(np.float64), np.ones((2, 4), np.float32), np.ones(3, np.float32)):
        with pytest.raises(ValueError, match="does not fit"):
            network.infer(wrong)
    assert Scripted.made.called == 0


def test_any_order_of_memory_is_sent_as_rows_and_the_answer_is_the_caller_s(make: Make) -> None:
    network = make()
    (answer,) = network.infer(np.asfortranarray(X))
    assert_closed(Scripted.made.blocks)
    answer[:] = 1
    np.testing.assert_array_equal(answer, np.ones((2, 1)))


@pytest.mark.parametrize(
    ("error", "starts"),
    [
        (DocfleetError(ErrorCode.model_unavailable, "it is another model's om"), 1),
        (DocfleetError(ErrorCode.crashed, "the device cannot be used"), 2),
        (DocfleetError(ErrorCode.resource_limit, "no memory"), 2),
        (ChildDied("exit status -9"), 2),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_start_that_may_have_been_an_accident_is_tried_twice(make: Make, error: Exception, starts: int) -> None:
    network = make(starts=[error] * 5)
    with pytest.raises(DocfleetError) as raised:
        network.start()
    assert raised.value.code is ErrorCode.model_unavailable, "nobody tries again of themselves"
    assert Scripted.made.started == starts
    if starts == 2:
        network = make(starts=[error])
        network.start()
        assert Scripted.made.started == 2


def test_a_session_is_replaced_and_closed_when_asked_to(make: Make) -> None:
    network = make()
    network.recycle()
    LOOP.run(_nothing())  # the loop takes its work in turn
    assert Scripted.made.recycled == ["recycled"]
    assert (network.closed, network.pid) == (False, 17)
    network.close()
    assert (network.closed, Scripted.made.closed) == (True, True)


async def _nothing() -> None:
    return None


def test_without_gears_any_shape_goes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "BUILT", msgspec.structs.replace(BUILT, mode="dymshape", gears=(((9, 3),),)))
    make().infer(X)
    assert Scripted.made.called == 1
