"""What a figure was taken on: the first lines of every raw result, and the warning that the machine was not quiet."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
QUIET = 0.5
"""Load average of the last minute up to which a machine of two cores counts as quiet."""
FLAGS = ("amx_bf16", "amx_int8", "avx512_bf16", "avx512_vnni", "avx512f", "avx_vnni", "avx2", "fma")
"""What decides the speed of a network, best first."""


def processor() -> tuple[str, list[str]]:
    """Name of the processor, and which of `FLAGS` it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown", []
    fields = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    have = set(named.get("flags", "").split())
    return named.get("model name", "unknown"), [flag for flag in FLAGS if flag in have]


def kind_of(flags: Iterable[str]) -> str:
    """`amx`, `avx512_bf16` or `avx2`: the class of processor by which the targets differ."""
    have = set(flags)
    if "amx_bf16" in have:
        return "amx"
    return "avx512_bf16" if "avx512_bf16" in have else "avx2"


def version(package: str) -> str:
    """Version of an installed package, or a dash."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "-"


def revision() -> str:
    """Commit of this tree, with a plus where files differ from it."""
    try:
        command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def header(title: str, *, quick: bool, packages: Iterable[str] = ()) -> list[str]:
    """Lines that begin a raw result, each with a `#`."""
    name, flags = processor()
    load = os.getloadavg()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    lines = [
        f"# {title}",
        f"# {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {revision()}",
        f"# {len(os.sched_getaffinity(0))} cores, {name}, {memory:.0f} GiB; flags: {' '.join(flags)} (class {kind_of(flags)})",
        f"# load average at the start: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}",
        f"# Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in packages),
    ]
    if load[0] > QUIET:
        lines.append("# WARNING: the machine was not quiet; times are too long and ratios are blurred")
    if quick:
        lines.append("# QUICK RUN: shows that the benchmark works; its figures are not to be quoted")
    return lines


class Report:
    """Lines to the screen and, at the end, to a file of `benchmarks/results`."""

    def __init__(self, name: str, *, quick: bool, out: Path | None = None) -> None:
        suffix = ".quick.txt" if quick else ".txt"
        self.path = out if out is not None else ROOT / "benchmarks" / "results" / (name + suffix)
        self._lines: list[str] = []

    def say(self, *lines: str) -> None:
        for line in lines:
            print(line, flush=True)
            self._lines.append(line)

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(self._lines) + "\n", encoding="utf-8")
        print(f"-> {self.path}")
