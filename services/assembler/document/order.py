"""Reading order of the things on a page: columns first, rows where the page is a form.

The rule: look for the gutter, the vertical white strip with the most text beside it on both sides. What crosses it
(titles, wide tables and figures) cuts the page into bands; in a band the left side is read before the right one, each
by the same rule. A band whose sides hold single lines standing pairwise at the same height, wide apart or of the form
`name: value`, is no pair of columns but rows of a form, read across. Where no gutter serves the whole page (two columns
above three), the page is cut at the white strip across that leaves the fewest things astride.

Only geometry decides; ties are broken by position, so the order does not depend on that of the input.
Vertical CJK pages are the same after turning: columns become rows, right becomes top.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec

from services.assembler.document.boxes import common_length, merged, overlap

MIN_GUTTER = 0.5
"""Least width of a gutter, in line heights of the page; blanks between words are about 0.3."""
MIN_GAIN = 0.5
"""Height, in line heights, that must have text on both sides of a gutter."""
ASTRIDE = 0.3
"""Share of its height that a crossing thing must have beside others before it speaks against a gutter."""
SAME_ROW = 0.35
"""Distance of two middles, in line heights, up to which single lines stand in the same row."""
LOOSE_PITCH = 1.5
"""From this line pitch on, in line heights, lines beside each other are rows of a form rather than set text."""
MAX_CUTS = 40
"""Strips across, the widest first, that are tried."""
MAX_ITEMS = 1_500
"""Things on a page that are looked at for gutters, which takes time in the square of their number; more are read across."""


class Item(msgspec.Struct, frozen=True):
    """A thing to be put in order. `lines`: text lines it has; `pair`: its text is like `name: value`."""

    box: tuple[float, float, float, float]
    lines: int = 1
    pair: bool = False

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]

    @property
    def middle(self) -> float:
        return (self.box[1] + self.box[3]) / 2


def reading_order(items: Sequence[Item], *, vertical: bool = False) -> list[int]:
    """Indices of `items` in the order of reading. `vertical`: the page is set in CJK columns, right to left."""
    if vertical:
        items = [
            msgspec.structs.replace(item, box=(item.box[1], -item.box[2], item.box[3], -item.box[0])) for item in items
        ]
    ranks = sorted(range(len(items)), key=lambda i: (items[i].box, items[i].lines, items[i].pair))
    if not ranks:
        return []
    ranked = [items[i] for i in ranks]
    line = median(item.height / max(1, item.lines) for item in ranked) or 1.0
    everything = list(range(len(ranked)))
    return [
        ranks[i]
        for i in (_ordered(everything, ranked, line) if len(ranked) <= MAX_ITEMS else _rows(everything, ranked))
    ]


class _Gutter(msgspec.Struct, frozen=True):
    left: list[int]
    right: list[int]
    crossing: list[int]
    gain: float
    """Height with text on both sides."""
    astride: float
    """Height of crossing things that stand beside others."""

    @property
    def worth(self) -> float:
        return self.gain - 2 * self.astride


def _ordered(indices: list[int], items: Sequence[Item], line: float) -> list[int]:
    if len(indices) < 2:
        return indices
    gutter = _gutter(indices, items, line)
    if gutter is None:
        return _rows(indices, items)
    if gutter.astride > 0 and (cut := _cut(indices, items, line, gutter)):
        return [i for part in cut for i in _ordered(part, items, line)]
    out: list[int] = []
    crossing = sorted(gutter.crossing, key=lambda i: (items[i].middle, items[i].box))
    sides = [(i, 0) for i in gutter.left] + [(i, 1) for i in gutter.right]
    for upto in [*crossing, None]:
        end = items[upto].middle if upto is not None else float("inf")
        left = [i for i, side in sides if side == 0 and items[i].middle < end]
        right = [i for i, side in sides if side == 1 and items[i].middle < end]
        sides = [(i, side) for i, side in sides if items[i].middle >= end]
        if crossing and common_length(_heights(left, items), _heights(right, items)) < MIN_GAIN * line:
            # Nothing stands side by side in this band: its order is its own.
            out += _ordered(sorted([*left, *right]), items, line)
        elif _is_form(left, right, items, line):
            out += _rows([*left, *right], items)
        else:
            out += _ordered(left, items, line) + _ordered(right, items, line)
        if upto is not None:
            out.append(upto)
    return out


def _gutter(indices: list[int], items: Sequence[Item], line: float) -> _Gutter | None:
    best: _Gutter | None = None
    for edge in sorted({round(items[i].box[2], 1) for i in indices}):
        left = [i for i in indices if items[i].box[2] <= edge + 0.05]
        # What begins inside the strip (a page number below it) is taken to cross it.
        right = [i for i in indices if items[i].box[0] >= edge + MIN_GUTTER * line]
        if not right:
            break
        gain = common_length(_heights(left, items), _heights(right, items))
        if gain < MIN_GAIN * line:
            continue
        crossing = sorted(set(indices) - set(left) - set(right))
        beside = _heights([*left, *right], items)
        astride = 0.0
        for i in crossing:
            common = common_length([(items[i].box[1], items[i].box[3])], beside)
            if common > ASTRIDE * items[i].height:
                astride += common
        found = _Gutter(left, right, crossing, gain, astride)
        if best is None or found.worth > best.worth + 0.01:
            best = found
    return best if best is not None and best.worth > 0 else None


def _heights(indices: list[int], items: Sequence[Item]) -> list[tuple[float, float]]:
    return merged((items[i].box[1], items[i].box[3]) for i in indices)


def _cut(indices: list[int], items: Sequence[Item], line: float, whole: _Gutter) -> tuple[list[int], list[int]] | None:
    """The two parts above and below the white strip across that leaves the least astride; none where it helps nothing."""
    strips = _heights(indices, items)
    gaps = sorted(((b[0] - a[1], (a[1] + b[0]) / 2) for a, b in pairwise(strips)), reverse=True)
    best, parts = whole.astride, None
    for _, y in gaps[:MAX_CUTS]:
        above = [i for i in indices if items[i].middle < y]
        below = [i for i in indices if items[i].middle >= y]
        left = sum(g.astride for g in (_gutter(above, items, line), _gutter(below, items, line)) if g)
        if left < best - 0.01:
            best, parts = left, (above, below)
    return parts


def _is_form(left: list[int], right: list[int], items: Sequence[Item], line: float) -> bool:
    """Whether two sides are rows of a form rather than columns of text."""
    if not left or not right:
        return False
    small, large = sorted((left, right), key=len)
    paired = [
        i
        for i in small
        if items[i].lines == 1
        and any(
            abs(items[i].middle - items[j].middle) < SAME_ROW * line
            or (items[j].lines > 1 and abs(items[i].box[1] - items[j].box[1]) < SAME_ROW * line)
            for j in large
        )
    ]
    if len(paired) < 0.8 * len(small) or len(paired) < 0.5 * len(large):
        return False
    if sum(items[i].pair for i in [*small, *large]) >= 0.5 * (len(small) + len(large)):
        return True
    if len(paired) < 2:
        return items[paired[0]].lines == 1 and len(large) == 1
    tops = sorted(items[i].box[1] for i in paired)
    pitch = median(b - a for a, b in pairwise(tops))
    return pitch >= LOOSE_PITCH * line


def _rows(indices: list[int], items: Sequence[Item]) -> list[int]:
    """From top to bottom; what shares most of its height stands in one row, left to right."""
    rows: list[list[int]] = []
    for i in sorted(indices, key=lambda i: (items[i].middle, items[i].box, i)):
        if rows:
            first = items[rows[-1][0]]
            common = overlap(first.box[1], first.box[3], items[i].box[1], items[i].box[3])
            if common > 0.5 * min(first.height, items[i].height) and all(_apart(items[i], items[j]) for j in rows[-1]):
                rows[-1].append(i)
                continue
        rows.append([i])
    return [i for row in rows for i in sorted(row, key=lambda i: (items[i].box[0], i))]


def _apart(a: Item, b: Item) -> bool:
    return overlap(a.box[0], a.box[2], b.box[0], b.box[2]) <= 0.2 * min(a.box[2] - a.box[0], b.box[2] - b.box[0])
