"""The atc lines that make `om` files of the installed networks: one per model, its gears from the model's manifest.

Decided here, and said in docs/ascend.md: pictures are normalised on the host, not by AIPP (atc refuses `--insert_op_conf` with `--dynamic_dims`);
the graph is the installed one, with its weights flushed and its classifier cut to the best class, so that 32 kB and not 198 MB leave the card;
precision is the chip's: `force_fp16` on 310P (atc's default), `must_keep_origin_dtype` on 910 (as MinerU makes its recogniser on 910B3).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.ascend_built import Mode
from shared.models.manifest import Ascend, Manifest

MAX_GEARS = 100
"""Of one om (ATC guide, atlasatcparam_16_0019 and 16_0020; 256 on Atlas 350)."""
_TARGET = re.compile(r"ascend(310p[1-9]?|310b[1-9]?|910[ab]?[1-9]?|910b2c|910b4-1|910_\d{4}|910pro[ab]|910premiuma)")
"""Names of chips as torch_npu knows them (Ascend/pytorch, NpuVariables.cpp at 00acf37e), and what may follow in their rows."""


class Target(msgspec.Struct, frozen=True):
    """A chip to compile for."""

    name: str
    """As it is named on the command line and in folders: `ascend310p3`."""
    soc: str
    """As atc and npu-smi name it: `Ascend310P3`."""

    @property
    def precision(self) -> str:
        """The `--precision_mode` where none is asked for."""
        return "force_fp16" if self.soc.startswith("Ascend310") else "must_keep_origin_dtype"


def target_named(name: str) -> Target:
    """The chip of a name; upper or lower case. Raises `DocfleetError(model_unavailable)` for one that is none."""
    lower = name.lower()
    if not _TARGET.fullmatch(lower):
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"{name!r:.40} is no Ascend chip: take Name from npu-smi info, with ascend before it, such as ascend310p3 or ascend910b4; of an A3"
            " card Chip Name and NPU Name from npu-smi info -t board -i 0 -c 0, such as ascend910_9392",
        )
    upper = lower.removeprefix("ascend").upper()
    return Target(lower, "Ascend" + upper.replace("PREMIUM", "Premium").replace("PRO", "Pro"))


def gears_of(entry: Manifest) -> tuple[Ascend, list[tuple[int, int, int, int]]]:
    """How the shapes of a model vary, and all of them. Raises `DocfleetError(model_unavailable)` where its manifest says nothing, or too much."""
    if entry.ascend is None:
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"the manifest of {entry.name} has no gears (`ascend`): it cannot be built for an NPU",
        )
    gears = entry.ascend.gears()
    if not 0 < len(gears) <= MAX_GEARS or (entry.ascend.mode == "static" and len(gears) != 1):
        raise DocfleetError(
            ErrorCode.model_unavailable, f"{entry.name} has {len(gears)} gears; an om has 1 to {MAX_GEARS}"
        )
    return entry.ascend, gears


def free_axes(mode: Mode, gears: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Axes of the input that are -1 in `--input_shape`."""
    if mode == "static":
        return ()
    if mode == "dymbatch":
        return (0,)
    if mode == "dymhw":
        return (2, 3)
    return tuple(axis for axis in range(4) if len({gear[axis] for gear in gears}) > 1)


def command(
    network: Path, output: Path, input_name: str, entry: Manifest, target: Target, precision: str | None = None
) -> list[str]:
    """The atc line for a model: `network` is its ONNX file, `output` the `om` without its suffix (atc adds it)."""
    varying, gears = gears_of(entry)
    mode = varying.mode
    free = free_axes(mode, gears)
    shape = ",".join("-1" if axis in free else str(size) for axis, size in enumerate(gears[0]))
    line = [
        "atc",
        "--framework=5",
        f"--model={network}",
        f"--output={output}",
        f"--soc_version={target.soc}",
        f"--input_format={'ND' if mode == 'dymdims' else 'NCHW'}",
        f"--input_shape={input_name}:{shape}",
    ]
    lists = {
        "dymbatch": ("--dynamic_batch_size", ","),
        "dymhw": ("--dynamic_image_size", ";"),
        "dymdims": ("--dynamic_dims", ";"),
    }
    if mode in lists:
        flag, between = lists[mode]
        line.append(f"{flag}={between.join(','.join(str(gear[axis]) for axis in free) for gear in gears)}")
    return [*line, f"--precision_mode={precision or target.precision}", "--log=error"]


def without_gears(line: Sequence[str], input_name: str, gears: Sequence[tuple[int, ...]]) -> list[str]:
    """The same line for shapes that may be anything within the range of the gears: for comparing only, its memory grows with each new shape."""
    ranges = []
    for axis in range(4):
        low, high = min(gear[axis] for gear in gears), max(gear[axis] for gear in gears)
        ranges.append(str(low) if low == high else f"{low}~{high}")
    kept = [word for word in line if not word.startswith(("--input_shape", "--dynamic_", "--input_format"))]
    return [*kept, "--input_format=ND", f"--input_shape_range={input_name}:[{','.join(ranges)}]"]


def shell(line: Sequence[str]) -> str:
    """A line as a shell takes it, one argument a row."""
    return " \\\n  ".join(shlex.quote(word) for word in line)
