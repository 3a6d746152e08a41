"""An NPU for tests: the double of the runtime in `aclruntime_double`, a card in a folder, and a small network built for it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from docfleet import om
from docfleet.atc import target_named
from shared.engines.ascend_built import Built
from shared.models.manifest import Ascend, File, Input, Manifest, Wheel

DOUBLE = Path(__file__).with_name("aclruntime_double")
TARGET = "ascend310p3"


class Card:
    """The card of the double: what goes wrong on it, and what was asked of it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def environment(self) -> dict[str, str]:
        """Of processes that are to find the double as `ais_bench`, `aclruntime`, `atc` and `npu-smi`."""
        path = os.pathsep.join(part for part in (str(DOUBLE), os.environ.get("PYTHONPATH", "")) if part)
        return {
            "ACL_DOUBLE": str(self.folder),
            "ACL_DOUBLE_PYTHON": sys.executable,
            "PATH": os.pathsep.join([str(DOUBLE / "bin"), os.environ["PATH"]]),
            "PYTHONPATH": path,
        }

    def plan(self, **plan: Any) -> None:
        """What happens from now on; see `device_double`. Faults count anew."""
        for used in self.folder.glob("used-*"):
            used.unlink()
        new = self.folder / "plan.new"
        new.write_text(json.dumps(plan))
        new.rename(self.folder / "plan.json")

    def lose(self) -> None:
        """From now on the card does not answer."""
        (self.folder / "lost").touch()

    def find(self) -> None:
        """The card is back."""
        (self.folder / "lost").unlink()

    def calls(self) -> list[dict[str, Any]]:
        """Inferences that ended, in order."""
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def work(self) -> list[dict[str, Any]]:
        """Those that were no warm-up."""
        return [call for call in self.calls() if not call["zeros"]]


def manifest_of(name: str, ascend: Ascend, classes: int | None = None) -> Manifest:
    """A model that no package carries."""
    return Manifest(
        name=name,
        version="1",
        stage="reader",
        licence="none",
        origin="a test",
        wheel=Wheel(package="none", version="1", platform="any", size=1),
        network=File(member="none", sha256="0" * 64),
        prepare=[],
        input=Input(shape=[None, 3, None, None], channels="rgb", mean=[0.5] * 3, std=[0.5] * 3),
        classes=classes,
        ascend=ascend,
    )


def described(**given: Any) -> Built:
    """What `built.json` says of a small `om`, for tests that open none: identity as it may be, and what is `given`."""
    return Built(
        model="small",
        target=TARGET,
        soc="Ascend310P3",
        installed="small-1-0",
        onnx_sha256="0",
        om_sha256="0",
        **given,
    )


def write_network(path: Path, shape: Sequence[int | str] = ("n", 3, "h", "w"), classes: int = 5) -> None:
    """An ONNX file: `x` (named so) to `y`, three times the mean of its channels, and `scores` `[batch, classes]`."""
    from onnx import TensorProto, checker, helper, numpy_helper, save

    weights = np.random.default_rng(7).normal(size=(1, classes)).astype(np.float32)
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["mean", "three"], ["y"]),
        helper.make_node("ReduceMean", ["mean"], ["one"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["one", "weights"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [shape[0], 1, *shape[2:]]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [shape[0], classes]),
        ],
        [numpy_helper.from_array(np.array(3, np.float32), "three"), numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    checker.check_model(model)
    save(model, str(path))


def built(
    models: Path, ascend: Ascend, *, name: str = "small", gears: bool = True, target: str = TARGET, classes: int = 5
) -> Path:
    """The small network, installed below `models` and built with the double of atc; the path of its ONNX file. Needs `Card.environment`.

    What was built once in this process is copied.
    """
    entry = manifest_of(name, ascend, classes)
    key = (entry.sha256(), ascend, gears, target)
    if key not in _BUILT:
        folder = Path(_KEPT.name) / str(len(_BUILT)) / entry.folder()
        folder.mkdir(parents=True)
        network = folder / "network.onnx"
        write_network(network, classes=classes)
        inputs, outputs = om._described(network)
        room = () if gears else om._room(network, inputs[0], ascend.gears())
        chip = target_named(target)
        om.build(
            om.Plan(
                entry=entry,
                target=chip,
                network=network,
                inputs=inputs,
                outputs=outputs,
                gears=gears,
                output_bytes=room,
            ),
            lambda text: None,
        )
        _BUILT[key] = folder
    shutil.copytree(_BUILT[key], models / entry.folder(), dirs_exist_ok=True)
    return models / entry.folder() / "network.onnx"


_KEPT = tempfile.TemporaryDirectory(prefix="docfleet-om-")
_BUILT: dict[Any, Path] = {}


def build_all(installed: Path, models: Path, *, gears: bool = True) -> Path:
    """The installed models under another folder, each built for the double; `models`. Needs `Card.environment`.

    Without `gears` any shape within their range is taken, as by `--input_shape_range`.
    """
    for place in installed.iterdir():
        if (place / "network.onnx").is_file():
            (models / place.name).mkdir(parents=True)
            for file in place.iterdir():
                if file.is_file():
                    (models / place.name / file.name).symlink_to(file)
    for plan in om.plans(models, (), TARGET, gears=gears):
        om.build(plan, lambda text: None)
    return models


def expected(x: np.ndarray, network: Path) -> list[np.ndarray]:
    """What the ONNX file gives on the CPU."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
    return list(session.run(None, {"x": x}))
