"""ONNX Runtime with the CANN provider: the ONNX files as they are, on an NPU, where no `om` was built.

The provider compiles a graph for every new input shape (minutes for large ones, and memory that is not given back: microsoft/onnxruntime
#24498, PaddleOCR #13977), so this is for trying and comparing; production takes `ascend`. The provider is listed as available on machines
without an NPU, and a session that cannot use it runs on the CPU without a word: such a session is refused (seen with onnxruntime-cann 1.24.4).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnxruntime

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.engine import Engine, Network
from shared.engines.onnxruntime import SessionNetwork
from shared.engines.open import profile, streams

if TYPE_CHECKING:
    from shared.settings import Engines

PROVIDER = "CANNExecutionProvider"
OPTIONS: dict[str, Any] = {"enable_cann_graph": True, "precision_mode": "allow_fp32_to_fp16"}
"""Of the provider, beside `device_id`."""


class CannEngine:
    """Runs ONNX files on an NPU through ONNX Runtime."""

    name = "cann"
    precision = "f16"

    def __init__(self, settings: Engines) -> None:
        self.version = str(onnxruntime.__version__)
        self.streams = streams(settings)
        self.profile = profile(settings)
        self._device = settings.ascend_device
        if PROVIDER not in onnxruntime.get_available_providers():
            raise DocfleetError(
                ErrorCode.model_unavailable,
                "this ONNX Runtime has no CANN provider; remove onnxruntime and install onnxruntime-cann (docs/ascend.md, section 6)",
            )

    def load(self, path: Path) -> Network:
        """Load a network onto the NPU."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(path), options, providers=[(PROVIDER, {"device_id": self._device, **OPTIONS})]
            )
        except Exception as error:  # its exceptions share no base but this
            raise DocfleetError(
                ErrorCode.model_unavailable, f"ONNX Runtime cannot load {path.name} ({str(error).strip():.200})"
            ) from error
        used = session.get_providers()
        if not used or used[0] != PROVIDER:
            raise DocfleetError(
                ErrorCode.model_unavailable,
                f"{path.parent.name} would run on {', '.join(used) or 'nothing'} and not on an NPU; source set_env.sh of CANN, and look whether"
                " npu-smi info shows a card (docs/ascend.md, section 6; for the CPU: DOCFLEET_ENGINES__KIND=onnxruntime)",
            )
        return SessionNetwork(session, threading.Semaphore(self.streams))


def create(settings: Engines) -> Engine:
    """The engine for these settings."""
    return CannEngine(settings)
