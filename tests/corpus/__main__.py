"""The values of all checks, worst first: `./dev run python -m tests.corpus RESULTS [CORPUS]`, after `docfleet parse … -o RESULTS > RESULTS/log`."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.lib import corpus
from tests.corpus.checks import all_checks
from tests.corpus.test_expectations import PINNED, outcomes


def main() -> None:
    results = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else corpus.FOLDER
    log = results / "log"
    found = all_checks(folder, results, outcomes(log.read_text()) if log.exists() else {})
    for one in sorted(found, key=lambda check: (check.holds, check.name)):
        mark = "ok " if one.holds else ("pin" if one.name in PINNED else "NEW")
        print(
            f"{mark} {one.value:8.3f} {'>=' if one.more_is_better else '<='} {one.bound:g}  {one.name}  ({one.found[:90]})"
        )
    for name, these in (("all", found), ("of contents", [one for one in found if one.contents])):
        print(f"{name}: {sum(one.holds for one in these)} of {len(these)} hold")


main()
