"""What the processor of this machine can do, as far as an engine's choices depend on it."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def has_bf16() -> bool:
    """Whether bfloat16 products are done in hardware (AMX or AVX512-BF16).

    OpenVINO lists BF16 on processors that only emulate it as well, which is slower than f32; the flags of the kernel do not.
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    for line in text.splitlines():
        if line.startswith("flags"):
            return not {"amx_bf16", "avx512_bf16"}.isdisjoint(line.split())
    return False


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
