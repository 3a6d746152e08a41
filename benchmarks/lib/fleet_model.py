"""A document's way through the fleet in simulated time: pages through workers that share cards, cores and a VL server. A simulator.

What is simulated: the join's window of released pages; layout workers (host work on a core, then layout and detection on a card); rec
workers that fill a call with waiting lines of all pages, narrow ones first; a VL server that gets faster with requests in flight; composing.
A page is done when its lines and VL regions are read and it is composed. Kafka and the store are not simulated: they were 0.2 % of a page's
time where it was measured (`./dev bench breakdown`, fetching and storing).

Assumed: a card runs one call at a time, whoever made it; a core does one thing at a time; nothing fails.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import simpy


class Page(NamedTuple):
    """What a page costs, seconds where it says so."""

    host_s: float
    """On a core: opening, drawing, decoding, cutting."""
    look_s: float
    """On a card: layout and detection."""
    widths: tuple[int, ...]
    """Lines to read, by their width in pixels at the model's height."""
    vl: int = 0
    """Regions for the VL model."""
    compose_s: float = 0.0


@dataclass(frozen=True)
class Fleet:
    """Machines and policies."""

    call_s: Callable[[Sequence[int]], float]
    """Seconds on a card of one recognition call with lines of these widths."""
    cards: int = 1
    cores: int = 16
    same: bool = False
    """There are no cards: what would run on one runs on a core."""
    layout_workers: int = 1
    rec_workers: int = 1
    window: int = 128
    """Pages released ahead (`join.window`)."""
    batch: int = 8
    batch_width: int = 3200
    vl_servers: int = 1
    vl_in_flight: int = 32
    vl_call_s: float = 2.75
    vl_gain: Callable[[float], float] = field(default=lambda in_flight: in_flight)


class Outcome(NamedTuple):
    seconds: float
    card_busy: float
    """Share of the cards' time."""
    core_busy: float
    calls: int
    """Recognition calls."""
    vl_end_s: float
    """When the last VL answer came."""
    small_end_s: float
    """When the last line was read."""


class _Run:
    def __init__(self, pages: Sequence[Page], fleet: Fleet) -> None:
        self.fleet = fleet
        self.env = simpy.Environment()
        self.core = simpy.Resource(self.env, fleet.cores)
        self.card = self.core if fleet.same else simpy.Resource(self.env, fleet.cards)
        self.vl = simpy.Resource(self.env, fleet.vl_servers * fleet.vl_in_flight)
        self.window = simpy.Resource(self.env, fleet.window)
        self.tasks = simpy.Store(self.env)
        self.lines: list[tuple[int, int]] = []
        self.left = [len(page.widths) + page.vl for page in pages]
        self.read = [self.env.event() for _ in pages]
        self.came = self.env.event()
        self.pages = pages
        self.spent = {"card": 0.0, "core": 0.0}
        self.calls = 0
        self.vl_end = self.small_end = 0.0

    def use(self, kind: str, seconds: float) -> Generator[Any, Any, None]:
        resource = self.card if kind == "card" else self.core
        with resource.request() as turn:
            yield turn
            yield self.env.timeout(seconds)
        self.spent["core" if self.fleet.same else kind] += seconds

    def one(self, number: int) -> None:
        self.left[number] -= 1
        if not self.left[number]:
            self.read[number].succeed()

    def page(self, number: int) -> Generator[Any, Any, None]:
        with self.window.request() as released:
            yield released
            self.tasks.put(number)
            yield self.read[number]
            yield from self.use("core", self.pages[number].compose_s)

    def layout(self) -> Generator[Any, Any, None]:
        while True:
            number = yield self.tasks.get()
            page = self.pages[number]
            yield from self.use("core", page.host_s)
            yield from self.use("card", page.look_s)
            self.lines += [(width, number) for width in page.widths]
            for _ in range(page.vl):
                self.env.process(self.ask(number))
            if page.widths:
                came, self.came = self.came, self.env.event()
                came.succeed()
            if not self.left[number]:
                self.read[number].succeed()

    def ask(self, number: int) -> Generator[Any, Any, None]:
        with self.vl.request() as slot:
            yield slot
            in_flight = max(1.0, self.vl.count / self.fleet.vl_servers)
            yield self.env.timeout(self.fleet.vl_call_s * in_flight / self.fleet.vl_gain(in_flight))
        self.vl_end = self.env.now
        self.one(number)

    def rec(self) -> Generator[Any, Any, None]:
        while True:
            while not self.lines:
                yield self.came
            self.lines.sort()
            taken, width = 0, 0
            for width_, _ in self.lines[: self.fleet.batch]:
                if taken and width + width_ > self.fleet.batch_width:
                    break
                taken, width = taken + 1, width + width_
            batch, self.lines = self.lines[:taken], self.lines[taken:]
            self.calls += 1
            yield from self.use("card", self.fleet.call_s([width for width, _ in batch]))
            self.small_end = self.env.now
            for _, number in batch:
                self.one(number)


def run(pages: Sequence[Page], fleet: Fleet) -> Outcome:
    """All pages as one document."""
    work = _Run(pages, fleet)
    env = work.env
    for _ in range(fleet.layout_workers):
        env.process(work.layout())
    for _ in range(fleet.rec_workers):
        env.process(work.rec())
    done = env.all_of([env.process(work.page(number)) for number in range(len(pages))])
    env.run(until=done)
    seconds = float(env.now)
    return Outcome(
        seconds,
        work.spent["card"] / (seconds * fleet.cards),
        work.spent["core"] / (seconds * fleet.cores),
        work.calls,
        work.vl_end,
        work.small_end,
    )
