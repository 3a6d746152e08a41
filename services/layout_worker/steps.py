"""Where the time of a page went: for benchmarks and for people who wonder. Costs nothing worth naming, so it is always on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the work on one page. Names: `open`, `look`, `plan`, `open again`, `lines`, `assemble`."""

    name: str
    wall_s: float
    cpu_s: float = 0.0
    """CPU seconds of the worker and its children; 0 where no clock for them was given."""


class Steps:
    """Collects the steps of one page, in order."""

    def __init__(self, cpu: Callable[[], float] | None = None) -> None:
        """`cpu` gives CPU seconds spent so far. It counts whole processes, so it says the truth only where one page is worked on at a time."""
        self._cpu = cpu or (lambda: 0.0)
        self.done: list[Step] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), self._cpu()
        try:
            yield
        finally:
            self.done.append(
                Step(name=name, wall_s=time.perf_counter() - wall, cpu_s=max(0.0, self._cpu() - cpu)),
            )


def cpu_seconds(pids: Callable[[], list[int]]) -> Callable[[], float]:
    """A clock of the CPU seconds of these processes and all their threads, to the nanosecond; 0 where the system has none.

    One call a process: reading the threads' files in `/proc` a few times a page cost 7 ms, a tenth of what it measured.
    """

    def read() -> float:
        total = 0.0
        for pid in pids():
            with suppress(OSError):
                total += time.clock_gettime(_clock_of(pid))
        return total

    return read


def _clock_of(pid: int) -> int:
    """The id of a process's CPU clock, as `clock_getcpuclockid(3)` makes it on Linux (`CPUCLOCK_SCHED` of linux/posix-timers.h)."""
    return (~pid << 3) | 2
