"""From settings to an engine. Only the chosen engine is imported: OpenVINO costs 0.2 to 0.5 s of CPU, ONNX Runtime about as much."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.engine import BatchProfile, Engine
from shared.engines.processor import engines
from shared.engines.profiles import PROFILES

if TYPE_CHECKING:
    from shared.settings import Engines


def available() -> list[str]:
    """Engines whose package is installed, the fastest for this processor first; imports none of them. `auto` takes the first."""
    return [name for name in engines() if find_spec(name) is not None]


def engine_name(settings: Engines) -> str:
    """Which engine these settings ask for, installed or not."""
    return settings.kind if settings.kind != "auto" else next(iter(available()), "openvino")


def profile(settings: Engines) -> BatchProfile:
    """The batch profile of the engine these settings ask for; imports no engine."""
    return PROFILES[engine_name(settings)]


def open_engine(settings: Engines) -> Engine:
    """The engine these settings ask for. Raises `DocfleetError(model_unavailable)` when its package is not installed."""
    kind = engine_name(settings)
    if kind not in available():
        raise DocfleetError(
            ErrorCode.model_unavailable, f"the engine {kind} is not installed; run: pip install 'docfleet[cpu]'"
        )
    return cast(Engine, import_module(f"shared.engines.{kind}").create(settings))
