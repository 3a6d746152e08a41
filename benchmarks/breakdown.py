"""Where a page's time goes, and how far that is from what the machine could do: `./dev bench breakdown [--quick] [--pages DIR]`.

First the workers' own code, one page at a time with one stream, its engine children inside this process so that their parts can be timed
(`benchmarks/lib/timers.py`); the document children stay processes and count as wholes. CPU times are of one thread and add up to the
page's CPU time; `waiting` is the wall time in which nothing computed. Scans and born-digital pages apart.
Then the same pages as one document, as the workers run it, all cores, and the share of the cores that was busy.
The floor is the arithmetic of the networks at the machine's measured peak (`benchmarks/lib/work.py`, `benchmarks/lib/peak.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.lib import bench, peak, processes
from benchmarks.lib.contender import Contender
from benchmarks.lib.machine import ROOT, Report, header, kind_of, processor
from benchmarks.lib.recpath import RecPath, settings_for
from benchmarks.lib.timers import TimedEngine, Timers
from benchmarks.lib.work import macs
from shared.engines import open as engines
from shared.engines.processor import cores
from shared.settings import Settings

R = TypeVar("R")
WIDTH_CLASSES = (128, 320, 640, 1_280)
"""Upper ends of the width classes of lines, padded pixels."""
LONG = {"scanned": 0, "born-digital": 104}
"""Least pages of the document that is read with all cores: enough that its first and last pages, when not all cores have work, do not show.
Scans are not repeated: crops of a page that is read at the same time are shared, caches or not."""
NATIVE_TARGETS = {"amx": 10.0, "avx512_bf16": 10.0, "avx2": 5.0}
"""Class of processor to born-digital pages per second, with layout."""


class Spent(NamedTuple):
    """Sums over the pages of some documents."""

    pages: int
    wall_s: float
    cpu_s: float
    parts: dict[str, float]
    calls: dict[str, int]
    flop: dict[str, float]


def part_name(model: str, shape: tuple[int, ...]) -> str:
    """The part a network's call counts to: lines by width class, detection by size, the others by name."""
    if "rec" in model.split("-"):
        upper = next((width for width in WIDTH_CLASSES if shape[3] <= width), None)
        return f"rec network, {f'up to {upper}' if upper else f'over {WIDTH_CLASSES[-1]}'} px"
    if "-det-" in model and "seal" not in model:
        return f"det network, {max(shape[2:])} px"
    return f"{model} network"


class InProcess:
    """Stands in for `Child`: the program lives in this process, its calls run in threads."""

    def __init__(self, program: str, settings: object, **_: Any) -> None:
        self._name = program
        self._settings = settings
        self._program: Any = None
        self.pid: int | None = None

    async def start(self) -> None:
        from importlib import import_module

        module, _, factory = self._name.partition(":")
        self._program = await asyncio.to_thread(getattr(import_module(module), factory), self._settings)

    async def call(
        self,
        method: str,
        argument: Any,
        blocks: Sequence[Any] = (),
        *,
        returns: type[R],
        timeout_s: float | None = None,
    ) -> tuple[R, list[Any]]:
        return await asyncio.to_thread(getattr(self._program, method), argument, list(blocks))

    async def close(self) -> None:
        self._program = None


class Inside:
    """The recognition path with its engines in this process, timed. All patches are undone by `close`."""

    def __init__(self, folder: Path) -> None:
        from services.layout_worker import pages
        from services.layout_worker import program as layout_program
        from services.rec_worker import crops, read, service
        from services.rec_worker import program as rec_program
        from shared.models import reader

        self.timers = Timers()
        self.engine: TimedEngine | None = None
        self._restore: list[tuple[Any, str, Any]] = []
        for module in (pages, service):
            self._replace(module, "Child", InProcess)
        for module in (layout_program, rec_program):
            self._replace(module, "open_engine", self._open)
        for attribute in ("cut", "turn", "scaled", "pieces"):
            self.timers.wrap(crops, attribute, "cut, scale, split lines")
        self.timers.wrap(read, "crop_key", "hash for the crop cache")
        self.timers.wrap(reader.Reader, "prepare", "normalise and pad lines")
        self.timers.wrap(reader, "decoded", "CTC")
        self.timers.wrap(layout_program.Program, "look", "look: the rest (ink, seals, boxes)")
        self.timers.wrap(layout_program.Program, "lines", "lines: the rest (map to quads)")
        self.timers.wrap(rec_program.RecProgram, "read", "rec: the rest of a call")
        self.path = RecPath(settings_for(folder, engines={"streams": 1}))

    async def start(self) -> None:
        await self.path.start()

    async def close(self) -> None:
        await self.path.stop()
        self.timers.unwrap()
        for owner, name, value in reversed(self._restore):
            setattr(owner, name, value)

    async def spend(self, document: Path) -> Spent:
        """Read a document, one page at a time."""
        assert self.engine is not None
        self.timers.clear()
        self.engine.shapes.clear()
        children = processes.children(os.getpid())
        before = time.process_time(), {pid: processes.cpu_s(pid) for pid in children}, time.perf_counter()
        pages = await self.path.read(document, one_by_one=True)
        wall = time.perf_counter() - before[2]
        own = time.process_time() - before[0]
        opened = sum(processes.cpu_s(pid) - spent for pid, spent in before[1].items())
        found = self.timers.parts()
        parts = {name: part.cpu_s for name, part in found.items()}
        parts["open, draw, decode pages (document children)"] = opened
        parts["the rest (stages, store, batches, threads)"] = max(0.0, own + opened - sum(parts.values()))
        flop: dict[str, float] = defaultdict(float)
        for part, calls in self.engine.shapes.items():
            flop[part] = sum(2 * (macs(model, shape) or 0.0) for model, shape in calls)
        return Spent(
            len(pages), wall, own + opened, parts, {name: part.calls for name, part in found.items()}, dict(flop)
        )

    def _open(self, settings: Any) -> TimedEngine:
        engine = TimedEngine(engines.open_engine(settings), self.timers, part_name)
        if self.engine is not None:
            engine.shapes = self.engine.shapes
        self.engine = engine
        return engine

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._restore.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)


def together(all_: Sequence[Spent]) -> Spent:
    """The sums of several documents."""
    sums: list[dict[str, Any]] = []
    for field in ("parts", "calls", "flop"):
        total: dict[str, Any] = defaultdict(float)
        for one in all_:
            for name, value in getattr(one, field).items():
                total[name] += value
        sums.append(dict(total))
    return Spent(sum(s.pages for s in all_), sum(s.wall_s for s in all_), sum(s.cpu_s for s in all_), *sums)


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
