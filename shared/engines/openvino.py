"""OpenVINO on the CPU, the default engine where the processor has AVX-512 (see `processor.engines`).

Settings that are not OpenVINO's defaults, each for a measured reason:
- `ENABLE_CPU_PINNING=False`: pinned, two processes with one thread each share core 0 (36 lines a second instead of 67).
- one stream per core and one thread per stream: 78 lines a second on two cores, against 66 with two threads in one stream.
- bf16 only where it is faster (`precision`): with AMX 2.5 times the speed of f32, with the same text; f32 everywhere else, which has to be said,
  for left alone OpenVINO takes bf16 wherever there are instructions for it.
- HardSigmoid is written as HSigmoid where the two are the same: OpenVINO has vector code for that one only, and fuses it with what it multiplies
  (layout 134 to 58 ms, seals 124 to 71 ms).
- compiled networks are kept in a folder: loading takes 0.1 s instead of 0.3 to 1 s.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import openvino
from openvino import opset5

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.engine import Array, Engine, Network, TensorInfo, checked
from shared.engines.lock import locked
from shared.engines.precision import fastest
from shared.engines.processor import cores
from shared.engines.profiles import OPENVINO, PROFILES

if TYPE_CHECKING:
    from shared.settings import Engines


KEPT_SHAPES = 384
"""Prepared operations that OpenVINO keeps, per network and stream, each for one shape; its own default is 5,000. Lines and pages come in ever new
shapes, and with bf16 (AMX) each operation holds weights in its own order. Worker and child after 150 pages of ever new shapes, two runs each, most
MB and seconds of processor: 5,000: 1,277 and 21; 512: 1,216 and 23; 384: 1,161 and 24; 256: 1,083 and 28. The bound is 1,200 MB."""


class OpenVinoEngine:
    """Invariant: one `Core`, so that all networks of a process share its thread pools and its cache folder."""

    name = "openvino"

    def __init__(self, settings: Engines) -> None:
        self.version = str(openvino.get_version())
        self.streams = settings.streams or cores()
        self.profile = OPENVINO if settings.profile == "auto" else PROFILES[settings.profile]
        self._core = openvino.Core()
        self.precision = fastest(self._core) if settings.precision == "auto" else settings.precision
        self._cache = settings.compiled

    def load(self, path: Path) -> Network:
        """Compile a network, or take it from the cache folder."""
        config: dict[str, object] = {
            "INFERENCE_PRECISION_HINT": self.precision,
            "NUM_STREAMS": self.streams,
            "INFERENCE_NUM_THREADS": self.streams,
            "ENABLE_CPU_PINNING": False,
            "CPU_RUNTIME_CACHE_CAPACITY": KEPT_SHAPES,
        }
        try:
            with self._compiling(path, config):
                model = self._core.read_model(str(path))
                vectorise(model)
                compiled = self._core.compile_model(model, "CPU", config)
        except RuntimeError as error:
            raise DocfleetError(
                ErrorCode.model_unavailable,
                f"OpenVINO cannot load {path.name} ({str(error).strip().splitlines()[-1]:.200}); install the models again",
            ) from error
        return _OpenVinoNetwork(compiled, self.streams)

    @contextmanager
    def _compiling(self, path: Path, config: dict[str, object]) -> Iterator[None]:
        """Point OpenVINO at the cache folder, one process at a time per network: it writes its files in place.

        A folder that cannot be written (read-only root of a container) costs start-up time and nothing else.
        """
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            lock = self._cache / f"{path.parent.name}.lock"
            lock.touch()
        except OSError:
            yield
            return
        config["CACHE_DIR"] = str(self._cache)
        with locked(lock):
            yield


def vectorise(model: openvino.Model) -> int:
    """Write each HardSigmoid that is `clip(x + 3, 0, 6) / 6` as HSigmoid, in place; returns how many there were."""
    changed = 0
    for node in model.get_ops():
        if node.get_type_name() != "HardSigmoid" or not (_is(node, 1, 1 / 6) and _is(node, 2, 0.5)):
            continue
        gate = opset5.hsigmoid(node.input_value(0))
        gate.set_friendly_name(node.get_friendly_name())
        node.output(0).replace(gate.output(0))
        changed += 1
    return changed


def _is(node: openvino.Node, port: int, value: float) -> bool:
    """Whether an input is this constant."""
    given = node.input_value(port).get_node()
    return given.get_type_name() == "Constant" and bool(np.isclose(given.get_data(), value, rtol=1e-6, atol=0).all())


class _OpenVinoNetwork:
    """Invariant: a request is in the queue or used by exactly one caller."""

    def __init__(self, compiled: openvino.CompiledModel, streams: int) -> None:
        self._compiled = compiled
        self._free: queue.LifoQueue[openvino.InferRequest] = queue.LifoQueue()
        for _ in range(streams):
            self._free.put(compiled.create_infer_request())
        self.inputs = [_info(port) for port in compiled.inputs]
        self.outputs = [_info(port) for port in compiled.outputs]

    def infer(self, *arrays: Array) -> list[Array]:
        checked(arrays, self.inputs)
        request = self._free.get()
        try:
            result = request.infer(list(arrays), share_inputs=True, share_outputs=False)
            return [result[index] for index in range(len(self.outputs))]
        finally:
            self._free.put(request)


def _info(port: openvino.ConstOutput) -> TensorInfo:
    shape = tuple(None if size.is_dynamic else int(size.get_length()) for size in port.partial_shape)
    return TensorInfo(name=port.any_name, shape=shape, dtype=port.element_type.to_dtype().name)


def create(settings: Engines) -> Engine:
    """The engine for these settings."""
    return OpenVinoEngine(settings)
