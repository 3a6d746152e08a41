"""Rows in memory and on disk keep the same promises: those of a dictionary, partition by partition, and nothing survives a start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.assembler.join.faust_tables import read_open
from services.assembler.join.memory import Document, Opened, Page, encode_state
from services.assembler.join.rows import Disk, DiskRows
from tests.unit.assembler.join import tables as t

pytestmark = pytest.mark.unit
MB = 2**20

Rows = MutableMapping[bytes, Any]


def disk_rows(disk: Disk, partition: int) -> DiskRows[Any]:
    return DiskRows(disk, partition, lambda key, row: read_open(key, row, 0.0), encode_state)


@pytest.fixture(params=["memory", "rocksdb"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[int], Rows]]:
    if request.param == "memory":
        yield lambda partition: {}
        return
    disk = Disk(tmp_path, MB)
    yield lambda partition: disk_rows(disk, partition)
    disk.close()


KEYS = st.sampled_from([b"d", b"d/1", b"d/10", b"d/2", b"e", b"e/1"])
STEPS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["set", "pop", "del"]), KEYS, st.integers(0, 9)))


@given(STEPS)
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_rows_are_a_dictionary_for_each_partition(make: Callable[[int], Rows], steps: Any) -> None:
    both: list[tuple[Rows, dict[bytes, Any]]] = [(make(7), {}), (make(8), {})]
    for which, what, key, number in steps:
        rows, model = both[which]
        row = Page(number) if b"/" in key else Document(parked=number)
        if what == "set":
            rows[key] = model[key] = row
        elif what == "pop":
            assert rows.pop(key, None) == model.pop(key, None)
        elif key in model:
            del rows[key], model[key]
        else:
            with pytest.raises(KeyError):
                del rows[key]
    for rows, model in both:
        assert dict(rows.items()) == model
        assert len(rows) == len(model)
        assert all((key in rows) == (key in model) for key in (b"d", b"d/1", b"x"))
    both[0][0].clear()
    assert (dict(both[0][0]), dict(both[1][0])) == ({}, both[1][1])


def test_state_comes_back_as_it_was(make: Callable[[int], Rows]) -> None:
    rows = make(0)
    rows[b"d"] = Document(Opened(t.opened(pages=5_000), 128, composed=b"\xff" * 600))
    rows[b"d/7"] = Page(0, ["a"], ["b"], [], True, None, ["c"], ["d"])
    assert (rows[b"d"].opened.pages[-1], rows[b"d/7"].again) == (5_000, ["d"])


def test_nothing_survives_a_start_and_the_living_are_left_alone(tmp_path: Path) -> None:
    first, second = Disk(tmp_path, MB), Disk(tmp_path, MB)
    disk_rows(first, 0)[b"d"] = Document(parked=1)
    assert dict(disk_rows(second, 0)) == {}
    first.db.flush()
    first.close()
    third = Disk(tmp_path, MB)  # in the place of the first
    assert third.db.get(b"\0\0\0\0d") is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["open-0", "open-1"]
    second.close()
    third.close()


def test_a_place_of_a_killed_process_is_taken_again(tmp_path: Path) -> None:
    program = f"""
import os, signal, pathlib
from services.assembler.join.rows import Disk
disk = Disk(pathlib.Path({str(tmp_path)!r}), {MB})
disk.db.put(b"\\0\\0\\0\\0d", b"old")
disk.db.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", program], env=os.environ, check=False)
    assert killed.returncode == -9
    disk = Disk(tmp_path, MB)
    assert dict(disk_rows(disk, 0)) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["open-0"]
    disk.close()


def test_memory_is_bounded_by_the_setting(tmp_path: Path) -> None:
    """200 MB of rows through a cache of 8 MB, in a process of its own."""
    program = f"""
import pathlib, resource
from services.assembler.join.rows import Disk, DiskRows
disk = Disk(pathlib.Path({str(tmp_path)!r}), 8 * {MB})
rows = DiskRows(disk, 0, lambda key, row: row, lambda row: row)
import os
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = resident()
for number in range(100_000):
    rows[b"d%d" % number] = os.urandom(2_000)
assert rows[b"d5"] is not None and len(rows) == 100_000
print((resident() - before) / {MB})
"""
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, check=True, capture_output=True, text=True)
    assert float(done.stdout) < 60, done.stdout
