"""The journal of a long run: a JSON line for every injection, appended at once, from which the run goes on after it was stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from tests.faults.cell import Cell, Place
from tests.faults.checker import Violation
from tests.faults.outcome import Outcome


class Journal:
    """A file of outcomes; `add` appends and is seen by who opens it next."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "journal.jsonl"
        self._decoder = msgspec.json.Decoder(Outcome)

    def read(self) -> list[Outcome]:
        """All outcomes so far; a line that a killed run left half written is no outcome."""
        if not self.path.exists():
            return []
        found = []
        for line in self.path.read_bytes().splitlines():
            try:
                found.append(self._decoder.decode(line))
            except msgspec.DecodeError:
                continue
        return found

    def add(self, outcome: Outcome) -> None:
        """Append a line."""
        with self.path.open("ab") as file:
            file.write(msgspec.json.encode(outcome) + b"\n")


def order(places: Iterable[Place], outcomes: Iterable[Outcome]) -> list[Cell]:
    """Cells that come next: those that had the fewest green runs first, else as the matrix lists them."""
    green = Counter(outcome.cell for outcome in outcomes if outcome.green)
    cells = [place.cell for place in places if place.reason is None]
    return sorted(cells, key=lambda cell: green[cell])


def summary(places: Sequence[Place], outcomes: Sequence[Outcome]) -> list[str]:
    """The journal in lines: what ran, how much was done again, what was red, which cells have no green run, every seed."""
    cells = [place.cell for place in places if place.reason is None]
    green = Counter(outcome.cell for outcome in outcomes if outcome.green)
    red = [outcome for outcome in outcomes if not outcome.green]
    covered = sum(green[cell] > 0 for cell in cells)
    lines = [
        f"{len(outcomes)} injections, {len(outcomes) - len(red)} green, {len(red)} red (a red one is mended, and its cell run again)",
        f"{covered} of {len(cells)} cells have a green run ({len(places) - len(cells)} combinations are no cells: `list` says why)",
        f"{sum(o.documents for o in outcomes)} documents, {sum(o.pages for o in outcomes)} pages under faults",
        f"by profile: {_counted(o.profile for o in outcomes)}",
        f"by commit: {_counted(o.code for o in outcomes)}",
    ]
    lines += ["", f"{'injection':40}{'runs':>6}{'red':>5}{'whole again, s':>16}{'most':>8}"]
    for name in dict.fromkeys(cell.injection for cell in cells):
        mine = [outcome for outcome in outcomes if outcome.cell.injection == name]
        ready = sorted(outcome.measured.get("ready_s", 0.0) for outcome in mine) or [0.0]
        bad = sum(not outcome.green for outcome in mine)
        lines.append(f"{name:40}{len(mine):>6}{bad:>5}{ready[len(ready) // 2]:>16.1f}{ready[-1]:>8.1f}")
    lines += [
        "",
        "work done again (records of the stages; what was in flight in who died; answers repeated), most of one rest:",
    ]
    for name in dict.fromkeys(cell.injection for cell in cells):
        mine = [outcome for outcome in outcomes if outcome.cell.injection == name and "redone" in outcome.measured]
        if mine:
            most = {
                what: max(o.measured[what] for o in mine) for what in ("redelivered", "redone", "in_flight", "repeated")
            }
            lines.append(f"{name:40}" + "  ".join(f"{what} {count:g}" for what, count in most.items()))
    frozen = [outcome for outcome in outcomes if "doubled" in outcome.measured and outcome.cell.injection == "sigstop"]
    doubled = sum(outcome.measured["doubled"] / outcome.measured["together"] for outcome in frozen)
    lines += ["", f"second records of a document after {len(frozen)} SIGSTOPs (not promised for a join): {doubled:g}"]
    gaps: dict[str, list[tuple[float, float]]] = {}
    for outcome in outcomes:
        for what, seconds in outcome.measured.items():
            if what.startswith("gap_"):
                calm = outcome.measured.get(what.replace("gap_", "calm_"), 0.0)
                gaps.setdefault(what, []).append((seconds, calm))
    if gaps:
        lines += ["", "longest time without an output at a rolling restart, seconds (in ten calm ones before it):"]
        lines += [
            f"{what[4:-2]:40}" + ", ".join(f"{value:.1f} ({calm:.1f})" for value, calm in values)
            for what, values in gaps.items()
        ]
        starts = [f"{o.measured['join_start_s']:.1f}" for o in outcomes if "join_start_s" in o.measured]
        lines += [f"{'start and recovery of a join':40}" + ", ".join(starts)] if starts else []
    lines += [""] + [
        f"red: {o.cell.name} seed {o.seed} ({o.code}): " + ", ".join(_told(v) for v in o.violations[:2]) for o in red
    ]
    lines += [f"no green run: {cell.name}" for cell in cells if not green[cell]]
    lines += ["", "seeds (again: `python -m tests.faults again CELL --seed SEED`):"]
    for cell in dict.fromkeys(outcome.cell for outcome in outcomes):
        seeds = [f"{o.seed}{'' if o.green else ' (red)'}" for o in outcomes if o.cell == cell]
        lines.append(f"{cell.name:55}{', '.join(seeds)}")
    return lines


def _told(violation: Violation) -> str:
    """In one line, without paths of the machine: of a harness that broke only by what."""
    if violation.kind == "harness":
        return f"harness: {violation.what.strip().splitlines()[-1].split(':')[0]}"
    return f"{violation.kind}: {' '.join(violation.what.split())[:200]}"


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in Counter(names).most_common())
