"""How much of a download is there, while pip makes and removes folders beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from shared.models.install import _size

pytestmark = pytest.mark.unit


def test_a_folder_that_vanishes_while_it_is_looked_at_counts_nothing(tmp_path: Path, monkeypatch):
    """Seen in the build of an image: the thread of the progress bar died, and its stack was what the user saw."""
    (tmp_path / "wheel").mkdir()
    (tmp_path / "wheel" / "part").write_bytes(b"12345")
    (tmp_path / "pip-build-tracker").mkdir()
    scandir = os.scandir

    def of_a_folder_that_is_gone(path: Any = ".") -> Any:
        if Path(path).name == "pip-build-tracker":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", of_a_folder_that_is_gone)
    assert _size(tmp_path) == 5


def test_nothing_there_is_nothing(tmp_path: Path):
    assert _size(tmp_path / "absent") == 0
