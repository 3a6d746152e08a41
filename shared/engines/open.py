"""From settings to an engine. Only the chosen engine is imported: OpenVINO costs 0.2 to 0.5 s of CPU, ONNX Runtime about as much."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.engine import BatchProfile, Engine
from shared.engines.processor import cores, engines
from shared.engines.profiles import PROFILES

if TYPE_CHECKING:
    from shared.settings import Engines


START_S = 120.0
"""Seconds without progress in which an engine on a CPU has loaded its networks, compiled for the first time on a busy machine."""

_PACKAGES = {"openvino": "openvino", "onnxruntime": "onnxruntime", "ascend": "ais_bench", "cann": "onnxruntime"}
"""Engine to the package it is made of."""


def available() -> list[str]:
    """Engines for this processor whose package is installed, the fastest for this processor first; imports none of them. `auto` takes the first."""
    return [name for name in engines() if find_spec(name) is not None]


def engine_name(settings: Engines) -> str:
    """Which engine these settings ask for, installed or not."""
    return settings.kind if settings.kind != "auto" else next(iter(available()), "openvino")


def profile(settings: Engines) -> BatchProfile:
    """The batch profile these settings ask for, or their engine's own; imports no engine."""
    return PROFILES[engine_name(settings) if settings.profile == "auto" else settings.profile]


def streams(settings: Engines) -> int:
    """Callers of one network at once: those asked for, else one per core; on an NPU two, of which one prepares while the other runs."""
    return settings.streams or (2 if on_npu(settings) else cores())


def on_npu(settings: Engines) -> bool:
    """Whether networks run on an NPU: then all are opened before the first call, for opening one takes all its gears' time."""
    return engine_name(settings) in ("ascend", "cann")


def start_timeout_s(settings: Engines) -> float:
    """Seconds without progress that a process with an engine may take to start: on an NPU a session's own limit, twice, is to be over before."""
    return START_S + (2 * settings.ascend_start_timeout_s if on_npu(settings) else 0.0)


def open_engine(settings: Engines) -> Engine:
    """The engine these settings ask for. Raises `DocfleetError(model_unavailable)` when its package is not installed."""
    kind = engine_name(settings)
    if find_spec(_PACKAGES[kind]) is None:
        how = "see docs/ascend.md" if kind in ("ascend", "cann") else "run: pip install 'docfleet[cpu]'"
        raise DocfleetError(ErrorCode.model_unavailable, f"the engine {kind} is not installed; {how}")
    return cast(Engine, import_module(f"shared.engines.{kind}").create(settings))
