"""Graph rewrites on graphs small enough to be read: the meaning stays (onnx's own evaluator), the form is the promised one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines import prepare

pytestmark = pytest.mark.unit

FLOAT = TensorProto.FLOAT


def tensor(name: str, *values: float) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values if len(values) > 1 else values[0], dtype=np.float32), name)


def constant(name: str, *values: float) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=tensor(name, *values))


def model(nodes: list[onnx.NodeProto], initializers: list[onnx.TensorProto] | None = None) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", FLOAT, ["n", 4])],
        initializers or [],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def run(made: onnx.ModelProto, x: np.ndarray) -> list[np.ndarray]:
    onnx.checker.check_model(made)
    return list(ReferenceEvaluator(made).run(None, {"x": x}))


def hard_swish(*, six: float = 6.0, swapped: bool = False, extra: bool = False) -> onnx.ModelProto:
    nodes = [
        constant("three", 3.0),
        constant("zero", 0.0),
        constant("limit", six),
        constant("divisor", 6.0),
        helper.make_node("Add", ["three", "x"] if swapped else ["x", "three"], ["a"]),
        helper.make_node("Clip", ["a", "zero", "limit"], ["c"]),
        helper.make_node("Mul", ["c", "x"] if swapped else ["x", "c"], ["m"]),
        helper.make_node("Div", ["m", "divisor"], ["d"]),
        helper.make_node("Add", ["d", "c"], ["y"]) if extra else helper.make_node("Identity", ["d"], ["y"]),
    ]
    return model(nodes)


X = np.array([[-5.0, -3.0, -1.0, 0.5], [3.0, 2.9, 7.0, 0.0]], dtype=np.float32)


def kinds(made: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in made.graph.node if node.op_type != "Constant"]


def test_denormals_become_zero_in_initializers_and_in_constant_nodes_and_nothing_else_changes() -> None:
    small = [1e-39, -1e-40, 1.2e-38, 0.0]  # the third is the only one float32 holds as a normal number
    made = model(
        [constant("c", *small), helper.make_node("Add", ["x", "c"], ["a"]), helper.make_node("Mul", ["a", "i"], ["y"])],
        [tensor("i", 1e-41, 2.0, -3.0, 1.2e-38)],
    )
    assert prepare.flush_denormals(made) == 3
    values = {t.name: numpy_helper.to_array(t) for t in made.graph.initializer}
    np.testing.assert_array_equal(values["i"], np.array([0, 2, -3, 1.2e-38], np.float32))
    flushed = numpy_helper.to_array(made.graph.node[0].attribute[0].t)
    np.testing.assert_array_equal(flushed, np.array([0, 0, 1.2e-38, 0], np.float32))
    onnx.checker.check_model(made)
    assert prepare.flush_denormals(made) == 0


@pytest.mark.parametrize("swapped", [False, True])
def test_a_hard_swish_written_out_becomes_two_nodes_with_the_same_values(swapped: bool) -> None:
    made = hard_swish(swapped=swapped)
    before = run(made, X)
    assert prepare.hardswish(made) == 1
    assert kinds(made) == ["HardSigmoid", "Mul", "Identity"]
    np.testing.assert_allclose(run(made, X)[0], before[0], atol=1e-6)


@pytest.mark.parametrize("made", [hard_swish(six=5.0), hard_swish(extra=True)], ids=["other limit", "inner value used"])
def test_what_only_looks_like_a_hard_swish_is_left_alone_and_said_to_be_missing(made: onnx.ModelProto) -> None:
    before = made.SerializeToString()
    with pytest.raises(DocfleetError) as raised:
        prepare.hardswish(made)
    assert raised.value.code is ErrorCode.model_unavailable
    assert onnx.ModelProto.FromString(before).graph.node == made.graph.node


def test_top1_gives_the_best_class_and_its_probability() -> None:
    made = model([helper.make_node("Softmax", ["x"], ["y"], axis=-1)])
    full = run(made, X)[0]
    prepare.top1(made)
    assert [output.name for output in made.graph.output] == ["probability", "index"]
    probability, index = run(made, X)
    np.testing.assert_array_equal(index[:, 0], full.argmax(axis=1))
    np.testing.assert_array_equal(probability[:, 0], full.max(axis=1))


@given(st.integers(1, 60), st.integers(0, 1000))
@settings(max_examples=30)
def test_top1_takes_the_first_of_equals_whatever_the_number_of_classes(classes: int, seed: int) -> None:
    made = helper.make_model(
        helper.make_graph(
            [helper.make_node("Identity", ["x"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", FLOAT, ["n", "t", classes])],
            [helper.make_tensor_value_info("y", FLOAT, ["n", "t", classes])],
        ),
        opset_imports=[helper.make_opsetid("", 11)],
        ir_version=8,
    )
    prepare.top1(made)
    onnx.checker.check_model(made)
    x = np.random.default_rng(seed).integers(0, 4, (2, 5, classes)).astype(np.float32)
    probability, index = run(made, x)
    np.testing.assert_array_equal(index[..., 0], x.argmax(axis=2))
    np.testing.assert_array_equal(probability[..., 0], x.max(axis=2))


def looped() -> onnx.ModelProto:
    """x * 2 -> feature; a Loop of three steps adds feature * weight to a state."""
    f = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["b_feature", "b_weight"], ["product"]),
            helper.make_node("Add", ["b_state", "product"], ["b_state_out"]),
            helper.make_node("Identity", ["b_on"], ["b_on_out"]),
        ],
        "body",
        [
            f("b_step", TensorProto.INT64, []),
            f("b_on", TensorProto.BOOL, []),
            f("b_state", FLOAT, ["n", 4]),
            f("b_feature", FLOAT, ["n", 4]),
            f("b_weight", FLOAT, [4]),
        ],
        [
            f("b_on_out", TensorProto.BOOL, []),
            f("b_state_out", FLOAT, ["n", 4]),
            f("b_feature", FLOAT, ["n", 4]),
            f("b_weight", FLOAT, [4]),
        ],
    )
    nodes = [
        constant("two", 2.0),
        helper.make_node("Mul", ["x", "two"], ["feature"]),
        helper.make_node("Sub", ["x", "x"], ["start"]),
        helper.make_node("Loop", ["steps", "on", "start", "feature", "weight"], ["y", "f_out", "w_out"], body=body),
    ]
    steps = numpy_helper.from_array(np.array(3, dtype=np.int64), "steps")
    on = numpy_helper.from_array(np.array(True), "on")
    return model(nodes, [steps, on, tensor("weight", 1.0, 2.0, 3.0, 4.0)])


def test_a_loop_is_cut_off_and_its_weights_are_given_back() -> None:
    made = looped()
    np.testing.assert_allclose(run(looped(), X)[0], X * 2 * 3 * np.array([1, 2, 3, 4], np.float32), rtol=1e-6)
    weights = prepare.split_loop(made)
    assert list(weights) == ["weight"]
    np.testing.assert_array_equal(weights["weight"], np.array([1, 2, 3, 4], np.float32))
    assert kinds(made) == ["Mul"]
    np.testing.assert_array_equal(run(made, X)[0], X * 2)


def test_a_network_without_a_loop_cannot_be_split() -> None:
    with pytest.raises(DocfleetError):
        prepare.split_loop(hard_swish())


def test_prepare_writes_a_checked_file_and_the_weights_beside_it(tmp_path: Path) -> None:
    onnx.save(looped(), str(tmp_path / "in.onnx"))
    prepare.prepare(tmp_path / "in.onnx", tmp_path / "out.onnx", ["flush_denormals", "split_loop"])
    np.testing.assert_array_equal(run(onnx.load(str(tmp_path / "out.onnx")), X)[0], X * 2)
    with np.load(tmp_path / prepare.WEIGHTS) as weights:
        assert list(weights) == ["weight"]
