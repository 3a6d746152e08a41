"""What the commands say on a terminal, whatever names and texts hold, and when nobody reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docfleet.cli.console import fail, marked, shown
from docfleet.cli.main import app
from docfleet.exports import read
from shared.contracts.errors import DocfleetError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Rechnung März.pdf", "Rechnung März.pdf"),
        ("漢字 🙂 👩\u200d👧.pdf", "漢字 🙂 👩\u200d👧.pdf"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("fdp.\u202egpj", "fdp.\\u202egpj"),
        ("\udcff.pdf", "\\udcff.pdf"),
    ],
)
def test_names_move_nothing_on_a_terminal(text, told):
    assert shown(text) == told
    shown(text).encode()


def test_names_are_no_markup():
    assert marked("[bold]x[/]") == r"\[bold]x\[/]"


def test_a_failure_may_have_lines_of_its_own(capsys):
    fail("first\nsecond \x1b[2J")
    assert capsys.readouterr().err == "docfleet: first\nsecond \\x1b[2J\n"


def _docfleet(*arguments: object, **more) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "docfleet.cli.main", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **more)


def test_who_reads_no_further_is_no_trouble():
    read_end, write_end = os.pipe()
    os.close(read_end)
    with _docfleet("settings", stdout=write_end) as command:
        os.close(write_end)
        assert command.stderr is not None
        assert command.stderr.read() == b""
    assert command.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_trouble():
    with open("/dev/full", "wb") as full, _docfleet("settings", stdout=full) as command:
        assert command.stderr is not None
        assert b"No space left" in command.stderr.read()
    assert command.returncode == 2


def test_a_password_that_is_no_text_is_told(tmp_path: Path):
    (tmp_path / "pw").write_bytes(b"\xff\xe9\n")
    (tmp_path / "a.json").write_text(json.dumps({}))
    for command in (["export", tmp_path / "a.json", "--to", "hocr"], ["look", tmp_path / "a.json", "--page", "1"]):
        done = CliRunner().invoke(app, [*map(str, command), "--password-file", str(tmp_path / "pw")])
        assert done.exit_code == 2
        assert "is not UTF-8" in done.output


def test_a_folder_in_the_way_of_an_export_is_told(tmp_path: Path):
    for name in ("a.json", "b.json", "out"):
        (tmp_path / name).write_text("{}")
    names = [str(tmp_path / name) for name in ("a.json", "b.json")]
    done = CliRunner().invoke(app, ["export", *names, "--to", "hocr", "-o", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "File exists" in done.output


def test_what_is_no_document_is_named(tmp_path: Path):
    (tmp_path / "odd.json").write_text("{}")
    with pytest.raises(DocfleetError, match=r"odd\.json is no parsed document"):
        read(tmp_path / "odd.json")
