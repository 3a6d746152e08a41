"""One run: a fault into a living fleet under load, until all is done again, and the check."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from tests.faults.cell import Cell
from tests.faults.checker import Violation, check
from tests.faults.fleet import Fleet
from tests.faults.injection import Allowance, Injection, NotInjected
from tests.faults.observed import Expected, Observed
from tests.faults.outcome import Outcome
from tests.faults.redone import Work, work_of
from tests.faults.sources import Source
from tests.faults.submitting import Load, Submitter, expected, upload
from tests.faults.watch import Watch

NOBODY = Expected(document_id="", template="", status="", pages=0, digest=None, objects=frozenset())
OPEN = 4
"""Documents that are under way at any moment of a run with one injection."""
OPEN_EACH = 2
"""With more than one at a time, each has so many of its own."""
SETTLE_S = 60.0
"""Within so long after a red run a fleet is at rest, or is given up."""


class Shot:
    """An injection that has taken place and is not judged yet."""

    def __init__(self, cell: Cell, seed: int) -> None:
        self.cell = cell
        self.seed = seed
        self.began = self.injected = time.monotonic()
        self.documents: list[Expected] = []
        self.measured: dict[str, float] = {}
        self.violations: list[Violation] = []


class Arena:
    """Context manager: a fleet with everything that a run needs around it, and what calm documents of every source come to."""

    def __init__(
        self,
        fleet: Fleet,
        sources: Sequence[Source],
        *,
        profile: str = "light",
        rate: float = 3.0,
        patience_s: float = 180,
        alone: int = OPEN,
    ) -> None:
        """`rate`: documents a second. `patience_s`: within so long after a fault everything must be done. `alone`: documents under way
        where one injection is made at a time."""
        self.fleet = fleet
        self.sources = sources
        self.profile = profile
        self.rate = rate
        self.patience_s = patience_s
        self._alone = alone
        self.known: dict[str, Expected] = {}
        self.watch = Watch(fleet.servers)
        self._submitter = Submitter(fleet.servers)
        self._loads: list[dict[str, Expected]] = []
        """Documents of injections that are not judged yet."""
        self._ended: dict[str, int] = {}
        """Terminal records of every document of earlier runs: there shall never be more."""
        self._letters = 0
        """Dead letters of earlier runs."""

    def __enter__(self) -> Self:
        self.fleet.deaths.clear()  # a broker that has just come up under load may keep somebody waiting too long at first
        upload(self.fleet.servers, self.sources)
        self.watch.__enter__()
        self._calm()
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.__exit__()

    def _calm(self) -> None:
        """Two documents of every source without any fault: what they come to, which must be the same."""
        names = {f"calm-{self.fleet.run}-{source.name}-{turn}": source for source in self.sources for turn in range(2)}
        for name, source in names.items():
            self._submitter.submit(name, source.name)
        self._submitter.flush()
        self._until_done([expected(NOBODY, name) for name in names])
        for name, source in names.items():
            terminals = self.watch.terminals([name])
            assert len(terminals) == 1, f"{name}: {len(terminals)} terminal records without any fault"
            (terminal,) = terminals
            assert terminal.status == source.status, f"{name}: {terminal.status}, {sorted(terminal.codes)}"
            assert source.poison or not terminal.codes, f"{name}: {sorted(terminal.codes)}"
            known = Expected(
                document_id="",
                template=source.name,
                status=terminal.status,
                pages=len(terminal.page_numbers),
                digest=terminal.digest,
                objects=self.watch.objects(name),
                poison=source.poison,
            )
            before = self.known.setdefault(source.name, known)
            assert before == known, f"two calm documents of {source.name} differ: {before} and {known}"
        observed = self._observed([expected(self.known[source.name], name) for name, source in names.items()])
        found = check([expected(self.known[source.name], name) for name, source in names.items()], observed)
        assert not found, f"without any fault: {found[:5]}"

    def run(self, aimed: Sequence[tuple[Injection, Cell, int]]) -> tuple[list[Outcome], list[str]]:
        """Inject at one time, each into a role of its own and with its seed, wait and check: an outcome for each that took place, and a line
        for each that did not. The fleet must be at rest and have the cells' replicas. All must have one allowance."""
        self.fleet.deaths.clear()
        before = work_of(self.fleet.folder)
        if len(aimed) == 1:  # on this thread: what it starts anew dies with the thread that started it
            made = [self._made(*aimed[0], alone=True)]
        else:
            with ThreadPoolExecutor(len(aimed), thread_name_prefix="injection") as pool:
                made = list(pool.map(lambda one: self._made(*one), aimed))
        allowance = aimed[0][0].allowance
        shots = [shot for shot in made if isinstance(shot, Shot)]
        return self._judge(shots, allowance, before), [one for one in made if isinstance(one, str)]

    def _made(self, injection: Injection, cell: Cell, seed: int, alone: bool = False) -> Shot | str:
        try:
            return self._inject(injection, cell, seed, alone)
        except NotInjected as why:
            return f"{cell.name} seed {seed}: {why}"

    def _inject(self, injection: Injection, cell: Cell, seed: int, alone: bool) -> Shot:
        """A fault into the fleet under the load of documents of its own. Returns when everybody whom it may have hurt is ready again: its
        role, or who is `alone`, all. Raises `NotInjected`."""
        rng = random.Random(f"{cell.name}/{seed}")
        shot = Shot(cell, seed)
        name = f"{self.fleet.run}-{seed:08x}"
        most = self._alone if alone else OPEN_EACH

        def is_full() -> bool:
            """Whether enough of its documents are under way."""
            return sum(name not in self.watch.parsed for name in list(load.submitted)) >= most

        with Load(self._submitter, self.known, name, rng, self.rate, is_full=is_full) as load:
            self._loads.append(load.submitted)
            load.wait_for(1)
            time.sleep(rng.uniform(0.0, 1.0))  # the moment of the fault is random
            shot.injected = time.monotonic()
            try:
                shot.measured |= injection.inject(self.fleet, cell.role, rng)
            except AssertionError as error:
                shot.violations.append(Violation("injection", str(error)))
            try:
                self.fleet.wait_ready(*(() if alone else (cell.role,)), seconds=self.patience_s)
            except AssertionError as error:
                shot.violations.append(Violation("not ready", str(error)))
            shot.measured["ready_s"] = time.monotonic() - shot.injected
        shot.documents = list(load.submitted.values())
        return shot

    def _judge(self, shots: Sequence[Shot], allowance: Allowance, before: Work) -> list[Outcome]:
        """Wait until all is done, and check: an outcome for each injection. What is wrong then is charged to each of them."""
        # Those of an injection that did not take place are none of the outcomes', but they are documents like all others.
        documents = [one for submitted in self._loads for one in submitted.values()]
        self._loads.clear()
        self.fleet.wait_ready(seconds=self.patience_s)
        self._until_done(documents, raising=False)
        done = time.monotonic()
        observed = self._observed(documents)
        redone = _redone(work_of(self.fleet.folder), before)
        found = check(documents, observed, allowance, Counter(shot.cell.role for shot in shots))
        found += _too_much(redone, allowance.redone)
        names = {one.document_id for one in documents}
        ends = Counter(one.document_id for one in observed.terminals)
        doubled = sum(count - 1 for count in ends.values())  # what an allowance may cover
        common = {
            **redone,
            "doubled": float(doubled),
            "hurt": float(sum(bool(one.codes & allowance.codes) for one in observed.terminals)),
            "repeated": float(self.watch.repeated(names)),
            "together": float(len(shots)),
        }
        outcomes = []
        for shot in shots:
            measured = {**shot.measured, "done_s": done - shot.injected, **common}
            outcomes.append(
                Outcome(
                    cell=shot.cell,
                    seed=shot.seed,
                    profile=self.profile,
                    documents=len(shot.documents),
                    pages=sum(one.pages for one in shot.documents),
                    seconds=round(done - shot.began, 2),
                    violations=[*shot.violations, *found],
                    measured={name: round(value, 3) for name, value in measured.items()},
                    at=time.time(),
                )
            )
        return outcomes

    def settle(self) -> bool:
        """After a red run: wait until nothing is under way, so that the next one begins at rest; false where that does not come."""
        self._loads.clear()
        try:
            self.fleet.wait_ready(seconds=SETTLE_S)
            self._until_done([], patience_s=SETTLE_S)
        except AssertionError:
            return False
        self._remember()
        return True

    def _remember(self) -> None:
        self._ended = {name: len(records) for name, records in list(self.watch.parsed.items())}
        self._letters = len(self.watch.letters)

    def _until_done(self, documents: Sequence[Expected], raising: bool = True, patience_s: float | None = None) -> None:
        """Wait until every document has a terminal record, everything is committed, and the last objects are written."""
        patience_s = patience_s or self.patience_s
        deadline = time.monotonic() + patience_s
        missing = [one.document_id for one in documents]
        while True:
            assert self.watch.broken is None, f"the watch broke: {self.watch.broken}"
            missing = [name for name in missing if name not in self.watch.parsed]
            if not missing and self._closed(documents) and self.watch.behind() == 0:
                return
            if time.monotonic() > deadline:
                assert not raising, f"not done within {patience_s:g} s: {missing[:5]}, {self.watch.lags()}"
                return
            time.sleep(0.5)

    def _closed(self, documents: Sequence[Expected]) -> bool:
        """Whether the mark that the very last step of a document writes is there for all of them."""
        return all(self.watch.is_closed(one.document_id) for one in documents)

    def _observed(self, documents: Sequence[Expected]) -> Observed:
        names = [one.document_id for one in documents]
        self.fleet.wait_until_clean()
        late = [
            name
            for name, records in list(self.watch.parsed.items())
            if name not in names and len(records) > self._ended.get(name, 0)
        ]
        observed = Observed(
            terminals=self.watch.terminals([*names, *late]),
            letters=self.watch.letters[self._letters :],
            lags=[lag for lag in self.watch.lags() if lag.committed != lag.end],
            objects={name: self.watch.objects(name) for name in names},
            stray=self.fleet.stray(),
            deaths=list(self.fleet.deaths),
        )
        self._remember()
        return observed


def _redone(after: Work, before: Work) -> dict[str, float]:
    """Work on records that was begun again during the run, and what was in flight in processes that died."""
    died = sum(after.in_flight.values()) - sum(before.in_flight.values())
    return {
        "redelivered": float(after.again - before.again),
        "redone": float(after.redone - before.redone),
        "moved": float(after.moved - before.moved),
        "in_flight": float(died),
    }


def _too_much(found: Mapping[str, float], allowed: str) -> list[Violation]:
    """Work that was done again and need not have been."""
    if allowed == "in flight" and found["redone"] > found["in_flight"]:
        return [Violation("redone", f"{found['redone']:g} records, while {found['in_flight']:g} were in flight")]
    # Records may come again where the last commit before a rebalance is refused (the group had moved on); they are looked up, not done again.
    if allowed == "nothing" and found["redone"] > found["moved"]:
        again = found["redone"] - found["moved"]
        return [Violation("redone", f"{again:g} records were done again, though nobody died")]
    return []
