"""The command line: help that teaches, trouble told in one line, exit codes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from docfleet.cli.main import app
from docfleet.cli.options import replicas_of, seconds_of

pytestmark = pytest.mark.unit
runner = CliRunner()


def _commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = getattr(command, "commands", {})
    return [path, *(found for name, child in below.items() for found in _commands(child, (*path, name)))]


COMMANDS = _commands(typer.main.get_command(app))


def test_every_command_that_was_promised_is_there():
    promised = {
        "buckets",
        "cancel",
        "diff",
        "dlq",
        "doctor",
        "erase",
        "export",
        "fleet",
        "look",
        "models",
        "parse",
        "purge",
        "reconcile",
        "reparse",
        "settings",
        "size",
        "submit",
        "topics",
        "watch",
    }
    assert promised == {path[0] for path in COMMANDS if path}
    assert {
        ("models", "install"),
        ("models", "list"),
        ("topics", "plan"),
        ("topics", "apply"),
        ("topics", "trim"),
        ("topics", "acls"),
        ("buckets", "apply"),
        ("models", "build"),
        ("models", "compare"),
        ("dlq", "list"),
        ("dlq", "show"),
        ("dlq", "replay"),
        ("dlq", "drop"),
    } <= set(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "docfleet")
def test_help_teaches_with_an_example(path):
    result = runner.invoke(app, [*path, "--help"])
    assert result.exit_code == 0
    if path not in (
        ("models",),
        ("topics",),
        ("dlq",),
        ("buckets",),
    ):  # folders of commands: their commands have the examples
        assert "docfleet " + " ".join(path) in result.output.replace("Usage: docfleet", "")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from docfleet.cli.main import app\n"
        "heavy = {'confluent_kafka', 'pydantic', 'numpy', 'PIL', 'minio', 'httpx', 'pymupdf', 'openvino', 'msgspec'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_parse_says_what_it_takes_when_there_is_nothing(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    result = runner.invoke(app, ["parse", str(tmp_path)])
    assert result.exit_code == 2
    assert ".pdf" in result.output


def test_a_file_that_is_not_there_is_told():
    result = runner.invoke(app, ["parse", "gone.pdf"])
    assert result.exit_code == 2
    assert "gone.pdf" in result.output


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("10m", 600), ("1.5h", 5_400), ("7d", 604_800), ("5", 5)])
def test_times_are_written_with_a_unit(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-1h", "soon", "nan", "inf", "1w"])
def test_other_times_are_refused(text):
    with pytest.raises(typer.BadParameter):
        seconds_of(text)


def test_replicas_are_read_and_checked():
    assert replicas_of(["rec_worker=2", "ingest=0"]) == {"rec_worker": 2, "ingest": 0}
    assert replicas_of(None) == {}
    for bad in ("rec=2", "rec_worker", "rec_worker=x", "rec_worker=1000"):
        with pytest.raises(typer.BadParameter):
            replicas_of([bad])


@pytest.mark.parametrize("replicas", ["join=2", "join=0", "rec_worker=0"])
def test_parse_refuses_a_fleet_that_could_not_end(tmp_path, replicas):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-")
    result = runner.invoke(app, ["parse", str(tmp_path / "a.pdf"), "--replicas", replicas])
    assert result.exit_code == 2
    assert "exactly one join" in " ".join(result.output.split())


def test_settings_show_values_and_mask_secrets(monkeypatch):
    monkeypatch.setenv("DOCFLEET_OBJECTS__SECRET_KEY", "hush-hush")
    monkeypatch.setenv("DOCFLEET_STAGES__REC_WORKER__MAX_IN_FLIGHT", "5")
    result = runner.invoke(app, ["settings", "--changed"])
    assert result.exit_code == 0
    assert "DOCFLEET_OBJECTS__SECRET_KEY=********" in result.output
    assert "DOCFLEET_STAGES__REC_WORKER__MAX_IN_FLIGHT=5    # default: 16" in result.output
    assert "hush" not in result.output
    assert "BOOTSTRAP" not in result.output
    group = runner.invoke(app, ["settings", "kafka"])
    assert {line.split("__")[0] for line in group.output.splitlines()} == {"DOCFLEET_KAFKA"}
    assert runner.invoke(app, ["settings", "nonsense"]).exit_code == 2


def test_a_setting_that_cannot_be_read_is_named(monkeypatch):
    monkeypatch.setenv("DOCFLEET_LAYOUT__DPI", "many")
    result = runner.invoke(app, ["settings"])
    assert result.exit_code == 2
    assert "layout.dpi" in result.output


@pytest.mark.parametrize(
    "arguments",
    [["a.pdf", "b.pdf", "--document-id", "x"], ["a.pdf", "--priority", "urgent"], ["a.pdf", "--document-id", "a b"]],
)
def test_submit_checks_before_it_connects(arguments):
    assert runner.invoke(app, ["submit", *arguments]).exit_code == 2
