"""The card of the double: whose memory is held on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ascend import DOUBLE

pytestmark = pytest.mark.unit
HOLDS = "import sys; from device_double import Card; from pathlib import Path; Card(Path(sys.argv[1])).hold(5); print(1, flush=True); input()"
LOOKS = (
    "import sys; from device_double import Card; from pathlib import Path; print(Card(Path(sys.argv[1])).by_process())"
)


def looked(card: Path) -> dict[int, int]:
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, str(card)], cwd=DOUBLE, capture_output=True, text=True, check=True
    )
    return dict(eval(done.stdout))


def test_a_process_holds_its_memory_until_it_ends(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], cwd=DOUBLE, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    assert looked(tmp_path) == {holder.pid: 5}
    holder.communicate(b"\n")
    assert looked(tmp_path) == {}


def test_another_process_that_has_the_number_of_an_ended_one_holds_nothing(tmp_path: Path) -> None:
    """npu-smi would show it as a session, and whoever ends sessions by its list would end a stranger."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], cwd=DOUBLE, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    holder.communicate(b"\n")
    (left,) = (tmp_path / "memory").iterdir()
    left.rename(left.with_name(str(os.getpid())))  # this process stands for the stranger
    assert looked(tmp_path) == {}
