"""What a session sends to the runtime and takes from it, and which `om` it refuses; the runtime is a few lines that write down what they got."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from shared.children.block import Block
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines import ascend_session
from shared.engines.ascend_built import Tensor
from shared.engines.ascend_failures import Failure
from shared.engines.ascend_session import DTYPES, Feeds, Opening, Session
from tests.support.ascend import described

pytestmark = pytest.mark.unit
CODES = {name: number for number, name in DTYPES.items()}


def tensor(name: str, shape: list[int], kind: str = "float32", size: int = 0) -> SimpleNamespace:
    """As the runtime describes an input or output; -1 in `shape` varies, `size` is that of the largest gear in bytes."""
    return SimpleNamespace(name=name, shape=shape, datatype=CODES[kind], size=size)


class Runtime:
    """Stands for ais_bench: `inputs` and `outputs` are the om's own, `answers` what comes back."""

    def __init__(self) -> None:
        # Another order than ours, half the width of numbers, and names as atc writes them.
        self.inputs = [tensor("size", [-1, 2], "int64", 4 * 2 * 8), tensor("x", [-1, 3, 8], "float16", 4 * 3 * 8 * 2)]
        self.outputs = [tensor("node_9:0:scores", [-1, 5], "float16"), tensor("node_3:0:best", [-1, 1], "int32")]
        self.memory = [np.zeros((4, 5), np.float16), np.zeros((4, 1), np.int32)]
        self.most = 4
        self.printed = ""
        self.fails: Exception | None = None
        self.calls: list[dict[str, Any]] = []
        self.opened: tuple[Any, ...] = ()
        self.environment: dict[str, str] = {}

    def module(self) -> ModuleType:
        runtime = self

        class InferSession:
            def __init__(self, device_id: int, model_path: str) -> None:
                runtime.opened = (device_id, model_path)

            def get_inputs(self) -> list[SimpleNamespace]:
                return runtime.inputs

            def get_outputs(self) -> list[SimpleNamespace]:
                return runtime.outputs

            def get_max_dym_batchsize(self) -> int:
                return runtime.most

            def infer(self, feeds: list[Any], mode: str, custom_sizes: Any) -> list[Any]:
                kept = [np.array(feed) for feed in feeds]
                row = all(feed.flags["C_CONTIGUOUS"] for feed in feeds)
                runtime.calls.append(
                    {"feeds": kept, "mode": mode, "sizes": custom_sizes, "list": type(feeds), "row": row}
                )
                if runtime.fails is not None:
                    raise runtime.fails
                return [array[: len(feeds[0])] for array in runtime.memory]

        found = ModuleType("ais_bench.infer.interface")
        found.InferSession = InferSession  # type: ignore[attr-defined]
        return found


class Printed:
    """In place of the descriptor that the runtime's C++ code writes to."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def take(self) -> str:
        told, self._runtime.printed = self._runtime.printed, ""
        return told


BUILT = described(
    mode="dymdims",
    gears=tuple(((batch, 3, 8), (batch, 2)) for batch in (1, 2, 4)),
    inputs=(
        Tensor(name="x", dtype="float32", shape=(None, 3, 8)),
        Tensor(name="size", dtype="int64", shape=(None, 2)),
    ),
    outputs=(
        Tensor(name="best", dtype="int64", shape=(None, 1)),
        Tensor(name="scores", dtype="float32", shape=(None, 5)),
    ),
    classes=5,
)
Open = Callable[..., Session]


@pytest.fixture
def runtime() -> Runtime:
    return Runtime()


@pytest.fixture
def open_session(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    kept = dict(os.environ)

    def imported(name: str) -> ModuleType:
        assert name == "ais_bench.infer.interface"
        runtime.environment = dict(os.environ)
        return runtime.module()

    monkeypatch.setattr(ascend_session, "import_module", imported)
    monkeypatch.setattr(ascend_session, "_Printed", lambda: Printed(runtime))

    def open_(device: int = 0, **changed: Any) -> Session:
        built = msgspec.structs.replace(BUILT, **changed)
        return Session(Opening(built=built, om="/om/network.om", device=device, environment={"GE_MINE": "7"}))

    yield open_
    os.environ.clear()
    os.environ.update(kept)


def infer(session: Session, *arrays: np.ndarray) -> tuple[Any, list[Block]]:
    blocks = [Block.of(np.ascontiguousarray(array)) for array in arrays]
    try:
        return session.infer(Feeds([array.shape for array in arrays]), blocks)
    finally:
        for block in blocks:
            block.close()


X = np.arange(48, dtype=np.float32).reshape(2, 3, 8)
SIZE = np.array([[1, 2], [3, 4]], np.int64)


def test_inputs_go_in_the_order_and_the_types_of_the_om(runtime: Runtime, open_session: Open) -> None:
    """ais_bench compares bytes only: 48 numbers of four bytes for 96 of two would be taken."""
    infer(open_session(device=3), X, SIZE)
    call = runtime.calls[-1]
    size, x = call["feeds"]
    assert (size.dtype, x.dtype) == (np.int64, np.float16)
    np.testing.assert_array_equal(size, SIZE)
    np.testing.assert_array_equal(x, X.astype(np.float16))
    assert (call["mode"], call["list"], call["row"]) == ("dymdims", list, True)
    assert runtime.opened == (3, "/om/network.om")


def test_outputs_come_by_their_names_in_our_types_and_are_our_own(runtime: Runtime, open_session: Open) -> None:
    session = open_session()
    runtime.memory[0][:] = np.arange(20).reshape(4, 5)
    runtime.memory[1][:] = 7
    ran, blocks = infer(session, X, SIZE)
    for array in runtime.memory:
        array[:] = 0  # the runtime's own memory is used again
    assert ran.failure is None
    assert ran.shapes == [(2, 1), (2, 5)]
    best, scores = (
        block.array(shape, one.dtype) for block, shape, one in zip(blocks, ran.shapes, BUILT.outputs, strict=True)
    )
    np.testing.assert_array_equal(best, np.full((2, 1), 7))
    np.testing.assert_array_equal(scores, np.arange(10).reshape(2, 5))
    for block in blocks:
        block.close()


def test_outputs_without_our_names_come_in_their_order(runtime: Runtime, open_session: Open) -> None:
    runtime.outputs = [tensor("node_3:0", [-1, 1], "int32"), tensor("node_9:0", [-1, 5], "float16")]
    runtime.memory = [np.full((4, 1), 3, np.int32), np.ones((4, 5), np.float16)]
    ran, blocks = infer(open_session(), X, SIZE)
    assert ran.shapes == [(2, 1), (2, 5)]
    for block in blocks:
        block.close()


def test_answers_in_memory_of_the_runtime_are_copied_when_the_type_is_ours(
    runtime: Runtime, open_session: Open
) -> None:
    runtime.outputs[0] = tensor("node_9:0:scores", [-1, 5])
    runtime.memory[0] = np.ones((4, 5), np.float32)
    session = open_session()
    outputs = session._run([X, SIZE])
    assert not any(np.shares_memory(output, own) for output in outputs for own in runtime.memory)


def test_every_gear_runs_once_with_zeros_before_the_session_is_there(
    runtime: Runtime, open_session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr(ascend_session.progress, "report", notes.append)
    open_session()
    assert [call["feeds"][1].shape for call in runtime.calls] == [(1, 3, 8), (2, 3, 8), (4, 3, 8)]
    assert not any(feed.any() for call in runtime.calls for feed in call["feeds"])
    assert [note.partition(" (")[0] for note in notes] == [f"small: {n} of 3 gears are warm" for n in (1, 2, 3)]


def test_variables_are_set_before_the_runtime_is_imported(runtime: Runtime, open_session: Open) -> None:
    open_session()
    assert runtime.environment["GE_MINE"] == "7"


def test_without_gears_room_for_the_outputs_is_asked_for_and_nothing_runs_before(
    runtime: Runtime, open_session: Open
) -> None:
    session = open_session(mode="dymshape", output_bytes=(100, 200))
    assert runtime.calls == []
    for block in infer(session, X, SIZE)[1]:
        block.close()
    assert runtime.calls[0]["sizes"] == [100, 200]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"inputs": [0, "name", "other"]}, "its inputs are other, x, not x, size"),
        ({"inputs": [1, "shape", [-1, 4, 8]]}, r"its input x is \(None, 4, 8\), not \(None, 3, 8\)"),
        ({"inputs": [1, "shape", [2, 3, 8]]}, r"its input x is \(2, 3, 8\), not \(None, 3, 8\)"),
        ({"inputs": [1, "datatype", CODES["int32"]]}, "its input x is of type int32, not float32"),
        ({"inputs": [0, "datatype", CODES["float64"]]}, "its input size is of type float64, not int64"),
        ({"inputs": [1, "datatype", 99]}, "its input x is of type unknown, not float32"),
        ({"inputs": [1, "size", 8 * 3 * 8 * 2]}, "its largest gear takes 384 bytes of x, that of 3 gears 192"),
        ({"outputs": [0, "shape", [-1, 6]]}, "its output scores has 6 classes where small has 5"),
        ({"outputs": [1, "shape", [-1, 2]]}, "its output best has 2 values where small has 1"),
    ],
)
def test_an_om_that_is_not_what_was_built_is_refused(
    runtime: Runtime, open_session: Open, change: dict[str, list[Any]], words: str
) -> None:
    for where, (number, field, value) in change.items():
        setattr(getattr(runtime, where)[number], field, value)
    with pytest.raises(
        DocfleetError, match=rf"the om of small is not what ascend310p3 was built as: {words}"
    ) as raised:
        open_session()
    assert raised.value.code is ErrorCode.model_unavailable
    assert runtime.calls == [], "nothing is sent to it"


def test_an_output_more_and_another_largest_batch(runtime: Runtime, open_session: Open) -> None:
    runtime.most = 8
    with pytest.raises(DocfleetError, match="its largest batch is 8, not 4"):
        open_session(mode="dymbatch")
    runtime.most = 4
    open_session(mode="dymbatch")
    runtime.outputs.append(tensor("more", [1]))
    with pytest.raises(DocfleetError, match="it has 3 outputs, not 2"):
        open_session()


def test_an_output_of_another_rank_is_a_failure_of_the_call(runtime: Runtime, open_session: Open) -> None:
    """Some versions give flat outputs."""
    session = open_session()
    runtime.memory[0] = np.zeros(20, np.float16)
    ran, blocks = infer(session, X, SIZE)
    assert (ran.failure, blocks) == (Failure.shape, [])
    assert "output scores has the shape" in ran.why


def test_what_an_earlier_call_printed_is_not_the_reason_of_a_later_failure(
    runtime: Runtime, open_session: Open
) -> None:
    runtime.printed = "[ERROR] EL0004: while it was loaded"
    session = open_session()
    runtime.printed = "[ERROR] EL0004: some memory was short, and then it went"
    for block in infer(session, X, SIZE)[1]:
        block.close()
    runtime.fails = RuntimeError("[-1][ACL: general failure] ")
    ran, blocks = infer(session, X, SIZE)
    assert (ran.failure, ran.why, blocks) == (Failure.other, "[-1][ACL: general failure]", [])
    runtime.printed = "[ERROR] EZ9999: ret 507015"
    ran, _ = infer(session, X, SIZE)
    assert ran.failure is Failure.device
    assert "EZ9999" in ran.why


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("[2][ACL: memory allocation fail] "), ErrorCode.resource_limit),
        (RuntimeError("[507015][Error code unknown] "), ErrorCode.crashed),
        (RuntimeError("[-1][ACL: general failure] "), ErrorCode.internal),
        (RuntimeError("the dymDims parameter is not correct"), ErrorCode.model_unavailable),
        (ValueError("is illegal"), ErrorCode.model_unavailable),
    ],
)
def test_only_what_will_be_the_same_the_next_time_is_final_at_a_start(
    runtime: Runtime, open_session: Open, error: Exception, code: ErrorCode
) -> None:
    runtime.fails = error
    with pytest.raises(DocfleetError, match="does not run its gear 1x3x8 and 1x2") as raised:
        open_session()
    assert raised.value.code is code
