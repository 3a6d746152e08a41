"""How much memory there is here and how much of it is taken: of the container, or of the machine where no limit is set.

A container is killed by the limit of its cgroup, whatever its processes count for themselves (children, shared memory and files of a
tmpfs are in it), so that is what is looked at. Taken is the working set as the kubelet sees it: usage without the file cache that would go
first.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

NO_LIMIT = 2**60
"""cgroup v1 says "no limit" with a number near 2^63, v2 with `max`."""


class Memory(msgspec.Struct, frozen=True):
    """Bytes."""

    used: int
    limit: int


def read(root: Path = Path("/")) -> Memory | None:
    """Memory now; none where the system shows neither cgroups nor /proc/meminfo. `root` is for tests."""
    try:
        return _cgroup_v2(root) or _cgroup_v1(root) or _machine(root)
    except (OSError, ValueError, KeyError):
        return None


def used() -> float:
    """Bytes taken; 0 where nobody knows."""
    memory = read()
    return 0.0 if memory is None else float(memory.used)


def limit() -> float:
    """Bytes there are; 0 where nobody knows."""
    memory = read()
    return 0.0 if memory is None else float(memory.limit)


def _cgroup_v2(root: Path) -> Memory | None:
    folder = root / "sys/fs/cgroup"
    most = _text(folder / "memory.max")
    if most is None or most == "max":
        return None
    return _working_set(folder / "memory.current", folder / "memory.stat", "inactive_file", int(most))


def _cgroup_v1(root: Path) -> Memory | None:
    folder = root / "sys/fs/cgroup/memory"
    most = _text(folder / "memory.limit_in_bytes")
    if most is None or int(most) >= NO_LIMIT:
        return None
    return _working_set(folder / "memory.usage_in_bytes", folder / "memory.stat", "total_inactive_file", int(most))


def _working_set(usage: Path, stat: Path, inactive: str, most: int) -> Memory:
    numbers = dict(line.split() for line in stat.read_text().splitlines())
    return Memory(max(0, int(usage.read_text()) - int(numbers.get(inactive, 0))), most)


def _machine(root: Path) -> Memory:
    lines = (line.split(":") for line in (root / "proc/meminfo").read_text().splitlines())
    kib = {name: int(rest.split()[0]) for name, rest in lines}
    return Memory((kib["MemTotal"] - kib["MemAvailable"]) * 1024, kib["MemTotal"] * 1024)


def _text(path: Path) -> str | None:
    return path.read_text().strip() if path.exists() else None
