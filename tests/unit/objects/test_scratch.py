"""A folder of one process: the next one removes what a killed process left, and nothing of one that lives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shared.objects.scratch import Scratch

HOLDS = """
import sys
from pathlib import Path
from shared.objects.scratch import Scratch
scratch = Scratch("docfleet-test", Path(sys.argv[1]))
(scratch.path / "source").write_bytes(b"of a document")
print(scratch.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path):
    """Another process with a folder, and the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.communicate()


def test_what_a_killed_process_left_is_removed_by_the_next_and_a_living_ones_is_not(tmp_path, holder):
    process, left = holder
    beside = Scratch("docfleet-test", tmp_path)
    assert (left / "source").read_bytes() == b"of a document"
    process.kill()
    process.wait()
    assert left.exists(), "nobody removes it but the next one that starts"
    after = Scratch("docfleet-test", tmp_path)
    assert not left.exists()
    assert beside.path.is_dir()
    after.close()
    beside.close()
    assert list(tmp_path.iterdir()) == []


def test_folders_are_private_and_of_one_name(tmp_path):
    other = tmp_path / "docfleet-else-x"
    other.mkdir()
    one = Scratch("docfleet-test", tmp_path / "new" / "parent")
    two = Scratch("docfleet-test", tmp_path)
    assert one.path.stat().st_mode & 0o777 == 0o700
    assert one.path.parent == tmp_path / "new" / "parent"
    assert other.is_dir()
    for scratch in (one, two):
        scratch.close()
        scratch.close()


def test_what_is_no_folder_of_ours_is_left_alone(tmp_path):
    (tmp_path / "docfleet-test-file").write_bytes(b"x")
    Scratch("docfleet-test", tmp_path).close()
    assert (tmp_path / "docfleet-test-file").exists()
