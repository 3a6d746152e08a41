"""Whose memory is looked at: the container's where it has a limit, else the machine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.telemetry import memory
from shared.telemetry.memory import Memory

pytestmark = pytest.mark.unit

MEMINFO = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\nHugePages_Total:       0\n"


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_container_of_cgroup_v2_is_its_limit_and_its_usage_without_the_file_cache_that_can_go(tmp_path):
    root = write(
        tmp_path,
        proc__meminfo=MEMINFO,
        sys__fs__cgroup__memoryDOTmax="2048\n",
        sys__fs__cgroup__memoryDOTcurrent="1500\n",
        sys__fs__cgroup__memoryDOTstat="anon 900\ninactive_file 500\n",
    )
    assert memory.read(root) == Memory(used=1000, limit=2048)


def test_a_container_of_cgroup_v1(tmp_path):
    root = write(
        tmp_path,
        proc__meminfo=MEMINFO,
        sys__fs__cgroup__memory__memoryDOTlimit_in_bytes="4096\n",
        sys__fs__cgroup__memory__memoryDOTusage_in_bytes="3000\n",
        sys__fs__cgroup__memory__memoryDOTstat="inactive_file 1\ntotal_inactive_file 1000\n",
    )
    assert memory.read(root) == Memory(used=2000, limit=4096)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"sys__fs__cgroup__memoryDOTmax": "max\n"},
        {"sys__fs__cgroup__memory__memoryDOTlimit_in_bytes": "9223372036854771712\n"},
    ],
)
def test_without_a_limit_it_is_the_machine(tmp_path, files):
    assert memory.read(write(tmp_path, proc__meminfo=MEMINFO, **files)) == Memory(used=600 * 1024, limit=1000 * 1024)


def test_where_nothing_is_known_nothing_is_claimed(tmp_path):
    assert memory.read(tmp_path) is None


def test_this_machine_has_some():
    assert 0 < memory.used() < memory.limit()
