"""What OpenVINO is told to compute in, and what is rewritten for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import openvino
import pytest
from onnx import TensorProto, helper

from shared.engines import precision, processor
from shared.engines.openvino import OpenVinoEngine, vectorise
from shared.settings import Engines

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("flags", "f32_s", "bf16_s", "chosen"),
    [
        ("avx2", 2.0, 1.0, "f32"),
        ("avx512f avx512_bf16 amx_bf16", 1.0, 2.0, "bf16"),
        ("avx512f avx512_bf16", 1.0, 1.8, "f32"),
        ("avx512f avx512_bf16", 1.8, 1.0, "bf16"),
        ("avx512f avx512_bf16", 1.05, 1.0, "f32"),
    ],
)
def test_bf16_is_taken_with_amx_or_where_it_is_measured_to_be_faster(
    monkeypatch: pytest.MonkeyPatch, flags: str, f32_s: float, bf16_s: float, chosen: str
) -> None:
    monkeypatch.setattr(processor, "_flags", lambda: frozenset(flags.split()))
    now = [0.0]

    def product(core: openvino.Core, kind: str) -> Callable[[], object]:
        return lambda: now.__setitem__(0, now[0] + (f32_s if kind == "f32" else bf16_s))

    measured = precision.gain
    monkeypatch.setattr(precision, "product", product)
    monkeypatch.setattr(precision, "gain", lambda one, other: measured(one, other, lambda: now[0]))
    assert precision.fastest(openvino.Core()) == chosen


@pytest.mark.parametrize("spell", [range(8), range(2, 10), range(4, 12)], ids=["begins", "amid", "ends"])
@pytest.mark.parametrize("disturbed", ["one", "both"])
def test_a_slow_spell_of_the_machine_does_not_decide(spell: range, disturbed: str) -> None:
    now = [0.0]

    def work(seconds: float, hit: bool) -> Callable[[], None]:
        calls = iter(range(precision.ROUNDS))

        def run() -> None:
            now[0] += seconds * (5.0 if next(calls) in spell and hit else 1.0)

        return run

    one, other = work(1.0, hit=True), work(2.0, hit=disturbed == "both")
    assert precision.gain(one, other, lambda: now[0]) == pytest.approx(0.5)


def test_a_product_is_computed_in_the_precision_asked_for() -> None:
    core = openvino.Core()
    assert 0 < precision.gain(precision.product(core, "f32"), precision.product(core, "f32")) < 10


def hard_sigmoids(path: Path, parameters: list[tuple[float, float]]) -> None:
    """A network that multiplies its input by a HardSigmoid of it, one after another."""
    nodes, name = [], "x"
    for number, (alpha, beta) in enumerate(parameters):
        nodes.append(helper.make_node("HardSigmoid", [name], [f"gate{number}"], alpha=alpha, beta=beta))
        nodes.append(helper.make_node("Mul", [name, f"gate{number}"], [f"y{number}"]))
        name = f"y{number}"
    shape = [1, 3, None, None]
    graph = helper.make_graph(
        nodes,
        "gates",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)]), str(path))


def test_only_the_hard_sigmoid_that_is_an_hsigmoid_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    hard_sigmoids(path, [(1 / 6, 0.5), (0.2, 0.5), (1 / 6, 0.4), (1 / 6, 0.5)])
    model = openvino.Core().read_model(str(path))
    assert vectorise(model) == 2
    kinds = [node.get_type_name() for node in model.get_ops()]
    assert (kinds.count("HSigmoid"), kinds.count("HardSigmoid")) == (2, 2)


def test_a_rewritten_network_answers_as_its_formula(tmp_path: Path) -> None:
    path = tmp_path / "gates" / "network.onnx"
    path.parent.mkdir()
    parameters = [(1 / 6, 0.5), (0.2, 0.5)]
    hard_sigmoids(path, parameters)
    engine = OpenVinoEngine(Engines(precision="f32", streams=1, compiled=tmp_path / "compiled"))
    given = np.linspace(-8, 8, 3 * 32 * 32, dtype=np.float32).reshape(1, 3, 32, 32)
    wanted = given
    for alpha, beta in parameters:
        wanted = wanted * np.clip(alpha * wanted + beta, 0, 1)
    for _ in range(2):  # compiled, then out of the cache folder
        found = engine.load(path).infer(given)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
