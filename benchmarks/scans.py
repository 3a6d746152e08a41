"""Real scans and photos against their truth: `./dev bench scans [--corpus DIR] [--results DIR] [--quick]`.

Parses the corpus's `scans` and `seals` in one fleet and scores each file by the hints of its manifest (`benchmarks/lib/corpus_text.py`):
`cer` by edit distance over the whole text, or, where the truth is partial or the order loose, the share of its characters found (`bag`).
Averages leave out what is out of reach for usual models, and keep Chinese pages, photos and single lines apart.
A seal is found when a seal of the result covers its box (IoU 0.5), and counts as read from `READ` per cent of its longest text on.
With `--results`, documents parsed before are scored. Exit code 1 when a seal is missed, or seen where there is none.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lib import corpus
from benchmarks.lib.corpus_text import TextScore, best_part, judged_by, score
from benchmarks.lib.machine import Report, header
from shared.contracts.document import ParsedDocument

OUT_OF_REACH = ("de_clauren",)
"""Fraktur; the corpus's README says to keep it out of averages."""
READ = 80.0
IOU = 0.5


class Line(NamedTuple):
    """A file's row."""

    name: str
    group: str
    judged: str
    score: TextScore
    note: str


class SealLine(NamedTuple):
    """A true seal: found or not, and how much of each of its texts was read, per cent."""

    name: str
    shape: str
    found: bool
    texts: list[tuple[str, float]]

    @property
    def good(self) -> bool:
        """Found, with the first and longest of its texts."""
        longest = max(self.texts, key=lambda one: len(one[0]), default=("", 100.0))
        return self.found and longest[1] >= READ


def group_of(entry: corpus.Entry) -> str:
    """Which average a file counts to."""
    if entry.name.startswith(OUT_OF_REACH):
        return "out of reach"
    if entry.language.startswith("zh"):
        page = entry.name.startswith(("zh_ras_", "zh_standard_scan", "zh_checkbox"))
        return "Chinese pages" if page else "Chinese photos and lines"
    return "other scripts and vertical" if entry.truth.get("vertical") or entry.language == "ko" else "Latin"


def lines_of(entry: corpus.Entry, document: ParsedDocument | None) -> Line:
    """The row of a scan."""
    hints = entry.truth
    leave_out = ["picture"] + (["formula"] if "formula" in str(hints.get("normalise", "")) else [])
    pages = [] if document is None else corpus.pages(document, leave_out)
    note = "no result" if document is None else "" if document.status == "success" else str(document.status)
    return Line(entry.name, group_of(entry), judged_by(hints), score(entry.read("text"), pages, hints), note)


def seals_of(entry: corpus.Entry, document: ParsedDocument | None) -> tuple[list[SealLine], int]:
    """The true seals of a file, and how many seals the result has that are none."""
    blocks = [] if document is None else [b for b in document.blocks if b.label == "seal" and b.prov]
    unused = list(blocks)
    found = []
    for seal in entry.truth.get("seals", []):
        box = seal.get("box")
        same = [b for b in unused if box is None or overlap(box, b.prov[0].bbox or []) >= IOU]
        best = max(same, key=lambda b: overlap(box, b.prov[0].bbox or []) if box else 1.0, default=None)
        if best is not None:
            unused.remove(best)
        text = "" if best is None else best.text
        found.append(
            SealLine(entry.name, seal["shape"], best is not None, [(t, best_part(t, text)) for t in seal["text"]])
        )
    return found, len(unused)


def overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Intersection over union of two boxes; 0 for none."""
    if not one or not other:
        return 0.0
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return width * height / (sum(areas) - width * height)


def row(line: Line) -> str:
    """A scan in the table."""
    s = line.score
    return (
        f"| {line.name} | {line.group} | {line.judged} | {s.characters} | {s.cer:.2f} | {s.recall:.2f} | {s.bag:.2f} | "
        f"{line.note or '-'} |"
    )


def averages(lines: Sequence[Line]) -> list[str]:
    """Rows with the means of each group over its files; each file counts once."""
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        groups[line.group].append(line)
    text = []
    for name in sorted(groups):
        these = groups[name]
        whole = [line.score.cer for line in these if line.judged == "cer"]
        part = [line.score.bag for line in these if line.judged == "recall"]
        cer = f"{sum(whole) / len(whole):.2f} ({len(whole)})" if whole else "-"
        recall = f"{sum(part) / len(part):.2f} ({len(part)})" if part else "-"
        text.append(f"| {name} | {cer} | {recall} |")
    return text


def tell(report: Report, lines: Sequence[Line], files: Sequence[tuple[list[SealLine], int]]) -> int:
    """All tables; the number of files with seals that are not as they should be. `files`: true seals of each, and how many were made up."""
    seals = [seal for true, _ in files for seal in true]
    report.say(
        "| file | group | judged by | characters | CER % | recall in order % | recall in any order % | note |",
        "|---|---|---|---|---|---|---|---|",
        *[row(line) for line in lines],
        "",
        "| group | mean CER % (files) | mean recall, any order % (files) |",
        "|---|---|---|",
        *averages(lines),
        "",
        "| seal | shape | found | texts read, % of characters |",
        "|---|---|---|---|",
    )
    for seal in seals:
        texts = "; ".join(f"{text} {share:.0f}" for text, share in seal.texts)
        report.say(f"| {seal.name} | {seal.shape} | {'yes' if seal.found else 'no'} | {texts} |")
    right = sum(wrong == 0 and all(seal.good for seal in true) for true, wrong in files)
    report.say(
        "",
        f"seals found with their text: {sum(seal.good for seal in seals)} of {len(seals)}; seals that are none: {sum(w for _, w in files)}; "
        f"files right in both: {right} of {len(files)}",
    )
    return len(files) - right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=corpus.FOLDER, metavar="DIR")
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="documents already parsed (`docfleet parse -o DIR`)"
    )
    parser.add_argument("--quick", action="store_true", help="every fourth file")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    entries = corpus.entries(args.corpus, ("scans", "seals"))
    if not entries:
        print(f"skipped: no manifest.json in {args.corpus} (--corpus names another folder)")
        return 0
    if args.quick:
        entries = entries[::4]
    report = Report("scans", quick=args.quick, out=args.out)
    report.say(*header("scans and seals", quick=args.quick, packages=("docfleet", "openvino", "onnxruntime")), "")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.results or Path(scratch)
        if args.results is None:
            corpus.parse([entry.path for entry in entries], folder)
        documents: dict[str, Any] = {entry.name: corpus.parsed(folder, entry) for entry in entries}
    lines = [lines_of(entry, documents[entry.name]) for entry in entries if entry.folder == "scans"]
    found = [seals_of(entry, documents[entry.name]) for entry in entries if entry.folder == "seals"]
    missed = tell(report, lines, found)
    report.write()
    return 1 if missed and not args.quick else 0


if __name__ == "__main__":
    sys.exit(main())
