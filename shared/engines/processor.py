"""What the processor of this machine can do, as far as an engine's choices depend on it."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def has_bf16() -> bool:
    """Whether bfloat16 products are done in hardware (AMX or AVX512-BF16); whether that is faster than f32, `precision.fastest` says.

    OpenVINO lists BF16 on processors that only emulate it as well, which is slower than f32; the flags of the kernel do not.
    """
    return not {"amx_bf16", "avx512_bf16"}.isdisjoint(_flags())


def has_amx() -> bool:
    """Whether there is a unit for products of bfloat16 matrices."""
    return "amx_bf16" in _flags()


def engines() -> tuple[str, ...]:
    """Engines, the fastest for this processor first.

    OpenVINO where vectors are 512 bits wide, and 2.5 times so with AMX. With AVX2 alone its convolutions fall behind (CPU time of one thread on an
    EPYC 9004 that hides AVX-512, OpenVINO 2026.4 against ONNX Runtime 1.32): reading 104 to 100 us a pixel of width, finding
    lines 279 to 262 ms, layout 191 to 102 ms, tables 62 to 58 ms, seals 164 to 103 ms. Other processors were not measured and
    have the engine that treats them as its own.
    """
    return ("openvino", "onnxruntime") if "avx512f" in _flags() else ("onnxruntime", "openvino")


@lru_cache(maxsize=1)
def _flags() -> frozenset[str]:
    """What the kernel says the processor has; nothing where it says nothing."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    return next((frozenset(line.split()) for line in text.splitlines() if line.startswith("flags")), frozenset())


def cores() -> int:
    """Cores this process may use: its affinity, and the CPU quota of its control group (a container's limit), at least 1."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        usable = os.cpu_count() or 1
    quota = _quota()
    return max(1, min(usable, quota) if quota else usable)


def _quota() -> int | None:
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return None if limit == "max" else max(1, round(int(limit) / int(period)))
    except (OSError, ValueError):
        return None
