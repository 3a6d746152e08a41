"""What an `om` file is: `built.json` beside it, written when it was made and compared with it when it is loaded.

An `om` says little about itself: no class names, no dictionary, and of its gears only the largest. So everything that must be known is
written down by `docfleet models build`, with the sha256 of the ONNX file it was made of and of the `om` itself.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from shared.contracts.errors import DocfleetError, ErrorCode

RECORD = "built.json"
OM = "network.om"
AGAIN = "run: docfleet models build"

Mode = Literal["static", "dymbatch", "dymhw", "dymdims", "dymshape"]
"""How shapes vary, in the words of ais_bench: one shape; batch sizes; image sizes; any dimensions; or anything within a range (no gears)."""

Shape = tuple[int, ...]
Gear = tuple[Shape, ...]
"""A set of shapes, one per input, that an `om` was compiled for."""


class Tensor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An input or output, by its name in the ONNX file; `None` in `shape` varies."""

    name: str
    dtype: str
    """numpy's name."""
    shape: tuple[int | None, ...]


class Built(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`built.json`. Invariant: with `mode` other than `dymshape` there is at least one gear, and every gear fits the inputs."""

    model: str
    target: str
    """As it was named to `docfleet models build`: `ascend310p3`."""
    soc: str
    """The chip it runs on, in atc's words: `Ascend310P3`. Another chip's `om` does not run."""
    installed: str
    """Name of the folder of the installed model, which holds the hash of its manifest."""
    onnx_sha256: str
    om_sha256: str
    mode: Mode
    gears: tuple[Gear, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    classes: int | None = None
    """Of a classifier: what the last dimension is where an output holds all classes."""
    output_bytes: tuple[int, ...] = ()
    """For `dymshape` only: room for each output, which the caller has to say (`custom_sizes`)."""
    command: tuple[str, ...] = ()
    """The atc line it was made with."""

    def largest(self, number: int) -> int:
        """Bytes of input `number` (0-based) in its largest gear."""
        size = np.dtype(self.inputs[number].dtype).itemsize
        return max(math.prod(gear[number]) for gear in self.gears) * size


def folder_of(network: Path, target: str) -> Path:
    """The folder of the `om` of the network file `network`. An empty `target` takes the one target there is.

    Raises `DocfleetError(model_unavailable)` when there is none, or more than one to choose from.
    """
    there = sorted(path.parent.name for path in network.parent.glob(f"*/{RECORD}"))
    if target:
        if target not in there:
            raise DocfleetError(
                ErrorCode.model_unavailable,
                f"{network.parent.name} was not built for {target} ({', '.join(there) or 'nothing'} is there); {AGAIN} --target {target}",
            )
        return network.parent / target
    if len(there) != 1:
        what = f"for {', '.join(there)}: set DOCFLEET_ENGINES__ASCEND_TARGET" if there else f"for no NPU; {AGAIN}"
        raise DocfleetError(ErrorCode.model_unavailable, f"{network.parent.name} was built {what}")
    return network.parent / there[0]


def read_built(network: Path, target: str) -> tuple[Built, Path]:
    """The record and the path of the `om` of a network file, when both are what they should be.

    Raises `DocfleetError(model_unavailable)` for a record that cannot be read, an `om` of another model, version or build.
    """
    folder = folder_of(network, target)
    try:
        built = msgspec.json.decode((folder / RECORD).read_bytes(), type=Built)
    except (OSError, msgspec.MsgspecError) as error:
        raise DocfleetError(
            ErrorCode.model_unavailable, f"{folder}/{RECORD} cannot be read ({error!s:.200}); {AGAIN}"
        ) from error
    om = folder / OM
    if built.installed != network.parent.name or built.onnx_sha256 != sha256_of(network):
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"{om} was made of another version of {built.model} than the installed one; {AGAIN} --target {built.target}",
        )
    if built.om_sha256 != sha256_of(om):
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"{om} is not the file that was built (its sha256 is another); copy it again, or {AGAIN} --target {built.target}",
        )
    return built, om


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file. Raises `DocfleetError(model_unavailable)` when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DocfleetError(
            ErrorCode.model_unavailable, f"{path} cannot be read ({error.strerror}); {AGAIN}"
        ) from error
