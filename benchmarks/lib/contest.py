"""Several systems on the same documents, in turns; pure arithmetic over what was measured.

A round is every document read once by every system, and the order of the systems turns from round to round, so that a machine that
slows down slows all of them down. Figures are medians over the rounds; ratios are taken within a round first.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.lib.bench import Score


class Reading(NamedTuple):
    """One document read once by one system."""

    system: str
    round: int
    document: str
    pages: int
    wall_s: float
    cpu_s: float
    resident: int
    largest: int
    score: Score


class Row(NamedTuple):
    """A system's figures: medians over rounds; memory and error rates the worst of them."""

    system: str
    pages_per_s: float
    cpu_s_per_page: float
    resident: int
    largest: int
    line: float
    bag: float
    rounds: int


def turns(systems: Sequence[str], number: int) -> list[str]:
    """The order of the systems in a round: each time another one begins."""
    start = number % len(systems)
    return [*systems[start:], *systems[:start]]


def per_round(readings: Sequence[Reading], system: str) -> dict[int, tuple[float, float]]:
    """Round to pages per second and CPU seconds per page, over all documents of the round."""
    found: dict[int, tuple[float, float]] = {}
    for number in sorted({one.round for one in readings}):
        mine = [one for one in readings if one.system == system and one.round == number]
        pages = sum(one.pages for one in mine)
        if pages:
            found[number] = pages / sum(one.wall_s for one in mine), sum(one.cpu_s for one in mine) / pages
    return found


def row(readings: Sequence[Reading], system: str) -> Row | None:
    """The figures of a system; none when it read nothing."""
    rounds = per_round(readings, system)
    mine = [one for one in readings if one.system == system]
    if not rounds:
        return None
    lines, bags = [], []
    for number in rounds:
        scores = [one.score for one in mine if one.round == number]
        total = sum(score.characters for score in scores) or 1
        lines.append(sum(score.line * score.characters for score in scores) / total)
        bags.append(sum(score.bag * score.characters for score in scores) / total)
    return Row(
        system,
        statistics.median(speed for speed, _ in rounds.values()),
        statistics.median(cpu for _, cpu in rounds.values()),
        max(one.resident for one in mine),
        max(one.largest for one in mine),
        max(lines),
        max(bags),
        len(rounds),
    )


def ratio(readings: Sequence[Reading], system: str, other: str) -> tuple[float, float] | None:
    """How many times faster `system` is than `other`, and how many times less CPU it takes per page: medians of the rounds' ratios."""
    mine, others = per_round(readings, system), per_round(readings, other)
    both = mine.keys() & others.keys()
    if not both:
        return None
    speed = statistics.median(mine[number][0] / others[number][0] for number in both)
    return speed, statistics.median(others[number][1] / mine[number][1] for number in both)
