"""ONNX Runtime on the CPU: the fastest engine where the processor has AVX2 and no AVX-512 (see `processor.engines`), and everywhere without OpenVINO.

One thread per inference and no spinning: two sessions of one thread read 45 lines a second on two cores, one of two threads 33,
and a spinning pool takes the core its neighbours need. Memory is bounded by the set of shapes, not by arena switches
(606 MB flat with few shapes, 800 and more with any).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import onnxruntime

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.engine import Array, Engine, Network, TensorInfo, checked
from shared.engines.processor import cores
from shared.engines.profiles import ONNXRUNTIME, PROFILES

if TYPE_CHECKING:
    from shared.settings import Engines

_TYPES = {"tensor(float)": "float32", "tensor(int64)": "int64", "tensor(uint8)": "uint8", "tensor(int32)": "int32"}


class OnnxRuntimeEngine:
    """Runs ONNX files as they are, in f32."""

    name = "onnxruntime"
    precision = "f32"

    def __init__(self, settings: Engines) -> None:
        self.version = str(onnxruntime.__version__)
        self.streams = settings.streams or cores()
        self.profile = ONNXRUNTIME if settings.profile == "auto" else PROFILES[settings.profile]

    def load(self, path: Path) -> Network:
        """Load and optimise a network."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions share no base but this
            raise DocfleetError(
                ErrorCode.model_unavailable,
                f"ONNX Runtime cannot load {path.name} ({str(error).strip():.200}); install the models again",
            ) from error
        return SessionNetwork(session, threading.Semaphore(self.streams))


class SessionNetwork:
    """A session may be run by many threads; the semaphore keeps them at the number of streams."""

    def __init__(self, session: onnxruntime.InferenceSession, free: threading.Semaphore) -> None:
        self._session = session
        self._free = free
        self.inputs = [_info(node) for node in session.get_inputs()]
        self.outputs = [_info(node) for node in session.get_outputs()]

    def infer(self, *arrays: Array) -> list[Array]:
        checked(arrays, self.inputs)
        with self._free:
            feed = {info.name: array for info, array in zip(self.inputs, arrays, strict=True)}
            return list(self._session.run(None, feed))


def _info(node: onnxruntime.NodeArg) -> TensorInfo:
    shape = tuple(size if isinstance(size, int) else None for size in node.shape)
    return TensorInfo(name=node.name, shape=shape, dtype=_TYPES.get(node.type, node.type))


def create(settings: Engines) -> Engine:
    """The engine for these settings."""
    return OnnxRuntimeEngine(settings)
