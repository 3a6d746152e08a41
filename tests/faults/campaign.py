"""Many runs: the fleets they need, one after the other, each kept alive over as many injections as it can serve."""

from __future__ import annotations

import contextlib
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from tests.faults.cell import Cell, Place
from tests.faults.checker import Violation
from tests.faults.fleet import Fleet
from tests.faults.injection import Injection
from tests.faults.journal import Journal, order
from tests.faults.matrix import by_servers, servers
from tests.faults.outcome import Outcome
from tests.faults.roles import REAL
from tests.faults.run import OPEN, Arena
from tests.faults.sources import light, real
from tests.support.processes import Missing

RATE = {"light": 2.0, "real": 1.0}
"""Documents submitted in a second, by profile: what two busy cores keep up with. More where more than `OPEN` are to be under way."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How much, and of what."""

    seed: int = 1
    at_most: int = 10_000
    until: float | None = None
    """Monotonic time after which no injection begins."""
    rounds: int = 1
    """Green runs that each cell shall have."""
    profile: str = "light"
    together: int = 1
    """Injections into different roles that are made at one time and judged at one rest."""
    alone: int = OPEN
    """Documents under way where an injection is made alone."""
    exact: bool = False
    """The seed is that of the injection itself."""


class Campaign:
    """`run` yields outcomes as they come and writes each into the journal first. `red` counts; `left_out` says what could not run, and why."""

    def __init__(
        self, kinds: Sequence[Injection], journal: Journal, folder: Path, plan: Plan, commit: str = ""
    ) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._journal = journal
        self._folder = folder
        self._plan = plan
        self._commit = commit
        self._left = plan.at_most
        self._seeds = 0
        self.red = 0
        self.left_out: list[str] = []
        self.missing: Missing | None = None
        """What a fleet needed and this machine has not."""

    def run(self, places: Sequence[Place]) -> Iterator[Outcome]:
        """All cells among the places, those with the fewest green runs first, fleet by fleet."""
        for name, mine in by_servers(places, list(self._kinds.values())):
            left = self._batches(self._wanted(mine))
            while left and self._goes_on():
                yield from self._on_fleet(name, left)

    def _batches(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """What is injected at one time, each with one number of replicas: so few processes come first."""
        found = batched(cells, self._kinds, self._plan.together)
        return sorted(found, key=lambda batch: batch[0].replicas)

    def _wanted(self, places: Sequence[Place]) -> list[Cell]:
        if self._plan.exact:
            return [place.cell for place in places if place.reason is None]
        outcomes = [outcome for outcome in self._journal.read() if outcome.profile == self._plan.profile]
        green = Counter(outcome.cell for outcome in outcomes if outcome.green)
        wanted = []
        for cell in order(places, outcomes):
            wanted += [cell] * max(0, self._plan.rounds - green[cell])
        return wanted

    def _goes_on(self) -> bool:
        """The first injection is made however late it is: a run in which nothing happened says nothing."""
        begun = self._left < self._plan.at_most
        return self._left > 0 and not (begun and self._plan.until is not None and time.monotonic() > self._plan.until)

    def _on_fleet(self, name: str, left: list[list[Cell]]) -> Iterator[Outcome]:
        """Take batches from `left` as long as the fleet comes to rest after them."""
        folder = self._folder / f"{name}-{time.time_ns():x}"
        folder.mkdir(parents=True)
        sources, modules = (light(), None) if self._plan.profile == "light" else (real(), REAL)
        try:
            with contextlib.ExitStack() as held:
                below = held.enter_context(servers()[name](folder))
                fleet = held.enter_context(Fleet(below, folder, modules=modules, replicas=left[0][0].replicas))
                rate = RATE[self._plan.profile] * max(1.0, self._plan.alone / OPEN)
                arena = held.enter_context(
                    Arena(fleet, sources, profile=self._plan.profile, rate=rate, alone=self._plan.alone)
                )
                rests = True
                while left and rests and self._goes_on():
                    outcomes = self._together(arena, left.pop(0))
                    yield from outcomes
                    rests = all(outcome.green for outcome in outcomes) or arena.settle()
                ended = fleet.close()
                if ended:
                    self.red += 1
                    self.left_out.append(f"processes were left behind: {ended}")
        except Missing as missing:
            self.missing = missing
            self.left_out.append(f"{name}: {missing}")
            left.clear()

    def _together(self, arena: Arena, cells: Sequence[Cell]) -> list[Outcome]:
        """Injections at one time, judged at one rest. The fleet gets their number of replicas first."""
        began = time.time()
        aimed = [(self._kinds[cell.injection], cell, self._seed(cell)) for cell in cells]
        try:
            if set(arena.fleet.replicas.values()) != {cells[0].replicas}:
                arena.fleet.resize(cells[0].replicas)
            outcomes, missed = arena.run(aimed)
            self.left_out += missed
        except Exception as error:
            # The harness could not go on with these; they are no green ones.
            violation = Violation("harness", "".join(traceback.format_exception(error))[-2_000:])
            outcomes = [_broken(cell, seed, arena.profile, violation, began) for _, cell, seed in aimed]
        outcomes = [msgspec.structs.replace(outcome, code=self._commit) for outcome in outcomes]
        for outcome in outcomes:
            self._left -= 1
            self._journal.add(outcome)
            self.red += not outcome.green
        return outcomes

    def _seed(self, cell: Cell) -> int:
        """Of the next injection of this cell."""
        if self._plan.exact:
            return self._plan.seed
        self._seeds += 1
        return zlib.crc32(f"{self._plan.seed}/{cell.name}/{self._seeds}/{len(self._journal.read())}".encode())


def _broken(cell: Cell, seed: int, profile: str, violation: Violation, began: float) -> Outcome:
    return Outcome(
        cell=cell,
        seed=seed,
        profile=profile,
        documents=0,
        pages=0,
        seconds=round(time.time() - began, 2),
        violations=[violation],
        measured={},
        at=time.time(),
    )


def batched(cells: Sequence[Cell], kinds: Mapping[str, Injection], size: int) -> list[list[Cell]]:
    """What can be injected at one time: at most `size`, each into a role of its own, all with the same replicas and of one class of faults
    that may leave the same behind. Each goes into the first of these that has room for it."""
    found: list[list[Cell]] = []
    for cell in cells:
        alike = _alike(cell, kinds)
        for batch in found:
            fits = len(batch) < size and all(one.role != cell.role for one in batch)
            if fits and _alike(batch[0], kinds) == alike:
                batch.append(cell)
                break
        else:
            found.append([cell])
    return found


def _alike(cell: Cell, kinds: Mapping[str, Injection]) -> tuple[object, ...]:
    kind = kinds[cell.injection]
    return cell.replicas, type(kind), kind.allowance
