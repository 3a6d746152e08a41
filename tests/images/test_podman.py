"""What podman is told for the container tests. That they run: tests/images/containers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.images.containers import podman

pytestmark = pytest.mark.unit
LONGEST_RUNROOT = 50
"""Characters that podman 4.3 takes as `--runroot`."""


def test_podman_can_tidy_up_after_a_container_however_deep_the_images_lie():
    runroots = set()
    for place in (Path("/cache"), Path("/cache" + "/of/tests" * 20)):
        (runroot,) = re.findall(r'^runroot = "(.*)"$', podman.storage_configuration(place), flags=re.MULTILINE)
        assert len(runroot) <= LONGEST_RUNROOT
        runroots.add(runroot)
    assert len(runroots) == 2, "two places never share what runs"


def test_a_configuration_that_says_the_same_is_not_written_again(tmp_path):
    """A podman that runs reads it, and one that reads half a file does something else."""
    file = tmp_path / "storage.conf"
    podman.write(file, "[storage]\n")
    before = file.stat()
    podman.write(file, "[storage]\n")
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    podman.write(file, "[storage]\nother\n")
    assert file.read_text() == "[storage]\nother\n"
    assert [one.name for one in tmp_path.iterdir()] == ["storage.conf"]
