"""What runs in the process of one NPU session: an `om` file in ais_bench, every gear run once, and then one call, `infer`.

`InferSession.infer` holds the interpreter lock from the first copied byte to the last, and a session is not safe for two callers: so each
has a process of its own, and whoever waits for an answer waits without the lock. A process that hangs or whose device is lost is replaced from
outside. What the runtime prints is kept, because the reason of a failure is nowhere else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from shared.children import progress
from shared.children.block import Block
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.ascend_built import AGAIN, Built, Gear
from shared.engines.ascend_failures import Failure, failure_of, reason
from shared.engines.engine import Array

DTYPES = {
    0: "float32",
    1: "float16",
    2: "int8",
    3: "int32",
    4: "uint8",
    6: "int16",
    7: "uint16",
    8: "uint32",
    9: "int64",
}
DTYPES |= {10: "uint64", 11: "float64", 12: "bool"}
"""aclDataType, as `tensor_desc.datatype` has it."""
MAX_PRINTED = 64 * 2**10
"""Bytes of what was printed during a call that are looked at: the last ones."""
INSTALL = "install the CANN runtime, then aclruntime and ais_bench 0.0.2 (docs/ascend.md, section 2)"


STARTS = {
    Failure.memory: ErrorCode.resource_limit,
    Failure.shape: ErrorCode.model_unavailable,
    Failure.device: ErrorCode.crashed,
    Failure.refused: ErrorCode.model_unavailable,
    Failure.other: ErrorCode.internal,
}
"""Codes of a start that failed; only what `model_unavailable` says will be the same the next time."""


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is opened with."""

    built: Built
    om: str
    device: int
    environment: dict[str, str]


class Feeds(msgspec.Struct, frozen=True):
    """A call: shapes of the arrays that come as blocks, C ordered, in the order and types of `Built.inputs`."""

    shapes: list[tuple[int, ...]]


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: shapes of the outputs that come as blocks, in the order and types of `Built.outputs`; or why there are none."""

    shapes: list[tuple[int, ...]] = []
    failure: Failure | None = None
    why: str = ""


class Session:
    """The program of the process. `infer` is called by one thread at a time."""

    def __init__(self, opening: Opening) -> None:
        os.environ.update(opening.environment)  # before anything of the runtime is imported
        self._built = opening.built
        self._printed = _Printed()
        module = _interface()
        try:
            self._session = module.InferSession(opening.device, opening.om)
        except Exception as error:
            raise self._refused(error, "is not loaded") from error
        self._order, self._types = self._matched(self._session.get_inputs())
        self._outputs = self._matched_outputs(self._session.get_outputs())
        self._printed.take()
        self._warm()

    def infer(self, argument: Feeds, blocks: list[Block]) -> tuple[Ran, list[Block]]:
        """Run once. A failure of the runtime is an answer, not an exception: the caller decides what becomes of the session."""
        arrays = [
            block.array(shape, tensor.dtype)
            for block, shape, tensor in zip(blocks, argument.shapes, self._built.inputs, strict=True)
        ]
        try:
            outputs = self._run(arrays)
        except Exception as error:
            printed = self._printed.take()
            return Ran(failure=failure_of(error, printed), why=reason(error, printed)), []
        self._printed.take()
        return Ran(shapes=[array.shape for array in outputs]), [Block.of(array) for array in outputs]

    def _run(self, arrays: Sequence[Array]) -> list[Array]:
        # ais_bench compares bytes, not types: what comes in another type than the om's would be taken for something else.
        feeds = [
            np.ascontiguousarray(arrays[number], dtype=kind)
            for number, kind in zip(self._order, self._types, strict=True)
        ]
        room: Any = list(self._built.output_bytes) if self._built.mode == "dymshape" else None
        outputs = self._session.infer(feeds, mode=self._built.mode, custom_sizes=room or 1)
        found = [outputs[at] for at in self._outputs]
        for array, tensor in zip(found, self._built.outputs, strict=True):
            if array.ndim != len(tensor.shape):
                raise RuntimeError(f"output {tensor.name} has the shape {array.shape}: does not match {tensor.shape}")
        # Copies in our types: what the runtime gave may be its own memory.
        return [np.array(array, dtype=tensor.dtype) for array, tensor in zip(found, self._built.outputs, strict=True)]

    def _warm(self) -> None:
        """Run every gear once, so that nothing is prepared, and no memory taken, when the first page comes."""
        gears = self._built.gears if self._built.mode != "dymshape" else ()
        for number, gear in enumerate(gears):
            started = time.monotonic()
            try:
                self._run(self._zeros(gear))
            except Exception as error:
                raise self._refused(error, f"does not run its gear {_words(gear)}") from error
            seconds = time.monotonic() - started
            progress.report(
                f"{self._built.model}: {number + 1} of {len(gears)} gears are warm ({seconds:.2f} s for the last)"
            )

    def _zeros(self, gear: Gear) -> list[Array]:
        return [np.zeros(shape, dtype=tensor.dtype) for shape, tensor in zip(gear, self._built.inputs, strict=True)]

    def _matched(self, found: Sequence[Any]) -> tuple[list[int], list[str]]:
        """For each input of the om: which of ours it is, and its type. Raises when they are not the same, or the largest gear is not."""
        names = [tensor.name for tensor in self._built.inputs]
        if sorted(one.name for one in found) != sorted(names):
            raise self._other(f"its inputs are {', '.join(one.name for one in found)}, not {', '.join(names)}")
        order = [names.index(one.name) for one in found]
        types = [DTYPES.get(int(one.datatype), "unknown") for one in found]
        for number, one, kind in zip(order, found, types, strict=True):
            ours = self._built.inputs[number]
            shape = tuple(None if size < 0 else int(size) for size in one.shape)
            if shape != ours.shape and self._built.mode != "static":
                raise self._other(f"its input {ours.name} is {shape}, not {ours.shape}")
            if kind == "unknown" or np.dtype(kind).kind != np.dtype(ours.dtype).kind:
                raise self._other(f"its input {ours.name} is of type {kind}, not {ours.dtype}")
            if self._built.mode == "dymshape":
                continue
            largest = self._built.largest(number) * np.dtype(kind).itemsize // np.dtype(ours.dtype).itemsize
            if int(one.size) != largest:
                raise self._other(
                    f"its largest gear takes {one.size} bytes of {ours.name}, that of {len(self._built.gears)} gears {largest}"
                )
        if self._built.mode == "dymbatch":
            most = max(gear[0][0] for gear in self._built.gears)
            if int(self._session.get_max_dym_batchsize()) != most:
                raise self._other(f"its largest batch is {self._session.get_max_dym_batchsize()}, not {most}")
        return order, types

    def _matched_outputs(self, found: Sequence[Any]) -> list[int]:
        """For each of our outputs its place among those of the om: by name (atc writes `node:0:name`), else by order."""
        ours = self._built.outputs
        if len(found) != len(ours):
            raise self._other(f"it has {len(found)} outputs, not {len(ours)}")
        ends = [str(one.name).rsplit(":", 1)[-1] for one in found]
        names = [tensor.name for tensor in ours]
        places = [ends.index(name) for name in names] if sorted(ends) == sorted(names) else list(range(len(ours)))
        for tensor, at in zip(ours, places, strict=True):
            shape = tuple(found[at].shape)
            known = tensor.shape[-1]
            if len(shape) == len(tensor.shape) and shape and known is not None and shape[-1] not in (known, -1):
                what = "classes" if known == self._built.classes else "values"
                raise self._other(
                    f"its output {tensor.name} has {shape[-1]} {what} where {self._built.model} has {known}"
                )
        return places

    def _other(self, why: str) -> DocfleetError:
        return DocfleetError(
            ErrorCode.model_unavailable,
            f"the om of {self._built.model} is not what {self._built.target} was built as: {why}; {AGAIN}",
        )

    def _refused(self, error: Exception, what: str) -> DocfleetError:
        printed = self._printed.take()
        failure = failure_of(error, printed)
        cure = _CURES[failure].format(soc=self._built.soc)
        return DocfleetError(
            STARTS[failure], f"the om of {self._built.model} {what}: {cure} ({reason(error, printed)})"
        )


_CURES = {
    Failure.memory: "the device has no memory left; look at npu-smi info for what holds it",
    Failure.shape: f"it has no such gear; {AGAIN}",
    Failure.device: "the device cannot be used; check npu-smi info, driver and firmware",
    Failure.refused: "ais_bench refuses the file or the device number",
    Failure.other: f"check that the card is a {{soc}} and CANN is not older than the one atc came from, or {AGAIN}",
}


def _words(gear: Gear) -> str:
    return " and ".join("x".join(str(size) for size in shape) for shape in gear)


def _interface() -> ModuleType:
    """ais_bench's module. Raises `DocfleetError(model_unavailable)` where it, or the runtime below it, is missing."""
    try:
        return import_module("ais_bench.infer.interface")
    except ImportError as error:
        name = error.name or ""
        if name.startswith("ais_bench."):
            why = "the package ais_bench that is installed is another one (ais-bench-benchmark?): remove it"
        elif name in ("ais_bench", "aclruntime"):
            why = f"{name} is not installed"
        else:
            why = f"it cannot be imported ({error!s:.200}); is set_env.sh of CANN sourced?"
        raise DocfleetError(ErrorCode.model_unavailable, f"no NPU runtime: {why}; {INSTALL}") from error


class _Printed:
    """Standard output of this process, which C++ code writes to, in a file in memory."""

    def __init__(self) -> None:
        self._fd = os.memfd_create("printed", os.MFD_CLOEXEC) if hasattr(os, "memfd_create") else -1
        if self._fd >= 0:
            os.dup2(self._fd, 1)

    def take(self) -> str:
        """What was printed since the last time."""
        if self._fd < 0:
            return ""
        end = os.lseek(self._fd, 0, os.SEEK_END)
        text = os.pread(self._fd, MAX_PRINTED, max(0, end - MAX_PRINTED))
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        return text.decode(errors="replace")


def create(opening: Opening) -> Session:
    """The factory the child process calls."""
    return Session(opening)
