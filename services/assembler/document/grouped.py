"""Names over groups of columns, where every column below has a name of its own: together they cover all columns, each a run of them.

Where a column ends on the page nobody can see, only where the next begins: a name is right over a run when it stands in the middle of it,
wherever between its text and its neighbours' that ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from services.assembler.document.strips import Span

MOST = 16
"""Columns of a run, and names over it, for which all ways to share it are tried: up to some 6,000."""
MIDDLE = 0.1
"""What a unit of distance from the middle of what is seen counts, beside one of distance from every place where the middle may be."""


def shares(middles: Sequence[float], strips: Sequence[tuple[float, float]], free: Sequence[int]) -> list[Span] | None:
    """The columns under each name, of those in `free`; none where the names cannot share them all. `middles` are those of the names, from the
    left, `strips` all columns of the table."""
    out: list[Span] = []
    left = list(middles)
    for run in _runs(free):
        end = _outer(run[1], strips)
        here = [middle for middle in left if middle < end]
        left = left[len(here) :]
        shared = _shared(here, strips, run)
        if shared is None:
            return None
        out += shared
    return out if not left else None


def _runs(free: Sequence[int]) -> list[Span]:
    runs: list[Span] = []
    for column in sorted(free):
        if runs and runs[-1][1] == column - 1:
            runs[-1] = (runs[-1][0], column)
        else:
            runs.append((column, column))
    return runs


def _shared(middles: Sequence[float], strips: Sequence[tuple[float, float]], run: Span) -> list[Span] | None:
    """The best way to share a run; none where a name stands outside its share."""
    first, last = run
    count = last - first + 1
    if not middles or len(middles) > count or count > MOST:
        return None
    best: tuple[float, list[Span]] | None = None
    for cuts in combinations(range(first + 1, last + 1), len(middles) - 1):
        parts = [(a, b - 1) for a, b in pairwise([first, *cuts, last + 1])]
        if not all(strips[a][0] <= m <= _outer(b, strips) for m, (a, b) in zip(middles, parts, strict=True)):
            continue
        cost = sum(_away(m, part, strips) for m, part in zip(middles, parts, strict=True))
        if best is None or cost < best[0]:
            best = cost, parts
    return best[1] if best is not None else None


def _away(middle: float, part: Span, strips: Sequence[tuple[float, float]]) -> float:
    """How far a name stands from where the middle of some columns may be."""
    first, last = part
    before = strips[first - 1][1] if first > 0 else strips[first][0]
    low, high = (before + strips[last][1]) / 2, (strips[first][0] + _outer(last, strips)) / 2
    seen = (strips[first][0] + strips[last][1]) / 2
    return max(0.0, low - middle, middle - high) + MIDDLE * abs(middle - seen)


def _outer(column: int, strips: Sequence[tuple[float, float]]) -> float:
    """How far a column may reach to the right: to the next, the last one as far as the widest step from one to the next."""
    if column + 1 < len(strips):
        return strips[column + 1][0]
    return strips[column][0] + max([strips[column][1] - strips[column][0], *(b[0] - a[0] for a, b in pairwise(strips))])
