"""Fenced code in Markdown, with the mark that says why it is not run.

A fence of a page whose commands a test runs is either run or has `<!-- not run: WHY -->` on the line above it; WHY is for readers of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"<!-- not run: (.+?) -->")
_FENCE = re.compile(r"^(\s*)(`{3,})\s*([\w-]*)\s*$")


class Fence(NamedTuple):
    """Code as it stands on a page, without its indentation; `line` is that of its first line, 1 the page's first."""

    page: Path
    line: int
    language: str
    code: str
    not_run: str | None


def pages() -> list[Path]:
    """README and every page below docs, in order of their paths."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fences(page: Path) -> Iterator[Fence]:
    """All fences of a page. Raises `ValueError` where one is not closed."""
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        if opened is None:
            at += 1
            continue
        indent, ticks, language = opened.groups()
        first = at + 1
        while first < len(lines) and lines[at + 1].strip() != ticks:
            at += 1
            if at + 1 >= len(lines):
                raise ValueError(f"{page}:{first}: a fence is not closed")
        before = next((line for line in reversed(lines[: first - 1]) if line.strip()), "")
        mark = _MARK.search(before)
        code = "\n".join(line.removeprefix(indent) for line in lines[first : at + 1])
        yield Fence(page, first + 1, language, code, mark[1] if mark else None)
        at += 2


def commands(code: str) -> Iterator[tuple[int, str]]:
    """The commands of a shell fence with the number of their first line, 0 the first; lines that end in a backslash go on."""
    whole, begun = "", 0
    for number, line in enumerate(code.splitlines()):
        if not whole:
            begun = number
        whole += line
        if whole.endswith("\\"):
            whole = whole[:-1]
            continue
        if whole.strip() and not whole.lstrip().startswith("#"):
            yield begun, whole.strip()
        whole = ""
