"""Many runs: the fleets they need, one after the other, each kept alive over as many injections as it can serve."""

from __future__ import annotations

import contextlib
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from tests.faults.cell import REPLICAS, Cell, Place
from tests.faults.checker import Violation
from tests.faults.fleet import Fleet
from tests.faults.injection import Injection, NotInjected
from tests.faults.journal import Journal, order
from tests.faults.matrix import by_servers, servers
from tests.faults.outcome import Outcome
from tests.faults.roles import REAL
from tests.faults.run import Arena, Shot
from tests.faults.sources import light, real
from tests.support.processes import Missing

RATE = {"light": 2.0, "real": 1.0}
"""Documents submitted in a second, by profile: what two busy cores keep up with."""


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
    """Injections of one kind, into different roles, that are judged at one rest."""
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
            cells = self._wanted(mine)
            for replicas in REPLICAS:
                if chosen := [cell for cell in cells if cell.replicas == replicas and self._goes_on()]:
                    yield from self._on_fleet(name, replicas, chosen)

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

    def _on_fleet(self, name: str, replicas: int, cells: Sequence[Cell]) -> Iterator[Outcome]:
        folder = self._folder / f"{name}-{replicas}-{time.time_ns():x}"
        folder.mkdir(parents=True)
        sources, modules = (light(), None) if self._plan.profile == "light" else (real(), REAL)
        try:
            with contextlib.ExitStack() as held:
                below = held.enter_context(servers()[name](folder))
                fleet = held.enter_context(Fleet(below, folder, modules=modules, replicas=replicas))
                arena = held.enter_context(
                    Arena(fleet, sources, profile=self._plan.profile, rate=RATE[self._plan.profile])
                )
                for kind, mine in groupby(cells, key=lambda cell: cell.injection):
                    for some in batched(list(mine), self._plan.together):
                        if self._goes_on():
                            yield from self._together(arena, self._kinds[kind], some)
                left = fleet.close()
                if left:
                    self.red += 1
                    self.left_out.append(f"processes were left behind: {left}")
        except Missing as missing:
            self.missing = missing
            self.left_out.append(f"{name}: {missing}")

    def _together(self, arena: Arena, kind: Injection, cells: Sequence[Cell]) -> list[Outcome]:
        """Injections of one kind, one after the other, judged at one rest."""
        began = time.time()
        shots: list[Shot] = []
        seeds = [self._seed(cell) for cell in cells]
        try:
            before = arena.begin()
            for cell, seed in zip(cells, seeds, strict=True):
                try:
                    shots.append(arena.inject(kind, cell, seed))
                except NotInjected as why:
                    self.left_out.append(f"{cell.name} seed {seed}: {why}")
            outcomes = arena.judge(shots, kind.allowance, before)
        except Exception as error:
            # The harness could not go on with these; they are no green ones.
            violation = Violation("harness", "".join(traceback.format_exception(error))[-2_000:])
            outcomes = [
                _broken(cell, seed, arena.profile, violation, began) for cell, seed in zip(cells, seeds, strict=True)
            ]
        outcomes = [msgspec.structs.replace(outcome, code=self._commit) for outcome in outcomes]
        for outcome in outcomes:
            self._left -= 1
            self._journal.add(outcome)
            self.red += not outcome.green
        if not all(outcome.green for outcome in outcomes):
            arena.settle()
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


def batched(cells: Sequence[Cell], size: int) -> Iterator[Sequence[Cell]]:
    """In groups of at most `size`, in which no role comes twice, nor any that the order did not put together."""
    group: list[Cell] = []
    for cell in cells:
        if len(group) == size or any(one.role == cell.role for one in group):
            yield group
            group = []
        group.append(cell)
    if group:
        yield group
