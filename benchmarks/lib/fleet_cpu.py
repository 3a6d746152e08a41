"""The simulated fleet, fed with what this machine's stages cost, against a real run: is the simulation to be believed?

Measured on one set of generated documents (one seed), stage by stage, one page at a time (`benchmarks/lib/inside.py`): core seconds of a page
in layout and in reading, born-digital and scanned apart. Measured on one page: the start and end of `docfleet parse`. Taken from `./dev bench
assembly`: composing. Predicted and run: one document of another seed.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pymupdf

from benchmarks.lib.fleet_model import Fleet, Page, run
from benchmarks.lib.inside import Inside, Spent, together
from benchmarks.lib.machine import ROOT
from samples.generator import generate
from shared.engines.processor import cores

SEED, CHECKED_SEED = 7, 8
COMPOSE_S = 0.0045
READING = ("rec", "draft", "decode pictures", "cut,", "hash", "normalise", "CTC", "slanet")
"""How the parts of rec_worker begin (`inside.part_name` and its labels); the others are the layout stage's."""
PIECES = 10
"""A page's reading is that many calls: how many does not matter where a call costs what its lines cost."""


class Cost(NamedTuple):
    """Core seconds of a page."""

    layout_s: float
    reading_s: float


class Checked(NamedTuple):
    name: str
    pages: int
    predicted_s: float
    measured_s: float
    costs: str

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1


def check(*, quick: bool) -> list[Checked]:
    """Predict and run a born-digital document, its scan, and both in one."""
    with tempfile.TemporaryDirectory(prefix="docfleet-bench-") as scratch:
        folder = Path(scratch)
        small = _documents(folder / "small", SEED, 8 if quick else 25)
        large = _documents(folder / "large", CHECKED_SEED, 10 if quick else 60)
        costs = asyncio.run(_costs(folder / "inside", small))
        start_s = _start_s(costs)
        told = "; ".join(
            f"{kind}: layout {cost.layout_s * 1e3:.0f}, reading {cost.reading_s * 1e3:.0f} ms of a core a page"
            for kind, cost in costs.items()
        )
        told += f"; start and end {start_s:.1f} s; seeds {SEED} (measured) and {CHECKED_SEED} (predicted)"
        found = []
        for name, kinds in {"born-digital": ["native"], "scanned": ["scan"], "both": ["native", "scan"]}.items():
            files = [(kind, file) for kind in kinds for file in large[kind]]
            document, pages = _joined(files, folder / f"{name}.pdf")
            predicted = start_s + run([_page(costs[kind]) for kind in pages], _fleet()).seconds
            found.append(Checked(name, len(pages), predicted, _parse_s(document, folder / "out"), told))
        return found


def _fleet() -> Fleet:
    """One worker of each stage with the machine's cores; each keeps as many pages in work as there are cores."""
    return Fleet(
        call_s=lambda widths: sum(widths) / 1e6,
        cards=cores(),
        cores=cores(),
        same=True,
        layout_workers=cores(),
        rec_workers=cores(),
        batch=1,
        batch_width=10**9,
    )


def _page(cost: Cost) -> Page:
    return Page(0.0, cost.layout_s, (round(cost.reading_s / PIECES * 1e6),) * PIECES, 0, COMPOSE_S)


def _documents(folder: Path, seed: int, pages: int) -> dict[str, list[Path]]:
    folder.mkdir(parents=True)
    found: dict[str, list[Path]] = {"native": [], "scan": []}
    for made in generate(seed, pages, scan=True):
        file = folder / f"{made.truth.name}.pdf"
        file.write_bytes(made.pdf)
        found["scan" if made.truth.name.endswith("_scan") else "native"].append(file)
    return found


async def _costs(folder: Path, documents: dict[str, list[Path]]) -> dict[str, Cost]:
    inside = Inside(folder)
    try:
        await inside.start()
        found = {}
        for kind, files in documents.items():
            for file in files:
                await inside.spend(file)  # so that all shapes are known
            found[kind] = _cost(together([await inside.spend(file) for file in files]))
        return found
    finally:
        await inside.close()


def _cost(spent: Spent) -> Cost:
    reading = sum(seconds for name, seconds in spent.parts.items() if name.startswith(READING))
    return Cost((spent.cpu_s - reading) / spent.pages, reading / spent.pages)


def _start_s(costs: dict[str, Cost]) -> float:
    """Seconds of `docfleet parse` on one page, less that page: median of three."""
    with tempfile.TemporaryDirectory(prefix="docfleet-bench-") as scratch:
        page = ROOT / "samples" / "page.pdf"
        taken = sorted(_parse_s(page, Path(scratch) / str(number)) for number in range(3))[1]
    return taken - sum(costs["native"]) - COMPOSE_S


def _parse_s(document: Path, out: Path) -> float:
    command = [sys.executable, "-m", "docfleet.cli.main", "parse", str(document), "-o", str(out), "--no-overlays"]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - started


def _joined(files: Sequence[tuple[str, Path]], target: Path) -> tuple[Path, list[str]]:
    """One document of all these, and the kind of each page."""
    kinds: list[str] = []
    with pymupdf.open() as whole:
        for kind, file in files:
            with pymupdf.open(file) as part:
                whole.insert_pdf(part)
                kinds += [kind] * len(part)
        whole.save(target)
    return target, kinds
