"""What the pages name is there: settings, metrics, commands and their options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from prometheus_client.metrics import MetricWrapperBase

from docfleet.cli.main import app
from docfleet.reference import effective
from shared.settings import GROUPS, Settings, Stage
from shared.telemetry import metrics
from tests.docs.fences import ROOT, commands, fences, pages

pytestmark = pytest.mark.unit

GENERATED = ROOT / "docs" / "reference"
PAGES = [page for page in pages() if page.parent != GENERATED]
_VARIABLE = re.compile(r"\bDOCFLEET_[A-Z0-9_]*[A-Z0-9]")
_METRIC = re.compile(r"\bdocfleet_[a-z0-9_]*[a-z0-9]\b(?!\.)")
_SETTING = re.compile(r"`([a-z_]+)\.([a-z_]+)(?:\.([a-z_]+))?(?:=[^`]*)?`")
_CODE = re.compile(r"`(docfleet [^`]+)`")
_SUFFIXES = ("_bucket", "_sum", "_count", "_created")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(params=PAGES, ids=name)
def page(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@cache
def _in_code() -> frozenset[str]:
    """Variables that only tests and tools read: they stand in quotes somewhere in the code."""
    found: set[str] = set()
    for folder in ("shared", "docfleet", "services", "tests", "benchmarks", "samples"):
        for file in (ROOT / folder).rglob("*.py"):
            found |= set(re.findall(r"[\"'](DOCFLEET_[A-Z0-9_]+)[\"'=]", file.read_text(encoding="utf-8")))
    return frozenset(found)


def test_variables_are_settings_or_read_somewhere(page):
    known = {variable for variable, _, _ in effective(Settings())}
    groups = {variable[: at.start()] for variable in known for at in re.finditer("__", variable)}
    named = set(_VARIABLE.findall(page.read_text(encoding="utf-8"))) - known - groups
    assert named <= _in_code(), "no such setting"


def test_dotted_names_are_settings(page):
    unknown = []
    for group, key, below in _SETTING.findall(page.read_text(encoding="utf-8")):
        if group == "stages":
            good = below in Stage.model_fields if below else key in (*GROUPS, *Stage.model_fields)
        else:
            kind = getattr(Settings.model_fields.get(group), "annotation", None)
            fields = getattr(kind, "model_fields", None)
            good = fields is None or key in fields or key in ("md", "py", "json", "yaml")
        if not good:
            unknown.append(f"{group}.{key}{'.' + below if below else ''}")
    assert not unknown


def test_metrics_are_in_the_registry(page):
    known: set[str] = set()
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            total = "_total" if metric._type == "counter" else ""
            known |= {metric._name + total, *(metric._name + suffix for suffix in _SUFFIXES)}
    found = set(_METRIC.findall(page.read_text(encoding="utf-8")))
    assert {one for one in found if not one.startswith("docfleet_cli")} <= known


def _named(page: Path) -> Iterator[str]:
    """Calls of the command line: in fences for a shell, and in running text."""
    for fence in fences(page):
        if fence.language in ("sh", ""):
            for _, command in commands(fence.code):
                yield from re.findall(r"(?:^|&&|\||;|\$\(|\bexec |\brun )\s*(docfleet [^&|;)]+)", command)
    yield from _CODE.findall(page.read_text(encoding="utf-8"))


def test_commands_and_options_of_the_command_line_are_there(page):
    wrong = [f"{call}: {problem}" for call in _named(page) if (problem := _problem(call))]
    assert not wrong, "\n".join(wrong)


def _problem(call: str) -> str:
    """What is wrong with a call; empty where nothing is. Placeholders (`…`, `FILE`) are taken as they come."""
    words = shlex.split(call.replace("…", ""), comments=True)[1:]
    command: Any = typer.main.get_command(app)
    while words and getattr(command, "commands", None) and not words[0].startswith("-"):
        word = words.pop(0)
        if word not in command.commands:
            return "" if word.isupper() else f"no command {word}"
        command = command.commands[word]
    options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)} | {"--help"}
    for word in words:
        if word.startswith("--") and word.partition("=")[0] not in options:
            return f"no option {word}"
        if re.fullmatch(r"-[a-zA-Z]", word) and word not in options:
            return f"no option {word}"
    return ""


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("docfleet parse report.pdf -o out --export html", ""),
        ("docfleet topics plan", ""),
        ("docfleet prase report.pdf", "no command prase"),
        ("docfleet topics delete", "no command delete"),
        ("docfleet parse report.pdf --oout x", "no option --oout"),
    ],
)
def test_a_wrong_call_is_found(call, problem):
    assert _problem(call) == problem


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (test_variables_are_settings_or_read_somewhere, "set `DOCFLEET_KAFKA__BOOTSTRAP`"),
        (test_dotted_names_are_settings, "raise `limits.max_pagess`"),
        (test_dotted_names_are_settings, "raise `stages.rec_worker.max_flight`"),
        (test_metrics_are_in_the_registry, "look at docfleet_pages_lost_total"),
    ],
)
def test_a_wrong_name_is_found(tmp_path, check, text):
    wrong = tmp_path / "page.md"
    wrong.write_text(text)
    with pytest.raises(AssertionError):
        check(wrong)
