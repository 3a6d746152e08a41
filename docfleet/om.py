"""Making `om` files: run atc, or write a script for a machine that has it, and write down what was made (`built.json`).

A build appears by one rename, so it is whole or absent.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from docfleet import atc
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.ascend_built import OM, RECORD, Built, Mode, Tensor, sha256_of
from shared.models.install import NETWORK, installed
from shared.models.manifest import Manifest, manifest, names

TIMEOUT_S = 3_600.0
"""For one model: atc takes minutes for a hundred gears."""

Say = Callable[[str], None]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One model to be built."""

    entry: Manifest
    target: atc.Target
    network: Path
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    precision: str | None = None
    gears: bool = True
    output_bytes: tuple[int, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the `om` and its record are."""
        return self.network.parent / self.target.name

    def line(self, output: Path) -> list[str]:
        """The atc line that writes `output` (without a suffix)."""
        name = self.inputs[0].name
        line = atc.command(self.network, output, name, self.entry, self.target, self.precision)
        return line if self.gears else atc.without_gears(line, name, atc.gears_of(self.entry)[1])


def plans(
    models: Path, wanted: Sequence[str], target: str, precision: str | None = None, gears: bool = True
) -> list[Plan]:
    """What is to be built of `wanted` (none means every model that has gears).

    Raises `DocfleetError(model_unavailable)` for a model that is not installed, and for a target that is none.
    """
    chosen = [manifest(name) for name in wanted or names()]
    chip = atc.target_named(target)
    found = []
    for entry in chosen:
        if not wanted and entry.ascend is None:
            continue
        _, all_gears = atc.gears_of(entry)
        network = installed(models, entry.name) / NETWORK
        inputs, outputs = _described(network)
        if len(inputs) != 1:
            raise DocfleetError(
                ErrorCode.model_unavailable, f"{entry.name} has {len(inputs)} inputs; one is known here"
            )
        room = () if gears else _room(network, inputs[0], all_gears)
        found.append(
            Plan(
                entry=entry,
                target=chip,
                network=network,
                inputs=inputs,
                outputs=outputs,
                precision=precision,
                gears=gears,
                output_bytes=room,
            )
        )
    return found


def build(plan: Plan, say: Say) -> Built:
    """Run atc and put the result in place. Raises `DocfleetError(model_unavailable)` with the end of what atc said."""
    plan.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=plan.folder.parent, prefix=".build-") as temporary:
        output = Path(temporary) / "network"
        line = plan.line(output)
        say(f"{plan.entry.name}: {len(atc.gears_of(plan.entry)[1])} gears for {plan.target.soc}")
        try:
            done = subprocess.run(
                line, env=without_venv(os.environ), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DocfleetError(ErrorCode.model_unavailable, f"atc did not run: {error!s:.300}") from error
        if done.returncode:
            said = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
            raise DocfleetError(
                ErrorCode.model_unavailable, f"atc could not build {plan.entry.name}: {' '.join(said[-3:]):.400}"
            )
        return place(plan, om_in(Path(temporary), "network"), line)


def without_venv(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of atc: that of the shell, before the virtual environment of this process came first in it.

    atc compiles with the Python that is first in `PATH`, which has the packages that CANN asks for (numpy up to 1.24 or 1.26, decorator, scipy
    and more). Those of docfleet are others.
    """
    found = dict(environment)
    if sys.prefix == sys.base_prefix:
        return found
    own = Path(sys.prefix, "bin")
    parts = found.get("PATH", "").split(os.pathsep)
    found["PATH"] = os.pathsep.join(part for part in parts if Path(part) != own)
    for name in ("VIRTUAL_ENV", "PYTHONHOME"):
        found.pop(name, None)
    return found


def om_in(folder: Path, stem: str) -> Path:
    """The `om` that atc wrote: it adds `_linux_x86_64` or `_linux_aarch64` to the names of some dynamic ones."""
    found = sorted(folder.glob(f"{stem}*.om"))
    if len(found) != 1:
        raise DocfleetError(
            ErrorCode.model_unavailable, f"there is {'no' if not found else 'more than one'} {stem}*.om in {folder}"
        )
    return found[0]


def place(plan: Plan, om: Path, line: Sequence[str]) -> Built:
    """Copy an `om` to where the engine looks for it, with its record; what was there is replaced. The file is for its owner and group to read."""
    varying, gears = atc.gears_of(plan.entry)
    mode: Mode = varying.mode if plan.gears else "dymshape"
    free = atc.free_axes(mode, gears)
    built = Built(
        model=plan.entry.name,
        target=plan.target.name,
        soc=plan.target.soc,
        installed=plan.network.parent.name,
        onnx_sha256=sha256_of(plan.network),
        om_sha256=sha256_of(om),
        mode=mode,
        gears=tuple((gear,) for gear in gears),
        inputs=tuple(_fixed(tensor, gears[0], free) for tensor in plan.inputs),
        outputs=plan.outputs,
        classes=plan.entry.classes,
        output_bytes=plan.output_bytes,
        command=tuple(line),
    )
    with tempfile.TemporaryDirectory(dir=plan.folder.parent, prefix=".place-") as temporary:
        new = Path(temporary) / plan.target.name
        new.mkdir()
        shutil.copyfile(om, new / OM)
        (new / OM).chmod(0o440)
        (new / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(built)))
        if plan.folder.exists():
            shutil.rmtree(plan.folder)
        new.rename(plan.folder)
    return built


def script(chosen: Sequence[Plan]) -> str:
    """A shell script for a machine with CANN: makes an `om` per model in its folder, from ONNX files that lie beside it as `NAME.onnx`."""
    rows = [
        "#!/bin/sh",
        "# Makes om files with atc. Needs CANN: source its set_env.sh first, outside of docfleet's virtual environment, for atc compiles with the",
        "# Python that is first in PATH and the packages that CANN asks for. Run it where the .onnx files lie.",
        "set -eu",
        "",
    ]
    for plan in chosen:
        line = plan.line(Path(plan.entry.name))
        line = [f"--model={plan.entry.name}.onnx" if word.startswith("--model=") else word for word in line]
        rows += [f"# {plan.entry.name}", atc.shell(line), ""]
    return "\n".join(rows)


def _fixed(tensor: Tensor, gear: Sequence[int], free: Sequence[int]) -> Tensor:
    """The input as the `om` has it: of the sizes of a gear, but for the free axes."""
    shape = tuple(None if axis in free else size for axis, size in enumerate(gear))
    return Tensor(name=tensor.name, dtype=tensor.dtype, shape=shape)


def _described(network: Path) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Inputs and outputs of an ONNX file."""
    import onnx

    graph = onnx.load(str(network), load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = tuple(_tensor(value) for value in graph.input if value.name not in constants)
    return inputs, tuple(_tensor(value) for value in graph.output)


def _tensor(value: Any) -> Tensor:
    import onnx

    kind = value.type.tensor_type
    shape = tuple(dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else None for dim in kind.shape.dim)
    return Tensor(name=value.name, dtype=str(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)), shape=shape)


def _room(network: Path, tensor: Tensor, gears: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Bytes of each output for the largest shape: run once on the CPU."""
    import math

    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # else a line for every constant that it folds
    session = onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])
    largest = max(gears, key=math.prod)
    return tuple(array.nbytes for array in session.run(None, {tensor.name: np.zeros(largest, tensor.dtype)}))
