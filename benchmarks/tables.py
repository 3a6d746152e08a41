"""Tables of real pages against their truth: `./dev bench tables [--corpus DIR] [--results DIR] [--quick]`.

Parses the corpus's `tables` in one fleet, without any vision-language model, and gives TEDS with text and of the structure alone for each
file (`benchmarks/lib/teds.py`), 0..1. A table that was refused, and kept as lines, is no table and scores 0.
With `--results`, documents parsed before are scored. Exit code 1 when the mean of the structure is below `TARGET`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.lib import corpus, teds
from benchmarks.lib.machine import Report, header
from shared.contracts.document import ParsedDocument

TARGET = 0.8
OWN = "PMC"
"""In the names of pictures from PubTabNet, whose kind the network for structure was trained on."""


class Line(NamedTuple):
    """A file's row: tables it has and tables found."""

    name: str
    true: int
    found: int
    score: teds.TableScore
    note: str


def line_of(entry: corpus.Entry, document: ParsedDocument | None) -> Line:
    """The row of a file."""
    truth = teds.tables_in(entry.read("table_html"))
    blocks = [] if document is None else [b for b in document.blocks if b.label == "table" and b.table is not None]
    found = [table for block in blocks if block.table for table in teds.tables_in(block.table.html)]
    warnings = [] if document is None else [w.message for w in document.warnings if w.code == "table_structure"]
    note = "no result" if document is None else "; ".join(warnings)
    return Line(entry.name, len(truth), len(found), teds.score(found, truth), note)


def row(line: Line) -> str:
    """A file in the table."""
    return f"| {line.name} | {line.true} | {line.found} | {line.score.teds:.3f} | {line.score.structure:.3f} | {line.note or '-'} |"


def means(lines: Sequence[Line]) -> list[str]:
    """Rows with the means over all files and over those of each origin."""
    groups = {
        "all": list(lines),
        "PubTabNet": [line for line in lines if OWN in line.name],
        "others": [line for line in lines if OWN not in line.name],
    }
    return [
        f"| {name} ({len(these)}) | {statistics.fmean(one.score.teds for one in these):.3f} | "
        f"{statistics.fmean(one.score.structure for one in these):.3f} |"
        for name, these in groups.items()
        if these
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=corpus.FOLDER, metavar="DIR")
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="documents already parsed (`docfleet parse -o DIR`)"
    )
    parser.add_argument("--quick", action="store_true", help="every fourth file")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    entries = corpus.entries(args.corpus, ("tables",))
    if not entries:
        print(f"skipped: no manifest.json in {args.corpus} (--corpus names another folder)")
        return 0
    if args.quick:
        entries = entries[::4]
    report = Report("tables", quick=args.quick, out=args.out)
    packages = ("docfleet", "openvino", "onnxruntime", "table-recognition-metric")
    report.say(*header("tables", quick=args.quick, packages=packages), "")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.results or Path(scratch)
        if args.results is None:
            corpus.parse([entry.path for entry in entries], folder)
        lines = [line_of(entry, corpus.parsed(folder, entry)) for entry in entries]
    report.say(
        "| file | tables | found | TEDS | TEDS structure | note |", "|---|---|---|---|---|---|", *map(row, lines), ""
    )
    report.say("| mean (files) | TEDS | TEDS structure |", "|---|---|---|", *means(lines), "")
    mean = statistics.fmean(line.score.structure for line in lines)
    report.say(
        f"{'ok    ' if mean >= TARGET else 'MISSED'} TEDS structure {mean:.3f} over all files, wanted {TARGET:g}"
    )
    report.write()
    return 1 if mean < TARGET and not args.quick else 0


if __name__ == "__main__":
    sys.exit(main())
