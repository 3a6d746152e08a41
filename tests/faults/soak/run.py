"""The soak itself: load, faults, samples, and the checker at the end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.faults.checker import Violation, check
from tests.faults.fleet import Fleet
from tests.faults.injection import ANY, Allowance, Injection, NotInjected
from tests.faults.process import Member
from tests.faults.roles import ROLES, Role
from tests.faults.run import Arena
from tests.faults.soak.sample import Sample, files_below, of_veterans
from tests.faults.submitting import Load

LEFT_OUT = {"rolling-restart", "scale-1-3-1", "start-together", "newer-beside", "broker-away", "sigstop"}
"""Faults that end every process of a role, veterans included, or take longer than the pause between two faults."""
OPEN = 20
"""Documents under way, beyond which none is submitted: a slow machine gets no more than it can do."""
POOLS = {"DOCFLEET_OBJECTS__CONNECTIONS": "8"}
"""A pool of connections and threads that is full when the warm-up ends: one of 32 takes its last the first time that 32 are wanted at once, which
may be after an hour, and looks like a leak until then."""
TOLERANCE = Allowance(deaths=ANY, exits=frozenset({-9}), codes=frozenset({"resource_limit"}), fallbacks=True)
"""What all these faults together may leave; of `vl-reset`: tables that small models read, told as `vl_fallback`."""


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was injected. `trouble` is what its own check found; empty when it was as it should be."""

    at_s: float
    fault: str
    role: str
    trouble: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    seconds: float
    samples: list[Sample]
    injected: list[Injected]
    documents: int
    pages: int
    drained_s: float
    """From the end of the load until everything had ended and was committed."""
    fallbacks: int
    """Documents with a region that small models read in the VL model's place."""
    violations: list[Violation]


class Soak:
    """`veterans` are the first process of each role: faults aim at the others, so that a leak has time to show."""

    def __init__(
        self, arena: Arena, faults: Sequence[Injection], *, seed: int, every_s: float, told: Callable[[str], None]
    ) -> None:
        """`told` hears a line now and then."""
        self._arena = arena
        self._fleet = arena.fleet
        self._faults = [fault for fault in faults if fault.name not in LEFT_OUT]
        self._random = random.Random(seed)
        self._seed = seed
        self._every_s = every_s
        self._told = told
        self.veterans = {role: self._fleet.of(role)[0] for role in ROLES}
        self._samples: list[Sample] = []
        self._injected: list[Injected] = []
        self._began = time.monotonic()

    def run(self, minutes: float, sample_s: float, count_s: float, temporary: Path) -> Report:
        """`sample_s` between two samples, `count_s` between two counts of the store's objects."""
        rate = self._arena.rate
        self._fleet.deaths.clear()
        self._began = time.monotonic()
        end = self._began + 60 * minutes
        ending = threading.Event()
        load = Load(
            self._arena._submitter,
            self._arena.known,
            f"soak-{self._fleet.run}",
            self._random,
            rate,
            is_full=lambda: self._open(load) >= OPEN,
        )
        with load:
            sampler = threading.Thread(
                target=self._sample, args=(load, ending, sample_s, count_s, temporary), daemon=True
            )
            sampler.start()
            while (left := end - time.monotonic()) > 0:
                due = time.monotonic() + min(self._every_s, left)
                if left > self._every_s:  # the last fault has its time to be mended
                    self._inject()
                time.sleep(max(0.0, due - time.monotonic()))
            ending.set()
            sampler.join(60)
        loaded = time.monotonic()
        documents = list(load.submitted.values())
        self._arena._until_done(documents, raising=False)
        drained = time.monotonic() - loaded
        observed = self._arena._observed(documents)
        violations = check(documents, observed, TOLERANCE)
        return Report(
            seconds=time.monotonic() - self._began,
            samples=self._samples,
            injected=self._injected,
            documents=len(documents),
            pages=sum(one.pages for one in documents),
            drained_s=drained,
            fallbacks=sum("vl_fallback" in terminal.warnings for terminal in observed.terminals),
            violations=violations,
        )

    def _open(self, load: Load) -> int:
        parsed = self._arena.watch.parsed
        return sum(name not in parsed for name in list(load.submitted))

    def _inject(self) -> None:
        """One fault at random. What its own check finds is kept, not raised: the soak goes on."""
        fault = self._random.choice(self._faults)
        roles = [role for role in ROLES if fault.inapplicable(role, 2) is None]
        role = self._random.choice(roles)
        at = time.monotonic() - self._began
        trouble = ""
        try:
            fault.inject(_Spared(self._fleet, self.veterans), role, self._random)  # type: ignore[arg-type]
        except NotInjected:
            return
        except AssertionError as error:
            trouble = str(error)
        self._injected.append(Injected(at_s=at, fault=fault.name, role=role, trouble=trouble))
        self._told(f"{at:6.0f} s  {fault.name} {role} {trouble[:200]}")

    def _sample(self, load: Load, ending: threading.Event, sample_s: float, count_s: float, temporary: Path) -> None:
        counted = 0.0
        while not ending.wait(sample_s):
            now = time.monotonic()
            objects = None
            if now - counted >= count_s:
                counted = now
                objects = len(self._arena.fleet.servers.keys("docfleet", ""))
            submitted = list(load.submitted)
            self._samples.append(
                Sample(
                    at_s=now - self._began,
                    held=of_veterans(self.veterans.values()),
                    temporary_files=files_below(temporary),
                    submitted=len(submitted),
                    ended=len(self._arena.watch.parsed),
                    behind=self._arena.watch.behind(),
                    objects=objects,
                )
            )


class _Spared:
    """The fleet as faults see it: without the veterans, as long as a role has anybody else."""

    def __init__(self, fleet: Fleet, veterans: dict[Role, Member]) -> None:
        self._fleet = fleet
        self._veterans = veterans

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fleet, name)

    def of(self, role: Role) -> list[Member]:
        """Waits for the one that is being started again after the fault before."""
        deadline = time.monotonic() + 30
        while True:
            found = self._fleet.of(role)
            others = [member for member in found if member is not self._veterans[role]]
            if others or time.monotonic() > deadline:
                return others or found
            time.sleep(0.1)
