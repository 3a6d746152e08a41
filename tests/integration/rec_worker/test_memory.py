"""A rec_worker's memory is bounded, and does not grow with the pages it has read. All of 1,000 pages: `./dev bench memory`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shared.models.install import install
from shared.settings import Settings

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]


def test_memory_is_bounded_and_flat_over_pages_of_all_shapes(tmp_path: Path) -> None:
    """In a process of its own: this one holds the networks of other tests."""
    install(Settings().engines.models)
    out = tmp_path / "memory.txt"
    command = [sys.executable, "-m", "benchmarks.memory", "--quick", "--lines", "3", "--out", str(out)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
