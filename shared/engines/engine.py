"""What a network runs on, as its users see it: load a file, give arrays, get arrays.

How many pictures or lines go into one call is a property of the engine, not of the code that calls it: on an NPU eight lines in
a call are right, on a CPU anything wide is faster alone. So every engine carries a `BatchProfile`, and nothing else decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class BatchProfile(msgspec.Struct, frozen=True, kw_only=True):
    """How text lines are batched on an engine. Widths are pixels at the model's height.

    Invariants: `batches` and `steps` are ascending in width, and each of their widths is a bucket of its own.
    """

    width_step: int
    """Widths are rounded up to a multiple of this, so that the set of shapes an engine sees stays small."""
    steps: tuple[tuple[int, int], ...] = ()
    """`(widest, step)`: finer steps for narrower lines, where padding is a larger share; `width_step` above the last one."""
    batches: tuple[tuple[int, int], ...]
    """`(widest bucket, lines per call)`, ascending; buckets above the last one go one line a call."""
    max_items: int
    """Lines taken out of a queue at once."""
    max_cost: int
    """Sum of the padded widths taken out of a queue at once."""
    linger_ms: float
    """Wait for a fuller batch, from its first line."""
    calls_per_stream: int = 4
    """Pages (calls of the engine child) that are read at once, per stream. A CPU's batches are small: four pages give each stream some 200
    lines to choose from, and more would only wait, and count as stalled the sooner. Where full batches pay, messages of few lines must
    come together: on a simulated NPU 16 at once leave nothing to put together, 64 fill it (`./dev bench batching`)."""

    def bucket(self, width: int) -> int:
        """The padded width of a line `width` pixels wide (at least one step)."""
        step = next((step for widest, step in self.steps if width <= widest), self.width_step)
        return max(1, -(-width // step)) * step

    def items(self, bucket: int) -> int:
        """Lines of this bucket that go into one call."""
        for widest, count in self.batches:
            if bucket <= widest:
                return count
        return 1

    def split(self, count: int, bucket: int) -> list[int]:
        """Sizes of the calls for `count` lines of a bucket: full calls, then powers of two.

        Few sizes mean few shapes: on a CPU the memory of an engine grows with each new one.
        """
        if count <= 0:
            return []
        full = self.items(bucket)
        sizes = [full] * (count // full)
        rest = count % full
        while rest:
            sizes.append(1 << (rest.bit_length() - 1))
            rest -= sizes[-1]
        return sizes


class TensorInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An input or output of a network; `None` in `shape` is a free dimension."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    """numpy's name, such as `float32`."""


class Network(Protocol):
    """A loaded network."""

    @property
    def inputs(self) -> list[TensorInfo]: ...

    @property
    def outputs(self) -> list[TensorInfo]: ...

    def infer(self, *arrays: Array) -> list[Array]:
        """Run once; blocks, with the interpreter lock released. Thread safe: `Engine.streams` callers run at once, the others wait.

        `arrays` in the order of `inputs`, contiguous; the result is in the order of `outputs` and belongs to the caller.
        """
        ...


class Engine(Protocol):
    """Something that runs networks."""

    @property
    def name(self) -> str:
        """`openvino`, `onnxruntime`, `ascend` or `cann`."""
        ...

    @property
    def version(self) -> str: ...

    @property
    def precision(self) -> str:
        """`f32` or `bf16`: what a network computes in; `om` where that was decided when the file was made."""
        ...

    @property
    def streams(self) -> int:
        """Inferences of one network that run at once."""
        ...

    @property
    def profile(self) -> BatchProfile: ...

    def load(self, path: Path) -> Network:
        """Load a network file. Raises `DocfleetError(model_unavailable)` for a file that cannot be loaded."""
        ...


def checked(arrays: tuple[Array, ...], inputs: list[TensorInfo]) -> None:
    """Raise `ValueError` when arrays do not fit: an engine's own message for this names neither the input nor the shape."""
    if len(arrays) != len(inputs):
        raise ValueError(f"the network takes {len(inputs)} arrays, not {len(arrays)}")
    for array, info in zip(arrays, inputs, strict=True):
        fits = array.ndim == len(info.shape) and all(
            want is None or want == got for want, got in zip(info.shape, array.shape, strict=True)
        )
        if not fits or array.dtype != np.dtype(info.dtype):
            raise ValueError(f"{info.name}: {array.dtype}{array.shape} does not fit {info.dtype}{info.shape}")
