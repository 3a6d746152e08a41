"""Where a page's time goes, and how far that is from what the machine could do: `./dev bench breakdown [--quick] [--pages DIR]`.

First the workers' own code, one page at a time with one stream, its engine children inside this process so that their parts can be timed
(`benchmarks/lib/inside.py`); the document children stay processes and count as wholes. CPU times are of one thread and add up to the
page's CPU time; `waiting` is the wall time in which nothing computed. Scans and born-digital pages apart.
Then the same pages as one document, as the workers run it, all cores, and the share of the cores that was busy.
The floor is the arithmetic of the networks at the machine's measured peak (`benchmarks/lib/work.py`, `benchmarks/lib/peak.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.lib import bench, peak
from benchmarks.lib.contender import Contender
from benchmarks.lib.inside import Inside, Spent, together
from benchmarks.lib.machine import ROOT, Report, header, kind_of, processor
from shared.engines import open as engines
from shared.engines.processor import cores
from shared.settings import Settings

LONG = {"scanned": 0, "born-digital": 104}
"""Least pages of the document that is read with all cores: enough that its first and last pages, when not all cores have work, do not show.
Scans are not repeated: crops of a page that is read at the same time are shared, caches or not."""
NATIVE_TARGETS = {"amx": 10.0, "avx512_bf16": 10.0, "avx2": 5.0}
"""Class of processor to born-digital pages per second, with layout."""


def tell(report: Report, title: str, spent: Spent, top: float) -> None:
    """The table of one kind of page; `top` is the peak of one thread, GFLOP/s."""
    report.say(
        f"## {title}: {spent.pages} pages, one at a time, one stream",
        "",
        "| part | CPU ms a page | share | calls a page | GFLOP a page | GFLOP/s | of the peak |",
        "|---|---|---|---|---|---|---|",
    )
    pages = max(1, spent.pages)
    for name, seconds in sorted(spent.parts.items(), key=lambda item: -item[1]):
        flop = spent.flop.get(name, 0.0)
        speed = flop / seconds / 1e9 if flop and seconds else None
        work = f"{flop / pages / 1e9:.2f} | {speed:.0f} | {speed / top:.0%}" if speed is not None else "- | - | -"
        calls = f"{spent.calls[name] / pages:.1f}" if name in spent.calls else "-"
        report.say(f"| {name} | {seconds / pages * 1e3:.1f} | {seconds / spent.cpu_s:.1%} | {calls} | {work} |")
    floor = sum(spent.flop.values()) / pages / 1e9 / top
    networks = sum(seconds for name, seconds in spent.parts.items() if name in spent.flop) / pages
    cpu, wall = spent.cpu_s / pages, spent.wall_s / pages
    report.say(
        f"| all | {cpu * 1e3:.1f} | 100% | | {sum(spent.flop.values()) / pages / 1e9:.2f} | | |",
        f"| fetching and storing, of the wall time | {spent.stored_s / pages * 1e3:.1f} | | | | | |",
        f"| waiting (wall without CPU) | {max(0.0, wall - cpu) * 1e3:.1f} | | | | | |",
        "",
        f"floor at {top:.0f} GFLOP/s: {floor * 1e3:.0f} ms of one core a page; networks take {networks * 1e3:.0f} ms "
        f"({floor / networks if networks else 0:.0%} of the peak), all of it {cpu * 1e3:.0f} ms ({floor / cpu:.0%})",
        "",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest document of each kind")
    parser.add_argument(
        "--pages", type=Path, default=bench.FOLDER, metavar="DIR", help="folder of PDF files with truth"
    )
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    documents = bench.documents(args.pages, "*.pdf") if args.pages.is_dir() else []
    kinds = {
        "scanned": [one.pdf for one in documents if one.name.endswith("_scan")],
        "born-digital": [one.pdf for one in documents if not one.name.endswith("_scan")],
    }
    if not documents:
        kinds = {"scanned": [ROOT / "samples" / "scan.pdf"], "born-digital": [ROOT / "samples" / "page.pdf"]}
    if args.quick:
        kinds = {kind: [min(files, key=lambda file: file.stat().st_size)] for kind, files in kinds.items() if files}
    report = Report("breakdown", quick=args.quick, out=args.out)
    report.say(*header("breakdown", quick=args.quick, packages=("openvino", "onnxruntime", "numpy")), "")
    tops = {threads: peak.measure(threads) for threads in dict.fromkeys((1, cores()))}
    report.say("measured peak (2048 x 2048 matrices), GFLOP/s; with one thread by CPU time, with more by wall time:")
    for threads, found in tops.items():
        report.say(f"  {threads} threads: " + ", ".join(f"{name} {speed:.0f}" for name, speed in found.items()))
    precision = engines.open_engine(Settings().engines).precision
    fitting = {name: speed for name, speed in tops[1].items() if name.endswith((precision, "f32"))}
    top = max(fitting.values())
    report.say("")
    found = asyncio.run(inside(kinds))
    for kind, spent in found.items():
        tell(report, kind, spent, top)
    outside(report, kinds, args.quick)
    report.write()
    return 0


async def inside(kinds: dict[str, list[Path]]) -> dict[str, Spent]:
    """Each document is read twice; the second time counts."""
    with tempfile.TemporaryDirectory(prefix="docfleet-bench-") as scratch:
        inside_ = Inside(Path(scratch))
        try:
            await inside_.start()
            found = {}
            for kind, files in kinds.items():
                spent = []
                for file in files:
                    await inside_.spend(file)
                    spent.append(await inside_.spend(file))
                found[kind] = together(spent)
            return found
        finally:
            await inside_.close()


def outside(report: Report, kinds: dict[str, list[Path]], quick: bool) -> None:
    """The same pages, in one long document of each kind, as the workers run them."""
    report.say("## As the workers run it: all cores, pages side by side", "")
    report.say("| pages | | pages/s | CPU s a page | cores busy |", "|---|---|---|---|---|")
    log = Path(tempfile.gettempdir()) / "docfleet-bench-breakdown.log"
    speeds = {}
    command = [sys.executable, "-m", "benchmarks.peers.docfleet_recpath"]
    with tempfile.TemporaryDirectory() as scratch, Contender("rec path", command, log) as system:
        for kind, files in kinds.items():
            for file in files:
                system.read(file, [])  # so that all shapes are known
            document = joined(files, 0 if quick else LONG[kind], Path(scratch) / f"{kind}.pdf")
            found = system.read(document, [])
            pages = len(found.pages)
            speeds[kind] = pages / found.wall_s
            busy = found.cpu_s / found.wall_s / cores()
            report.say(f"| {kind} | {pages} | {speeds[kind]:.2f} | {found.cpu_s / pages:.2f} | {busy:.0%} |")
    wanted = NATIVE_TARGETS[kind_of(processor()[1])]
    if (speed := speeds.get("born-digital")) is not None:
        report.say(
            "",
            f"{'ok    ' if speed >= wanted else 'MISSED'} born-digital pages with layout: {speed:.1f}/s, wanted {wanted:g}",
        )
    report.say("")


def joined(files: Sequence[Path], least_pages: int, target: Path) -> Path:
    """One document of all these, again and again until it has `least_pages`."""
    import pymupdf

    with pymupdf.open() as whole:
        while not len(whole) or len(whole) < least_pages:
            for file in files:
                with pymupdf.open(file) as part:
                    whole.insert_pdf(part)
        whole.save(target)
    return target


if __name__ == "__main__":
    sys.exit(main())
