"""Is everything on the page found, and as what it is: `./dev bench layout [--seed N] [--pages M] [--scan | --native] [--quick]`.

Runs the layout stage (its two children, no broker, no store) on generated documents with exact truth (`samples.generator`), born digital and
scanned; then reads the pages (the reader's child) and composes them. Both are scored by the same rules (`benchmarks/lib/layout_score.py`):
`layout` is what the stage wrote, when nobody has read a word of a scan; `composed` is the page a user gets, whose classes its words may have
changed. Coverage, tables, seals and CPU are the layout stage's, the target of classes is for composed pages. `--layout-only` reads nothing.
`--pictures DIR` keeps the worst pages as pictures, truth on the left, what was found on the right. `./dev bench layout --corpus` makes the
table of the corpus's files instead, `--costs` the one of CPU per step (`benchmarks/lib/layout_corpus.py`, `layout_costs.py`).

Seeds below `FIRST_UNSEEN` are for development; figures that are quoted come from others. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path

from benchmarks.lib import layout_corpus, layout_costs, layout_pictures
from benchmarks.lib.layout_read import PageReader, composed
from benchmarks.lib.layout_score import TABLE_IOU, score
from benchmarks.lib.layout_tally import Tally
from benchmarks.lib.machine import Report, header
from samples.generator import generate
from samples.generator.templates import TEMPLATES
from services.layout_worker.alone import Alone
from shared.contracts.options import Options
from shared.settings import Settings

FIRST_UNSEEN = 1000
COVERAGE, F1, TABLES = 0.998, 0.95, 0.98
"""Targets, shares."""
PACKAGES = ("docfleet", "pymupdf", "openvino", "onnxruntime", "numpy")
HEAD = f"{'':18}{'pages':>6}{'covered':>9}{'read':>8}{'F1':>7}{'looks':>7}{'strict':>8}{'tables':>9}{'seals':>9}{'false':>6}{'cpu ms':>8}"


def row(name: str, tally: Tally) -> str:
    """A line of the table; shares in per cent, seconds of CPU per page."""
    return (
        f"{name:18}{tally.pages:6}{_share(tally.covered, tally.characters, 2):>9}{_share(tally.read, tally.characters, 2):>8}"
        f"{tally.f1:7.3f}{tally.looks_f1:7.3f}{tally.strict_f1:8.3f}{f'{tally.tables_found}/{tally.tables}':>9}{f'{tally.seals_found}/{tally.seals}':>9}"
        f"{tally.seals_false:6}{1000 * tally.cpu_s / max(1, tally.pages):8.0f}"
    )


def _share(part: int, whole: int, digits: int) -> str:
    return f"{100 * part / whole:.{digits}f}" if whole else "-"


async def measure(args: argparse.Namespace, report: Report) -> bool:
    """Both halves, and whether all targets were met."""
    tallies: dict[tuple[bool, str], Tally] = {}
    finals: dict[tuple[bool, str], Tally] = {}
    worst = layout_pictures.Worst(args.pictures)
    options = Options(layout=args.layout)
    with tempfile.TemporaryDirectory() as scratch:
        async with contextlib.AsyncExitStack() as running:
            alone = await running.enter_async_context(Alone(Settings()))
            reader = None if args.layout_only else await running.enter_async_context(PageReader(Settings()))
            for made in generate(args.seed, args.pages, scan=not args.native, templates=tuple(args.template)):
                scan = made.truth.name.endswith("_scan")
                if args.scan and not scan:
                    continue
                path = Path(scratch) / f"{made.truth.name}.pdf"
                path.write_bytes(made.pdf)
                for number, truth in enumerate(made.truth.pages, 1):
                    laid_out, steps = await alone.page(path, number, options)
                    tally = score(truth, laid_out.layout)
                    tally.wall_s = sum(step.wall_s for step in steps)
                    tally.cpu_s = sum(step.cpu_s for step in steps)
                    tallies.setdefault((scan, made.truth.template), Tally()).add(tally)
                    shown = laid_out.layout
                    if reader is not None:
                        shown = composed(shown, await reader.read(laid_out))
                        tally = score(truth, shown)
                        finals.setdefault((scan, made.truth.template), Tally()).add(tally)
                    worst.add(made, number, shown, tally)
                path.unlink()
    halves = {"born digital": False, "scanned": True}
    met = []
    for name, scan in halves.items():
        if not any(s == scan for s, _ in tallies):
            continue
        total = _table(report, f"{name}, layout", {t: tally for (s, t), tally in tallies.items() if s == scan})
        final = total
        if finals:
            final = _table(report, f"{name}, composed", {t: tally for (s, t), tally in finals.items() if s == scan})
        met.append(_targets(report, name, total, final))
    what = "composed" if finals else "layout"
    report.say("", f"Worst pages ({what}), by missed characters, then by F1:", *worst.write(), "")
    return all(met)


def _targets(report: Report, name: str, total: Tally, final: Tally) -> bool:
    """Say which targets one half met; whether it was all. `total` is of layouts, `final` of composed pages where they were made."""
    results = {
        f"covered >= {COVERAGE:.1%}": total.covered >= COVERAGE * total.characters,
        f"F1 >= {F1} ({'layout' if final is total else 'composed'}: {final.f1:.3f})": final.f1 >= F1,
        f"tables of IoU >= {TABLE_IOU}: >= {TABLES:.0%}": total.tables_found >= TABLES * total.tables,
        "all seals, no false one": total.seals_found == total.seals and total.seals_false == 0,
    }
    report.say(*(f"{'ok    ' if good else 'MISSED'} {name}: {text}" for text, good in results.items()))
    return all(results.values())


def _table(report: Report, title: str, tallies: dict[str, Tally]) -> Tally:
    """Print one half; its sum."""
    total = Tally()
    for tally in tallies.values():
        total.add(tally)
    report.say("", f"{title}:", HEAD)
    report.say(*(row(name, tally) for name, tally in sorted(tallies.items())), row("TOTAL", total), "")
    kinds = sorted(set(total.elements) | set(total.regions), key=lambda kind: -total.elements[kind])
    report.say("  by class: F1, found/elements, right/regions, found one to one (strict)")
    report.say(
        *(
            f"    {kind:13}{total.f1_of(kind):6.3f}  {total.found[kind]:5}/{total.elements[kind]:<5}"
            f" {total.right[kind]:5}/{total.regions[kind]:<5} {total.strict[kind]:5}"
            for kind in kinds
        )
    )
    confused = ", ".join(f"{name} {count}" for name, count in total.confused.most_common(14))
    report.say(f"  characters in regions of another class: {confused}")
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pages", type=int, default=200, help="at least so many, and their scanned twins")
    parser.add_argument("--scan", action="store_true", help="only the scanned twins")
    parser.add_argument("--native", action="store_true", help="only born-digital pages")
    parser.add_argument("--template", action="append", default=[], choices=[template.name for template in TEMPLATES])
    parser.add_argument("--layout", choices=("auto", "fast"), default="auto", help="with or without the layout network")
    parser.add_argument("--layout-only", action="store_true", help="read and compose nothing")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the worst pages")
    parser.add_argument("--quick", action="store_true", help="some 20 pages")
    parser.add_argument("--corpus", action="store_true", help="the corpus's files that have such truth")
    parser.add_argument("--costs", action="store_true", help="CPU per step, against other layout programs")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    if args.quick:
        args.pages = min(args.pages, 20)
    part = "layout_corpus" if args.corpus else "layout_costs" if args.costs else "layout"
    report = Report(part, quick=args.quick, out=args.out)
    report.say(*header(f"bench {part}", quick=args.quick, packages=PACKAGES))
    if args.corpus:
        good = asyncio.run(layout_corpus.measure(report))
    elif args.costs:
        good = layout_costs.measure(report, quick=args.quick)
    else:
        unseen = "unseen" if args.seed >= FIRST_UNSEEN else "a development seed"
        report.say(f"# seed {args.seed} ({unseen}), {args.pages} pages, layout: {args.layout}")
        good = asyncio.run(measure(args, report))
    report.write()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
