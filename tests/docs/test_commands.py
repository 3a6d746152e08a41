"""Commands of the tutorial and of the README: each is run as it stands, or says why not. Other code on all pages is at least right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import orjson
import pytest

from shared.contracts.records import DocumentSubmitted
from shared.settings import Settings
from tests.docs.fences import ROOT, Fence, fences, pages

README, TUTORIAL = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
WANTED = {
    "out/sample.md": 100,
    "out/sample.json": 1000,
    "out/scan.md": 100,
    "out/sample.overlays/page-001.png": 1000,
    "out/scan.page-001.png": 1000,
    "out/sample.html": 1000,
    "out/sample.chunks.jsonl": 100,
}
"""What the tutorial says lies there in the end, and the bytes that it has at least."""
LONG_S = 1200.0
"""For one command, on a machine with much else to do: nothing here is about speed."""


def _of(page: Path, language: str) -> list[Fence]:
    return [fence for fence in fences(page) if fence.language == language]


def _in_all(language: str) -> list[Fence]:
    return [fence for page in pages() for fence in _of(page, language)]


def _place(fence: Fence) -> str:
    return f"{fence.page.relative_to(ROOT)}:{fence.line}"


@pytest.mark.unit
def test_readme_and_tutorial_run_their_commands_or_say_why_not():
    assert [_place(f) for f in _of(README, "sh") if f.not_run is None] == []  # the tutorial is where commands are run
    assert len([f for f in _of(TUTORIAL, "sh") if f.not_run is None]) >= 5
    for fence in [*_of(README, "sh"), *_of(TUTORIAL, "sh")]:
        for name in (word for word in (fence.not_run or "").split() if word.startswith("(tests/") or "tests/" in word):
            assert (ROOT / name.strip("(),;.")).exists(), f"{_place(fence)} names a test that is not there: {name}"


@pytest.mark.integration
@pytest.mark.timeout(2 * LONG_S)
def test_the_tutorial_as_it_stands(tmp_path):
    """In a folder that looks like a checkout, so that nothing is written into this one."""
    for name in os.listdir(ROOT):
        if name not in ("out", ".git"):
            (tmp_path / name).symlink_to(ROOT / name)
    for fence in _of(TUTORIAL, "sh"):
        if fence.not_run is None:
            done = subprocess.run(
                ["bash", "-eu", "-c", fence.code],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=LONG_S,
                check=False,
            )
            assert done.returncode == 0, f"{_place(fence)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    small = {name: least for name, least in WANTED.items() if (tmp_path / name).stat().st_size < least}
    assert not small


@pytest.mark.integration
def test_python_on_the_pages_is_right_by_its_types(tmp_path):
    files = []
    for number, fence in enumerate(_in_all("python")):
        files.append(tmp_path / f"snippet_{number}.py")
        files[-1].write_text(f"# {_place(fence)}\n{fence.code}\n")
    assert files
    assert _mypy(files) == ""


def _mypy(files: Sequence[Path]) -> str:
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG_S, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.integration
def test_python_that_is_wrong_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from docfleet import Client\n\nwith Client() as client:\n    print(client.submit('a.pdf').blocks)\n"
    )
    assert "blocks" in _mypy([wrong])


@pytest.mark.unit
def test_json_on_the_pages_is_json_and_submissions_are_submissions():
    found = 0
    for fence in _in_all("json"):
        value = json.loads(fence.code)
        if isinstance(value, dict) and "source" in value and "status" not in value:
            found += 1
            known = {field.encode_name for field in msgspec.structs.fields(DocumentSubmitted)}
            assert set(value) <= known, _place(fence)
            msgspec.json.decode(orjson.dumps(value), type=DocumentSubmitted)
    assert found >= 2


@pytest.mark.unit
def test_toml_on_the_pages_is_settings():
    found = _in_all("toml")
    assert found
    for fence in found:
        value = tomllib.loads(fence.code)
        assert set(value) <= set(Settings.model_fields), _place(fence)
        Settings(**value)
