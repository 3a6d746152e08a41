"""Is the document what its author meant: `./dev bench document [--seed N] [--pages M] [--scan | --native] [--quick]`.

Runs the real layout and recognition stages in this process (no broker), composes pages and documents, and compares them with the exact truth of
generated documents (`samples.generator`), born digital and scanned; a table per template, `benchmarks/lib/document_score.py` states each rule.
`--pictures DIR` keeps the worst documents as pictures, truth on the left, blocks on the right. `--readings DIR` keeps what the networks found
and reads it from there the next time. `./dev bench document --corpus` makes the table of the corpus's files instead
(`benchmarks/lib/document_corpus.py`).

Seeds below `FIRST_UNSEEN` are for development; figures that are quoted come from others. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.lib import document_corpus, document_pictures, document_read
from benchmarks.lib.document_score import score
from benchmarks.lib.document_tally import Tally
from benchmarks.lib.machine import Report, header
from benchmarks.lib.recpath import RecPath, settings_for
from samples.generator import Made, generate
from samples.generator.templates import TEMPLATES

FIRST_UNSEEN = 1000
HEADINGS, LEVELS, FURNITURE = 0.97, 0.95, 0.98
CELLS = {False: 0.97, True: 0.93}
"""Targets, shares; of cells born digital and scanned."""
PACKAGES = ("docfleet", "pymupdf", "openvino", "onnxruntime", "numpy")
HEAD = (
    f"{'':14}{'pages':>6}{'head F1':>8}{'level':>7}{'furn P':>7}{'furn R':>7}{'CER %':>7}{'order':>7}{'cells':>7}{'tables':>9}"
    f"{'paras':>7}{'cut':>8}{'items':>7}{'depth':>7}{'capt.':>7}{'notes':>7}"
)


def row(name: str, tally: Tally) -> str:
    """A line of the table; shares, CER in per cent."""
    return (
        f"{name:14}{tally.pages:6}{_share(tally.headings.f1):>8}{_share(tally.levels.recall):>7}{_share(tally.furniture.precision):>7}"
        f"{_share(tally.furniture.recall):>7}{_share(None if tally.cer is None else 100 * tally.cer, 2):>7}{_share(tally.order):>7}"
        f"{_share(tally.cells.f1):>7}{f'{tally.tables.hit}/{tally.tables.true}':>9}{_share(tally.paragraphs.f1):>7}"
        f"{f'{tally.cut.hit}/{tally.cut.true}':>8}{_share(tally.items.f1):>7}{_share(tally.depths.recall):>7}"
        f"{_share(tally.captions.recall):>7}{_share(tally.notes.recall):>7}"
    )


def _share(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


async def measure(args: argparse.Namespace, report: Report) -> bool:
    """Both halves, and whether all targets were met."""
    tallies: dict[tuple[bool, str], Tally] = {}
    worst = document_pictures.Worst(args.pictures)
    with tempfile.TemporaryDirectory() as scratch:
        path = RecPath(settings_for(Path(scratch)))
        await path.start()
        try:
            for made in generate(args.seed, args.pages, scan=not args.native, templates=tuple(args.template)):
                scan = made.truth.name.endswith("_scan")
                if args.scan and not scan:
                    continue
                tally = await _one(made, path, Path(scratch), args.readings, worst)
                tallies.setdefault((scan, made.truth.template), Tally()).add(tally)
        finally:
            await path.stop()
    met = True
    for title, scan in (("born digital", False), ("scanned", True)):
        half = {template: tally for (s, template), tally in tallies.items() if s == scan}
        if half:
            total = Tally()
            for tally in half.values():
                total.add(tally)
            report.say(
                "",
                f"{title}:",
                HEAD,
                *(row(name, tally) for name, tally in sorted(half.items())),
                row("TOTAL", total),
                "",
            )
            met &= _targets(report, total, scan=scan)
    report.say("", "Worst documents:", *worst.write())
    return met


async def _one(made: Made, path: RecPath, scratch: Path, kept: Path | None, worst: document_pictures.Worst) -> Tally:
    file = scratch / f"{made.truth.name}.pdf"
    file.write_bytes(made.pdf)
    document, _ = document_read.composed(await document_read.read(path, file, kept))
    file.unlink()
    tally = score(made.truth, document)
    worst.add(made, document, tally)
    return tally


def _targets(report: Report, total: Tally, *, scan: bool) -> bool:
    """Say which targets one half met; whether it was all."""
    results = {
        f"heading F1 >= {HEADINGS}": (total.headings.f1, HEADINGS),
        f"levels >= {LEVELS}": (total.levels.recall, LEVELS),
        f"furniture precision >= {FURNITURE}": (total.furniture.precision, FURNITURE),
        f"furniture recall >= {FURNITURE}": (total.furniture.recall, FURNITURE),
        f"table cell F1 >= {CELLS[scan]}": (total.cells.f1, CELLS[scan]),
    }
    known = {text: (value, least) for text, (value, least) in results.items() if value is not None}
    report.say(*(f"{'ok    ' if v >= least else 'MISSED'} {text}: {v:.4f}" for text, (v, least) in known.items()))
    return all(value >= least for value, least in known.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pages", type=int, default=200, help="at least so many, and their scanned twins")
    parser.add_argument("--scan", action="store_true", help="only the scanned twins")
    parser.add_argument("--native", action="store_true", help="only born-digital pages")
    parser.add_argument("--template", action="append", default=[], choices=[template.name for template in TEMPLATES])
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the worst documents")
    parser.add_argument("--readings", type=Path, help="folder that keeps what the networks found")
    parser.add_argument("--corpus", action="store_true", help="the corpus's files that have such truth")
    parser.add_argument("--results", type=Path, help="with --corpus: folder of documents already parsed")
    parser.add_argument("--quick", action="store_true", help="some 20 pages")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    if args.quick:
        args.pages = min(args.pages, 20)
    part = "document_corpus" if args.corpus else "document"
    report = Report(part, quick=args.quick, out=args.out)
    report.say(*header(f"bench {part}", quick=args.quick, packages=PACKAGES))
    if args.corpus:
        good = document_corpus.measure(report, results=args.results, quick=args.quick)
    else:
        unseen = "unseen" if args.seed >= FIRST_UNSEEN else "a development seed"
        report.say(f"# seed {args.seed} ({unseen}), {args.pages} pages")
        good = asyncio.run(measure(args, report))
    report.write()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
