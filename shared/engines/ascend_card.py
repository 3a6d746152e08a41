"""What npu-smi says: which chip a card has, and how much device memory each process holds. Where there is no npu-smi, nothing is known.

The exporter's figures are up to a minute old, so a decision to replace a session looks here itself. The tables are those of npu-smi 23 to 25:
a card's line `| 0  310P3 | OK | …` (an A3 card has only its family there, `Ascend910`, which says nothing of the chip), a process's line
`| 0  0 | 3045 | python3 | 1532 |`, newer ones with the process id inside the container as a last column.
"""

from __future__ import annotations

import re
import shutil
import subprocess

TOOL = "npu-smi"
TIMEOUT_S = 20.0
"""npu-smi answers in 0.1 to 2 s; with a driver in trouble, never."""

_CHIP = re.compile(r"^\|\s*\d+\s+(\d{3}[\w-]*)\s*\|\s*\w+", re.MULTILINE)
_PROCESS = re.compile(r"^\|\s*\d+\s+\d+\s*\|\s*(\d+)\s*\|[^|]*\|\s*(\d+)\s*\|(?:\s*(\d+)\s*\|)?", re.MULTILINE)


def told() -> str:
    """What `npu-smi info` prints; empty where there is none, or where it fails or hangs."""
    tool = shutil.which(TOOL)
    if tool is None:
        return ""
    try:
        done = subprocess.run([tool, "info"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def chips(text: str) -> set[str]:
    """Chips of the cards, in atc's words (`Ascend310P3`)."""
    return {f"Ascend{name}" for name in _CHIP.findall(text)}


def held(text: str) -> dict[int, int]:
    """Process id (the one inside the container, where it is told) to bytes of device memory."""
    found: dict[int, int] = {}
    for pid, megabytes, inside in _PROCESS.findall(text):
        number = int(inside or pid)
        found[number] = found.get(number, 0) + int(megabytes) * 2**20
    return found
