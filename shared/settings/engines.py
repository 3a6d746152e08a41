"""Where networks run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from shared.settings.group import Group


def cache_folder() -> Path:
    """Where models and compiled networks lie, unless a setting says otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "docfleet"


class Engines(Group):
    """Where networks run."""

    kind: Literal["auto", "openvino", "onnxruntime", "ascend", "cann"] = Field(
        "auto",
        description="`auto` takes the faster one for this processor: OpenVINO with AVX-512, else ONNX Runtime. `ascend` runs `om` files on an"
        " NPU, `cann` the ONNX files there; neither is ever chosen by itself.",
    )
    profile: Literal["auto", "openvino", "onnxruntime", "ascend"] = Field(
        "auto",
        description="How lines are padded and batched; `auto` is the engine's own way. Another engine's makes their texts comparable to the letter.",
    )
    precision: Literal["auto", "f32", "bf16"] = Field(
        "auto", description="`auto` is bf16 where the CPU computes it faster: with AMX, or as measured (OpenVINO only)."
    )
    streams: int = Field(0, ge=0, le=64, description="Inferences at once per engine child; 0 is one per core.")
    models: Path = Field(default_factory=lambda: cache_folder() / "models", description="Folder of installed models.")
    compiled: Path = Field(
        default_factory=lambda: cache_folder() / "compiled", description="Cache of compiled networks."
    )
    recycle_bytes: int = Field(
        1_100 * 2**20,
        ge=2**20,
        description="Memory of its own (without libraries) at which an engine child is replaced, once its calls have ended. Warm: some 500 MB.",
    )
    ascend_target: str = Field(
        "",
        pattern=r"^[a-z0-9_-]*$",
        description="Which `om` files, as named to `docfleet models build --target`; empty takes those that are there, if they are of one target.",
    )
    ascend_device: int = Field(
        0, ge=0, le=255, description="Index of the card among those `ASCEND_RT_VISIBLE_DEVICES` shows to the process."
    )
    ascend_call_timeout_s: float = Field(
        30.0, gt=0, description="Seconds one inference on an NPU may take before its session is killed as hung."
    )
    ascend_start_timeout_s: float = Field(
        300.0,
        gt=0,
        description="Seconds without progress in which a session has to load its `om` and run every gear once.",
    )
    ascend_recycle_bytes: int = Field(
        4 * 2**30,
        ge=2**20,
        description="Device memory of one session, as npu-smi tells it, at which it is replaced between two calls.",
    )
    ascend_watch_s: float = Field(15.0, gt=0, le=3_600, description="Seconds between two looks at device memory.")
    ascend_environment: dict[str, str] = Field(
        {}, description="Variables of the processes that hold NPU sessions, over the defaults and over the environment."
    )
