"""What the layout of a page costs, in CPU milliseconds, by step, and what others take for theirs: `./dev bench layout --costs`.

All programs do the same generated documents in turns, a process each that was started and has done every document once before anything is
counted. Pictures for those that take pictures are made beforehand, at 200 dpi; ours opens and renders the PDF itself. Of the networks only the
inference counts. CPU is that of the process and all it started; figures are medians of the rounds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.lib.contender import Contender, Failed
from benchmarks.lib.contest import turns
from benchmarks.lib.machine import Report
from benchmarks.lib.pictures import pictures
from samples.generator import generate

PACKAGES = ("pymupdf==2.0", "pymupdf4llm==2.0", "pymupdf-layout==2.0", "rapid-layout==1.2.1", "onnxruntime==1.32.0")
"""PyMuPDF 2 is AGPL or commercial, rapid-layout Apache-2.0; both bring their networks in the wheel."""
SEED, DOCUMENTS, QUICK = 1, 14, ("form", "letter")
ROUNDS = 3
FAST_MS, NATIVE_RATIO, SCANNED_RATIO = 60.0, 1.3, 1.3
"""Targets: a native page without network; with it, by the layout inference; a scanned page by the sum of both inferences."""


class Kind(NamedTuple):
    """Documents of one kind, each with a picture per page."""

    name: str
    documents: list[tuple[Path, list[Path]]]

    @property
    def pages(self) -> int:
        return sum(len(files) for _, files in self.documents)


def measure(report: Report, *, quick: bool) -> bool:
    """The table; whether the targets were met."""
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as running:
        kinds = _documents(Path(scratch), QUICK if quick else ())
        contenders = _contenders(running, Path(scratch), report)
        costs: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
        for number in range(-1, 1 if quick else ROUNDS):
            for kind in kinds:
                for name in turns(list(contenders), number % len(contenders)):
                    try:
                        one = _one(contenders[name], kind)
                    except Failed as error:
                        report.say(f"# {error}")
                        return False
                    if number >= 0:
                        costs[kind.name, name].append(one)
        for kind in kinds:
            report.say("", f"{kind.name}, {kind.pages} pages: CPU ms per page")
            for name in contenders:
                report.say(_row(name, costs[kind.name, name]))
        return _targets(report, costs)


def _documents(folder: Path, templates: tuple[str, ...]) -> list[Kind]:
    """One document of each of these templates, or of the first `DOCUMENTS`, and its scan."""
    kinds: dict[bool, list[tuple[Path, list[Path]]]] = {False: [], True: []}
    count = len(templates) or DOCUMENTS
    for made in islice(generate(SEED, 10**6, scan=True, templates=templates), 2 * count):
        path = folder / f"{made.truth.name}.pdf"
        path.write_bytes(made.pdf)
        kinds[made.truth.name.endswith("_scan")].append((path, pictures(path, folder)))
    return [Kind("native", kinds[False]), Kind("scanned", kinds[True])]


def _contenders(running: ExitStack, scratch: Path, report: Report) -> dict[str, Contender]:
    module = lambda python, name, *more: [str(python), "-m", f"benchmarks.peers.{name}", *more]
    peers = _python()
    commands = {
        "docfleet": module(sys.executable, "docfleet_layout"),
        "docfleet, fast": module(sys.executable, "docfleet_layout", "--fast"),
        "networks alone": module(sys.executable, "docfleet_networks"),
        "pymupdf layout": module(peers, "other_layouts", "pymupdf"),
        "rapid-layout": module(peers, "other_layouts", "rapid-layout"),
    }
    found = {}
    for name, command in commands.items():
        found[name] = running.enter_context(Contender(name, command, scratch / f"{name.replace(' ', '-')}.log"))
        report.say(f"# {name}: {found[name].about}")
    return found


def _python() -> Path:
    """Interpreter of the peers' environment below the cache folder; made when it is not there or holds other packages."""
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "docfleet" / "bench" / "layout-peers"
    mark, wanted = place / "packages.txt", "\n".join(PACKAGES)
    if not mark.exists() or mark.read_text() != wanted:
        print(f"Installing {', '.join(PACKAGES)} in {place} (once) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary=:all:", *PACKAGES], check=True)
        mark.write_text(wanted)
    return place / "bin" / "python"


def _one(contender: Contender, kind: Kind) -> dict[str, float]:
    """Milliseconds per page: in `total`, and by step where the program says."""
    sums: dict[str, float] = defaultdict(float)
    for pdf, files in kind.documents:
        measured = contender.read(pdf, files)
        sums["total"] += measured.cpu_s
        for step, seconds in measured.extra.get("steps", {}).items():
            sums[step] += seconds
    return {step: 1000 * seconds / kind.pages for step, seconds in sums.items()}


def _row(name: str, rounds: Sequence[dict[str, float]]) -> str:
    middle = _medians(rounds)
    steps = ", ".join(f"{step} {value:.0f}" for step, value in middle.items() if step != "total")
    return f"  {name:16}{middle['total']:8.0f}  {steps}"


def _medians(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    names = list(dict.fromkeys(step for one in rounds for step in one))
    return {step: statistics.median(one.get(step, 0.0) for one in rounds) for step in names}


def _targets(report: Report, costs: dict[tuple[str, str], list[dict[str, float]]]) -> bool:
    """Ratios are taken within a round first."""
    fast = _medians(costs["native", "docfleet, fast"])
    native = _ratio(costs["native", "docfleet"], costs["native", "networks alone"], ("layout",))
    scanned = _ratio(costs["scanned", "docfleet"], costs["scanned", "networks alone"], ("layout", "lines"))
    steps = sum(value for step, value in fast.items() if step != "total")
    results = {
        f"native page without network: {steps:.0f} ms (<= {FAST_MS:.0f})": steps <= FAST_MS,
        f"native page with it: {native:.2f} of the layout inference (<= {NATIVE_RATIO})": native <= NATIVE_RATIO,
        f"scanned page: {scanned:.2f} of both inferences (<= {SCANNED_RATIO})": scanned <= SCANNED_RATIO,
    }
    report.say("", *(f"{'ok    ' if good else 'MISSED'} {text}" for text, good in results.items()))
    return all(results.values())


def _ratio(ours: Sequence[dict[str, float]], alone: Sequence[dict[str, float]], networks: Sequence[str]) -> float:
    return statistics.median(
        sum(value for step, value in one.items() if step != "total") / sum(other[name] for name in networks)
        for one, other in zip(ours, alone, strict=True)
    )
