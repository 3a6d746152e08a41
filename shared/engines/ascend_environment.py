"""Variables of the environment for NPUs: what each role gets where nobody says otherwise, and which cards a process sees.

They must be there before the runtime starts (`aclInit`), so they are set in the fresh process of a session before anything of the runtime is
imported. What the environment says already goes before the defaults, and `engines.ascend_environment` goes before both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from shared.contracts.errors import DocfleetError, ErrorCode

Role = Literal["session", "vl"]
"""`session` runs an om; `vl` is a vLLM-Ascend server, which the chart and `docs/ascend.md` start with these."""

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"

ROLES: dict[Role, dict[str, str]] = {
    "session": {
        # Dynamic-shape memory is expandable: 8 GB became 2 GB at 2 % of latency or less (a published case on one card). CANN 8.0 to 9.x,
        # envref_07_0137; 3 and 4 may cost performance, and newer versions will drop the variable.
        "GE_USE_STATIC_MEMORY": "3",
        # Errors only, and not to standard output, which is read for the reason of a failed call.
        "ASCEND_GLOBAL_LOG_LEVEL": "3",
        "ASCEND_SLOG_PRINT_TO_STDOUT": "0",
    },
    "vl": {
        # Default since vllm-ascend PR 5855; cannot be joined with max_split_size_mb.
        "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
        # As in the serve line of DeepSeek-OCR-2 on Ascend.
        "TASK_QUEUE_ENABLE": "1",
        # With trust_remote_code; else random "Invalid thread pool" crashes on ARM (vllm-ascend PR 7665).
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        "OMP_NUM_THREADS": "1",
    },
}


def environment_of(role: Role, present: Mapping[str, str], wished: Mapping[str, str]) -> dict[str, str]:
    """What has to be set for a role in an environment that is `present`, with what the settings ask for: `wished` wins, then `present`."""
    return {**{name: value for name, value in ROLES[role].items() if name not in present}, **wished}


def check_visible(value: str | None, device: int) -> None:
    """Refuse a list of cards that the runtime would cut short without a word, and an index beyond it.

    The runtime takes comma-separated indexes, ascending, without spaces, and drops everything after one that is not (envref_07_0028).
    Raises `DocfleetError(model_unavailable)`.
    """
    if value is None:
        return
    parts = value.split(",")
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit()]
    if len(numbers) != len(parts) or numbers != sorted(set(numbers)):
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"{VISIBLE}={value!r:.60} would be cut short: write ascending numbers with commas and no spaces, such as 0,1",
        )
    if device >= len(numbers):
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"{VISIBLE}={value} shows {len(numbers)} cards and DOCFLEET_ENGINES__ASCEND_DEVICE is {device}: it counts from 0 among those",
        )
