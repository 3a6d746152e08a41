"""docs/ascend.md as the owner of a card goes through it, on the double of an NPU: `./dev test -m endurance tests/docs`, some ten minutes.

The commands of sections 10, 3 and 9 run as they stand, the hour with fewer scans. DOCFLEET_ENGINES__ASCEND_CALL_TIMEOUT_S may be raised on a busy
machine: the double computes on the CPU.

It last passed in 26 minutes beside a load of 10 to 30. Before, the death of the second session had not been counted: the double's list of
processes held numbers that others had by then.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.fences import ROOT, fences

pytestmark = [pytest.mark.endurance, pytest.mark.slow, pytest.mark.timeout(7_200)]
PAGE = ROOT / "docs" / "ascend.md"
PAGES = 24
"""Scanned pages in place of the 500 that a card is to have."""


def section(number: int) -> list[str]:
    """The commands for a shell in a section, fence by fence."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    heads = [at for at, line in enumerate(lines, 1) if line.startswith("## ")]
    begin = next(at for at in heads if lines[at - 1].startswith(f"## {number}. "))
    end = min((at for at in heads if at > begin), default=len(lines) + 1)
    return [fence.code for fence in fences(PAGE) if fence.language == "sh" and begin < fence.line < end]


def run(folder: Path, *parts: str) -> str:
    """One shell, as the page says; what it printed."""
    script = "\n".join(parts)
    done = subprocess.run(
        ["bash", "-u", "-c", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5_000:]
    return done.stdout


def test_the_page_as_it_stands(tmp_path: Path) -> None:
    for name in os.listdir(ROOT):
        if name not in ("out", ".git"):
            (tmp_path / name).symlink_to(ROOT / name)
    (without_card,) = section(10)
    here, elsewhere, doctor, compare = section(3)
    prepare, _machine, build, answers, same, speed, _static, broken = section(9)
    assert "--pages 500" in prepare
    prepare = prepare.replace("--pages 500", f"--pages {PAGES}")
    pictures = "cp pages/0.png page-1.png; cp pages/1.png page-2.png"
    quick = "echo '{\"seconds\": 0.3}' > $ACL_DOUBLE/plan.json"
    watched = speed.removesuffix("watched gears")
    assert watched != speed
    said = run(
        tmp_path,
        *("set -e", without_card, prepare, pictures, here, doctor, compare, build, answers, quick),
        *("set +e", same, watched, broken),  # these wait for ports that nobody listens on yet
        *("set -e", elsewhere),
    )
    assert (tmp_path / "out" / "scan.md").stat().st_size > 100
    assert "NO" not in (tmp_path / "hour" / "compare.txt").read_text().split()
    assert re.search(r"\d+ of 74 gears are warm", (tmp_path / "hour" / "ready.txt").read_text())
    assert (tmp_path / "hour" / "diff.txt").read_text() == ""
    rows = re.findall(r'child="npu-[^"]+",reason="(\w+)"\} ([\d.]+)', said)
    assert sorted((reason, float(count)) for reason, count in rows) == [("died", 1.0), ("stalled", 1.0)]
    ended = (tmp_path / "hour" / "broken.txt").read_text()
    assert re.search(r"(\d+) documents: \1 success ", ended), ended[-2_000:]
    assert {path.parent.name for path in tmp_path.glob("om/*.onnx")} == {"om"}
