"""Graph rewrites done once, when a model is installed. Each keeps the meaning of the network and was measured to be worth it:

- `flush_denormals`: weights below the smallest normal float32 become 0. One published copy of a text detector holds 255,958 of them;
  its output is the same to the bit without them and comes 3 times faster in ONNX Runtime.
- `hardswish`: `x * clip(x + 3, 0, 6) / 6`, written as four operations, becomes `x * HardSigmoid(x)`: 2 times faster in ONNX Runtime.
- `top1`: a classifier over 18,710 classes gives the best class and its probability instead of all probabilities:
  32 kB out of the engine instead of 198 MB for a batch of thirteen wide lines, with the same text.
- `split_loop`: a network that writes a sequence with a Loop becomes what comes before the Loop (pictures to features), and the Loop's
  weights in a file of their own: OpenVINO and NPU compilers refuse such a Loop, and a few small matrix products per step need no engine.

onnx is imported inside the functions: a process that only finds its models installed never needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shared.contracts.errors import DocfleetError, ErrorCode

if TYPE_CHECKING:
    import onnx

WEIGHTS = "weights.npz"
"""Written beside the network by `split_loop`: float32 arrays by the names they have in the source."""

VERSION = 2
"""Part of the name of an installed model's folder; raise it when a rewrite changes what it writes."""

_BATCHED_GATHER = 12
"""The opset from which GatherND has `batch_dims`; from 11 to 12 nothing else changed its meaning."""

_AXES_AS_INPUT = 18
"""The opset from which ReduceMax takes its axes as an input."""

SMALLEST_NORMAL = np.finfo(np.float32).tiny


def prepare(source: Path, target: Path, steps: Sequence[str]) -> None:
    """Read an ONNX file, apply the named steps in order, check the graph, write it.

    Raises `DocfleetError(model_unavailable)` when a step finds nothing to do where it must (another network than the manifest means).
    """
    import onnx

    model = onnx.load(str(source))
    for step in steps:
        if step == "split_loop":
            np.savez(target.with_name(WEIGHTS), allow_pickle=False, **split_loop(model))
        else:
            STEPS[step](model)
    onnx.checker.check_model(model)
    onnx.save(model, str(target))


def flush_denormals(model: onnx.ModelProto) -> int:
    """Set float32 constants below the smallest normal number to 0, in place; returns how many there were."""
    from onnx import TensorProto, numpy_helper

    flushed = 0
    for tensor in _constants(model.graph):
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        denormal = (np.abs(values) < SMALLEST_NORMAL) & (values != 0)
        count = int(denormal.sum())
        if count:
            tensor.CopyFrom(numpy_helper.from_array(np.where(denormal, np.float32(0), values), tensor.name))
            flushed += count
    return flushed


def hardswish(model: onnx.ModelProto) -> int:
    """Write each Add-Clip-Mul-Div hard swish as HardSigmoid-Mul, in place; returns how many there were."""
    from onnx import helper

    graph = model.graph
    users = _users(graph)
    scalars = _scalars(graph)
    gone: set[str] = set()
    new: dict[str, list[onnx.NodeProto]] = {}
    for add in graph.node:
        found = _hardswish_at(add, users, scalars)
        if found is None:
            continue
        x, clip, multiply, divide = found
        gate = f"{divide.output[0]}/gate"
        new[divide.output[0]] = [
            helper.make_node("HardSigmoid", [x], [gate], name=f"{divide.name}/gate", alpha=1 / 6, beta=0.5),
            helper.make_node("Mul", [x, gate], [divide.output[0]], name=divide.name),
        ]
        gone.update(node.output[0] for node in (add, clip, multiply, divide))
    nodes = [n for node in graph.node for n in (new.get(node.output[0], []) if node.output[0] in gone else [node])]
    del graph.node[:]
    graph.node.extend(nodes)
    if not new:
        raise DocfleetError(ErrorCode.model_unavailable, "prepare: no hard swish found in this network")
    return len(new)


def top1(model: onnx.ModelProto) -> None:
    """Replace the one output `[..., classes]` (of known size) by `probability [..., 1]` and `index [..., 1]` (int64) of its largest entry, in place.

    The classes are looked at in groups: the best group by its largest entry, then the best class in it. Engines take the maximum of a group with
    vector instructions and TopK of all classes without (2 % of a text reader's time); ArgMax is slower than either. Of equal entries the
    first wins, as with TopK and ArgMax.
    """
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    if len(graph.output) != 1:
        raise DocfleetError(ErrorCode.model_unavailable, "prepare: top1 needs a network with one output")
    output = graph.output[0]
    shape = [d.dim_param or d.dim_value for d in output.type.tensor_type.shape.dim]
    outer, classes = shape[:-1], shape[-1]
    if not isinstance(classes, int) or classes < 1:
        raise DocfleetError(ErrorCode.model_unavailable, "prepare: top1 needs a known number of classes")
    groups = next(n for n in range(math.isqrt(classes), 0, -1) if classes % n == 0)
    size = classes // groups
    for name, values in (("one", [1]), ("grouped", [0] * len(outer) + [groups, size]), ("size", [size])):
        graph.initializer.append(numpy_helper.from_array(np.array(values, dtype=np.int64), f"top1/{name}"))
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx"):
            opset.version = max(opset.version, _BATCHED_GATHER)
            if opset.version >= _AXES_AS_INPUT:
                raise DocfleetError(ErrorCode.model_unavailable, f"prepare: top1 does not know opset {opset.version}")
    best = {"axis": -1, "largest": 1, "sorted": 1}
    graph.node.extend(
        [
            helper.make_node("Reshape", [output.name, "top1/grouped"], ["top1/groups"], name="top1/reshape"),
            helper.make_node("ReduceMax", ["top1/groups"], ["top1/maxima"], name="top1/max", axes=[-1], keepdims=0),
            helper.make_node(
                "TopK", ["top1/maxima", "top1/one"], ["probability", "top1/group"], name="top1/of_groups", **best
            ),
            helper.make_node(
                "GatherND", ["top1/groups", "top1/group"], ["top1/row"], name="top1/pick", batch_dims=len(outer)
            ),
            helper.make_node(
                "TopK", ["top1/row", "top1/one"], ["top1/again", "top1/inner"], name="top1/in_group", **best
            ),
            helper.make_node("Mul", ["top1/group", "top1/size"], ["top1/start"], name="top1/start"),
            helper.make_node("Add", ["top1/start", "top1/inner"], ["index"], name="top1/index"),
        ]
    )
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("probability", TensorProto.FLOAT, [*outer, 1]))
    graph.output.append(helper.make_tensor_value_info("index", TensorProto.INT64, [*outer, 1]))


def split_loop(model: onnx.ModelProto) -> dict[str, npt.NDArray[np.float32]]:
    """Cut the network before its one Loop, in place: its only output becomes the Loop's one input that depends on the picture and is used in it.

    Returns the constant matrices and vectors the Loop takes.
    """
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    loops = [node for node in graph.node if node.op_type == "Loop"]
    if len(loops) != 1:
        raise DocfleetError(ErrorCode.model_unavailable, "prepare: split_loop needs a network with one Loop")
    producers = {name: node for node in graph.node for name in node.output}
    body = next(a.g for a in loops[0].attribute if a.name == "body")
    constants = {tensor.name: tensor for tensor in graph.initializer}
    constants |= {
        node.output[0]: a.t
        for node in graph.node
        if node.op_type == "Constant"
        for a in node.attribute
        if a.name == "value"
    }
    weights: dict[str, npt.NDArray[np.float32]] = {}
    features: list[onnx.ValueInfoProto] = []
    unchanged = {value.name for value in body.output}
    for name, inner in zip(loops[0].input[2:], body.input[2:], strict=True):
        if inner.name not in unchanged or inner.type.tensor_type.elem_type != TensorProto.FLOAT:
            continue
        if name in constants:
            weights[name] = numpy_helper.to_array(constants[name])
        else:
            features.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, _dimensions(inner)))
    if len(features) != 1:
        raise DocfleetError(ErrorCode.model_unavailable, f"prepare: the Loop takes {len(features)} features, not one")
    needed, stack = set(), [features[0].name]
    while stack:
        node = producers.get(stack.pop())
        if node is not None and node.output[0] not in needed:
            needed.add(node.output[0])
            stack += node.input
    nodes = [node for node in graph.node if node.output[0] in needed]
    used = {name for node in nodes for name in node.input}
    initializers = [tensor for tensor in graph.initializer if tensor.name in used]
    for field, values in ((graph.node, nodes), (graph.initializer, initializers), (graph.output, features)):
        del field[:]
        field.extend(values)
    del graph.value_info[:]
    return weights


def _dimensions(value: onnx.ValueInfoProto) -> list[str | int]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


STEPS: dict[str, Callable[[Any], Any]] = {"flush_denormals": flush_denormals, "hardswish": hardswish, "top1": top1}
"""By the names that manifests use."""


def _constants(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    """Initializers, and the values of Constant nodes: exporters use either."""
    values = [a.t for node in graph.node if node.op_type == "Constant" for a in node.attribute if a.name == "value"]
    return [*graph.initializer, *values]


def _scalars(graph: onnx.GraphProto) -> dict[str, float]:
    """Constants of one element, by the name of what they feed."""
    from onnx import numpy_helper

    named = [(tensor.name, tensor) for tensor in graph.initializer]
    named += [
        (node.output[0], a.t)
        for node in graph.node
        if node.op_type == "Constant"
        for a in node.attribute
        if a.name == "value"
    ]
    arrays = ((name, numpy_helper.to_array(tensor)) for name, tensor in named)
    return {name: float(array.reshape(-1)[0]) for name, array in arrays if array.size == 1}


def _users(graph: onnx.GraphProto) -> dict[str, list[onnx.NodeProto]]:
    users: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    for output in graph.output:  # an output has a user too: it may not vanish
        users.setdefault(output.name, []).append(node)
    return users


def _hardswish_at(
    add: onnx.NodeProto, users: dict[str, list[onnx.NodeProto]], scalars: dict[str, float]
) -> tuple[str, onnx.NodeProto, onnx.NodeProto, onnx.NodeProto] | None:
    """`(x, clip, multiply, divide)` when a hard swish of x begins at this Add and nothing else uses its inner values."""
    x = _variable(add, "Add", 3.0, scalars)
    if x is None:
        return None
    clip = _only(users, add.output[0], "Clip")
    if clip is None or [scalars.get(name) for name in clip.input[1:]] != [0.0, 6.0]:
        return None
    multiply = _only(users, clip.output[0], "Mul")
    if multiply is None or sorted(multiply.input) != sorted([x, clip.output[0]]):
        return None
    divide = _only(users, multiply.output[0], "Div")
    if divide is None or scalars.get(divide.input[1]) != 6.0:
        return None
    return x, clip, multiply, divide


def _variable(node: onnx.NodeProto, kind: str, constant: float, scalars: dict[str, float]) -> str | None:
    """The other input of a two-input node of this kind whose one input is this constant."""
    if node.op_type != kind:
        return None
    first, second = node.input
    if scalars.get(second) == constant:
        return str(first)
    return str(second) if scalars.get(first) == constant else None


def _only(users: dict[str, list[onnx.NodeProto]], name: str, kind: str) -> onnx.NodeProto | None:
    found = users.get(name, [])
    return found[0] if len(found) == 1 and found[0].op_type == kind else None
