"""Fault points: nothing without their environment variable, one death at the named place with it."""

from __future__ import annotations

import ast
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from shared import faultpoints
from shared.faultpoints import VARIABLE, Point
from shared.settings import Settings

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from shared import faultpoints
for number in range(3):
    faultpoints.reached("between_page_and_join")
    faultpoints.reached("after_store_before_produce")
    print(number, flush=True)
"""


def run(tmp_path: Path, spec: str | None) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin"}
    if spec is not None:
        (tmp_path / "point").write_text(spec)
        environment[VARIABLE] = str(tmp_path / "point")
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_without_the_variable_a_point_is_an_empty_function():
    assert faultpoints.reached is faultpoints._unarmed
    body = ast.parse(Path(faultpoints.__file__).read_text())
    (function,) = [node for node in body.body if getattr(node, "name", "") == "_unarmed"]
    assert len(function.body) == 1, "only its docstring"


def test_a_file_that_names_no_point_changes_nothing(tmp_path):
    done = run(tmp_path, "")
    assert (done.returncode, done.stdout.split()) == (0, ["0", "1", "2"])


def test_the_process_dies_the_nth_time_it_reaches_the_point(tmp_path):
    done = run(tmp_path, "after_store_before_produce:kill@2")
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == ["0"]


def test_of_processes_that_share_a_point_one_dies(tmp_path):
    (tmp_path / "shared").write_text("between_page_and_join:kill@1")
    (tmp_path / "shared").rename(tmp_path / "taken")  # as the first does when it comes there
    done = run(tmp_path, None)
    (tmp_path / "point").symlink_to(tmp_path / "shared")
    again = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env={VARIABLE: str(tmp_path / "point")}, timeout=60, check=False
    )
    assert (done.returncode, again.returncode) == (0, 0)
    (tmp_path / "taken").rename(tmp_path / "shared")
    killed = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env={VARIABLE: str(tmp_path / "point")}, timeout=60, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "shared.reached").exists()
    assert not (tmp_path / "shared").exists()


def test_another_point_is_passed(tmp_path):
    assert run(tmp_path, "after_drain_before_commit:kill@1").returncode == 0


def test_no_setting_leads_to_a_point(monkeypatch):
    """What an image or a chart can be given are settings; they are all in one place, and no fault is among them."""
    assert not [name for name in Settings.model_fields if "fault" in name]
    shipped = [
        path for folder in ("helm", "docker", "docfleet") for path in (ROOT / folder).rglob("*") if path.is_file()
    ]
    assert [
        p for p in [*shipped, ROOT / "docker-compose.yml"] if p.exists() and VARIABLE.encode() in p.read_bytes()
    ] == []


def test_every_point_is_somewhere_in_the_code():
    text = "".join(p.read_text() for folder in ("shared", "services") for p in (ROOT / folder).rglob("*.py"))
    assert [point for point in get_args(Point) if f'reached("{point}")' not in text] == []
