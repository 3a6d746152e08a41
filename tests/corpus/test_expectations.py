"""Every file of the corpus through one embedded fleet, and what its manifest says of each: text, tables, headings, outlines, hidden text.

What does not hold is pinned in `deviations.yaml`, each with its reason; the list may only shrink, and nine of ten checks hold at least.
The corpus is no part of the repository: it is looked for beside the checkout (`../shared/corpus`, or DOCFLEET_CORPUS).
To see all values: `./dev run python -m tests.corpus RESULTS` for results of `docfleet parse -o RESULTS`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.lib import corpus
from tests.corpus.checks import FOLDERS, Check, all_checks

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

CORPUS = Path(os.environ.get("DOCFLEET_CORPUS") or corpus.FOLDER)
PINNED: dict[str, dict[str, Any]] = (
    yaml.safe_load((Path(__file__).parent / "deviations.yaml").read_text(encoding="utf-8")) or {}
)
MOST = 5
"""Length of the pinned list; lower it when the list gets shorter, never raise it."""
LEAST = 0.9
"""Share of the checks of contents that hold; how a document ends and how many pages it has do not count among them."""
_ENDED = re.compile(r"^(\S+)  (success|partial_success|failure|cancelled) ")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Check]:
    """All checks, after one run over all files."""
    entries = corpus.entries(CORPUS, FOLDERS)
    if not entries:
        pytest.skip(f"there is no corpus at {CORPUS}; DOCFLEET_CORPUS names its folder")
    out = tmp_path_factory.mktemp("corpus")
    command = [sys.executable, "-m", "docfleet.cli.main", "parse", *(str(one.path) for one in entries)]
    command += ["-o", str(out), "--no-overlays"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=850, check=False)
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    ended = outcomes(done.stdout)
    assert len(ended) == len(entries), (
        f"{len(ended)} records of {len(entries)}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    )
    assert not {name for name, how in ended.items() if how in ("crashed", "internal", "stalled")}
    return all_checks(CORPUS, out, ended)


def outcomes(printed: str) -> dict[str, str]:
    """File name without ending to `ok` or the error code, from what `docfleet parse` says."""
    ended: dict[str, str] = {}
    lines = printed.splitlines()
    for number, line in enumerate(lines):
        if at := _ENDED.match(line):
            failed = at[2] in ("failure", "cancelled")
            after = lines[number + 1].split() if failed and number + 1 < len(lines) else []
            ended[at[1]] = after[0] if failed and after else ("ok" if not failed else "no code")
    return ended


def test_what_does_not_hold_is_known_and_gets_no_worse(found: list[Check]) -> None:
    broken = [
        f"{one.name}  {one.value:.3g}, bound {one.bound:g}  ({one.found})"
        for one in found
        if not one.holds and not (one.name in PINNED and one.within(PINNED[one.name]["within"]))
    ]
    assert not broken, "\n".join(["not in deviations.yaml, or worse than there:", *broken])


def test_what_is_pinned_does_still_not_hold(found: list[Check]) -> None:
    names = {one.name for one in found}
    stale = sorted(set(PINNED) - names) + [one.name for one in found if one.name in PINNED and one.clearly]
    assert not stale, "\n".join(["holds by now, or is no check: take it out of deviations.yaml and lower MOST", *stale])


def test_the_list_of_deviations_only_shrinks(found: list[Check]) -> None:
    assert len(PINNED) <= MOST
    assert all(pin["reason"].strip() for pin in PINNED.values())
    contents = [one for one in found if one.contents]
    held = sum(one.holds for one in contents)
    assert held >= LEAST * len(contents), f"{held} of {len(contents)} checks of contents hold"
