"""Scanned pages per second, against the programs people use: `./dev bench reading [--quick] [--rounds N] [--pages DIR] [--only NAME ...]`.

Every system reads the same documents in turns, document by document (`benchmarks/lib/contest.py`). Each is a process that was started, and
has read each document once, before anything is counted; so models are loaded and shapes compiled. How each is set up is printed with it:

- `rec path`: docfleet's layout_worker and rec_worker with all their children, without Kafka, join and compose (`benchmarks/lib/recpath.py`)
- `fleet`: all five services, running, documents submitted and awaited as a client does
- `parse`: `docfleet parse`, the command, with its start and its end; not started before
- `rapidocr`: as its README calls it; `rapidocr tuned`: as somebody who measured would
- `tesseract`: two processes of one thread; `ocrmypdf`: two jobs. eng and chi_sim

Pictures of the pages are made beforehand for those that take pictures. CPU seconds and memory are those of the process and all it started,
sampled five times a second; memory shared between processes counts in each. Error rates are the bench's own (`metrics.py`).
Exit code 1 when a target is missed, 2 when a system could not run.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

from benchmarks.lib import bench, contest
from benchmarks.lib.contender import Contender, Failed, Measured
from benchmarks.lib.machine import Report, header, kind_of, processor
from benchmarks.lib.pictures import pictures
from benchmarks.peers import install

OURS = {"rec path": "docfleet_recpath", "fleet": "docfleet_fleet", "parse": "docfleet_parse"}
SYSTEMS = [*OURS, "rapidocr", "rapidocr tuned", "tesseract", "ocrmypdf"]
TARGETS = {"amx": (7.0, 6.0), "avx512_bf16": (5.5, 5.0), "avx2": (3.0, None)}
"""Class of processor to how many times faster than rapidocr as called the rec path must be, and how many times less CPU it may take."""
LINE_LIMIT = 0.3
"""Largest line error rate of the rec path, per cent."""
TESSERACT_TARGET = 2.0
FLEET_TARGET = 0.8
"""Least speed of the whole fleet, of the rec path's."""


def commands(wanted: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Command of each system that can run here, and why others cannot. Installs what is missing."""
    module = lambda python, name, *more: [str(python), "-m", f"benchmarks.peers.{name}", *more]
    found = {name: module(sys.executable, OURS[name]) for name in wanted if name in OURS}
    missing: list[str] = []
    if {"rapidocr", "rapidocr tuned", "ocrmypdf"} & set(wanted):
        python = install.python()
        for name in wanted:
            if name.startswith("rapidocr"):
                found[name] = module(python, "rapidocr_pages", *(["--tuned"] if name.endswith("tuned") else []))
    if {"tesseract", "ocrmypdf"} & set(wanted):
        if (why := install.tesseract()) is not None:
            missing.append(why)
        else:
            if "tesseract" in wanted:
                found["tesseract"] = module(sys.executable, "tesseract_pages")
            if "ocrmypdf" in wanted:
                found["ocrmypdf"] = module(python, "ocrmypdf_pages")
    return {name: found[name] for name in wanted if name in found}, missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round over the smallest document")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--pages", type=Path, default=bench.FOLDER, metavar="DIR", help="folder of documents with truth"
    )
    parser.add_argument("--pattern", default="*_scan.pdf", metavar="GLOB", help="which documents of it")
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, default=SYSTEMS, metavar="NAME")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    documents = bench.documents(args.pages, args.pattern) if args.pages.is_dir() else []
    if not documents:
        print(f"skipped: no {args.pattern} with a truth in {args.pages} (--pages names another folder)")
        return 0
    if args.quick:
        documents = [min(documents, key=lambda one: one.pages)]
    rounds = 1 if args.quick else args.rounds
    runnable, missing = commands(args.only)
    report = Report("reading", quick=args.quick, out=args.out)
    packages = ("docfleet", "openvino", "onnxruntime", "opencv-python-headless", "numpy")
    report.say(*header("reading: scanned pages per second", quick=args.quick, packages=packages), *missing)
    pages = ", ".join(f"{one.name} ({one.pages} pages)" for one in documents)
    report.say(f"# {pages}; {rounds} rounds after one that is not counted", "")
    readings, failed = contend(documents, runnable, rounds, args.pages, report)
    missed = tell(readings, report)
    report.write()
    if failed or missing:
        return 2
    return 1 if missed and not args.quick else 0


def contend(
    documents: list[bench.Document], runnable: dict[str, list[str]], rounds: int, folder: Path, report: Report
) -> tuple[list[contest.Reading], int]:
    """All rounds. A system that fails is left out from then on."""
    metrics = bench.metrics(folder)
    readings: list[contest.Reading] = []
    failed: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        shown = {one.name: pictures(one.pdf, Path(scratch)) for one in documents}
        systems: dict[str, Contender] = {}
        for name, command in runnable.items():
            log = Path(tempfile.gettempdir()) / f"docfleet-bench-{name.replace(' ', '-')}.log"
            try:
                systems[name] = stack.enter_context(Contender(name, command, log))
            except Failed as error:
                report.say(f"FAILED {error}")
                failed.add(name)
                continue
            report.say(f"# {name}: {systems[name].about}")
        for number in range(rounds + 1):
            for document in documents:
                for name in contest.turns(list(systems), number):
                    if name in failed or (number == 0 and name == "parse"):
                        continue  # `parse` starts anew each time: there is nothing to warm
                    try:
                        found = systems[name].read(document.pdf, shown[document.name])
                    except Failed as error:
                        report.say(f"FAILED {error}")
                        failed.add(name)
                        continue
                    if number > 0:
                        reading = _reading(name, number, document, found, bench.score(metrics, document, found.pages))
                        readings.append(reading)
                        report.say(line(reading, found))
    return readings, len(failed)


def _reading(name: str, number: int, document: bench.Document, found: Measured, score: bench.Score) -> contest.Reading:
    measures = (found.wall_s, found.cpu_s, found.resident, found.largest)
    return contest.Reading(name, number, document.name, document.pages, *measures, score)


def line(reading: contest.Reading, found: Measured) -> str:
    """A reading as it goes into the raw result."""
    text = (
        f"round {reading.round} {reading.document:14} {reading.system:15} wall {reading.wall_s:7.2f} s, "
        f"cpu {reading.cpu_s:7.2f} s, memory {reading.resident / 2**20:5.0f} MB, largest process {reading.largest / 2**20:5.0f} MB, "
        f"line {reading.score.line:.2f} %, bag {reading.score.bag:.2f} %"
    )
    return text + "".join(f", {key} {value}" for key, value in found.extra.items() if value)


def tell(readings: list[contest.Reading], report: Report) -> int:
    """The table and the targets; the number of targets missed."""
    rows = {name: found for name in SYSTEMS if (found := contest.row(readings, name)) is not None}
    report.say(
        "",
        "| system | pages/s | CPU s/page | x rapidocr | x less CPU | memory MB | largest process MB | line CER % | bag CER % |",
    )
    report.say("|---|---|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        ratio = contest.ratio(readings, name, "rapidocr")
        times = f"{ratio[0]:.2f} | {ratio[1]:.2f}" if ratio else "- | -"
        report.say(
            f"| {name} | {row.pages_per_s:.3f} | {row.cpu_s_per_page:.2f} | {times} | {row.resident / 2**20:.0f} | "
            f"{row.largest / 2**20:.0f} | {row.line:.2f} | {row.bag:.2f} |"
        )
    report.say("")
    checks = targets(readings, rows)
    for text, good in checks:
        report.say(f"{'ok    ' if good else 'MISSED'} {text}")
    return sum(not good for _, good in checks)


def targets(readings: list[contest.Reading], rows: dict[str, contest.Row]) -> list[tuple[str, bool]]:
    """What was to be reached on this class of processor, and whether it was; of the systems that ran."""
    kind = kind_of(processor()[1])
    ours = rows.get("rec path")
    if ours is None:
        return []
    checks: list[tuple[str, bool]] = []
    if (ratio := contest.ratio(readings, "rec path", "rapidocr")) is not None:
        speed, cpu = TARGETS[kind]
        checks.append(
            (f"rec path {ratio[0]:.2f} times rapidocr's pages/s, wanted {speed:g} on {kind}", ratio[0] >= speed)
        )
        if cpu is not None:
            checks.append((f"rec path {ratio[1]:.2f} times less CPU than rapidocr, wanted {cpu:g}", ratio[1] >= cpu))
        limit = min(LINE_LIMIT, rows["rapidocr"].line)
        checks.append(
            (f"line CER {ours.line:.2f} %, wanted {limit:.2f} or less", round(ours.line, 2) <= round(limit, 2))
        )
    if (ratio := contest.ratio(readings, "rec path", "tesseract")) is not None:
        text = f"rec path {ratio[0]:.2f} times two tesseract processes, wanted {TESSERACT_TARGET:g}"
        checks.append((text, ratio[0] >= TESSERACT_TARGET))
    if (ratio := contest.ratio(readings, "fleet", "rec path")) is not None:
        checks.append((f"fleet at {ratio[0]:.0%} of the rec path, wanted {FLEET_TARGET:.0%}", ratio[0] >= FLEET_TARGET))
    return checks


if __name__ == "__main__":
    sys.exit(main())
