"""Reading order of the things on a page: columns first, rows where the page is a form.

The rule: look for the gutter, the vertical white strip with the most text beside it on both sides. What crosses it
(titles, wide tables and figures) cuts the page into bands; in a band the left side is read before the right one, each by
the same rule; so does a heading with white on both sides of it and columns below. A band whose sides hold single lines
standing pairwise at the same height, wide apart or of the form `name: value`, is no pair of columns but rows of a form,
read across. Where no gutter serves the whole page (two columns above three), the page is cut at white strips across so
that each part has a gutter of its own and the fewest things stand astride.

Only geometry decides; ties are broken by position, so the order does not depend on that of the input.
Vertical CJK pages are the same after turning: columns become rows, right becomes top.
"""

from __future__ import annotations

from bisect import bisect
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
CUT = 1.0
"""What a cut costs, in line heights of text beside a gutter; less above a heading and in a wide strip, more below a heading."""
FEW_LINES = 3
"""Lines up to which a text that stands first and alone, and not in the first column, is no part of a column."""
MAX_ITEMS = 1_500
"""Things on a page that are looked at for gutters, which takes time in the square of their number; more are read across."""


class Item(msgspec.Struct, frozen=True):
    """A thing to be put in order. `lines`: text lines it has; `pair`: its text is like `name: value`; `head`: a heading, picture or table,
    which spans columns where it stands alone."""

    box: tuple[float, float, float, float]
    lines: int = 1
    pair: bool = False
    head: bool = False

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
    if (gutter is None or gutter.astride > 0) and len(parts := _parts(indices, items, line)) > 1:
        return [i for part in parts for i in _ordered(part, items, line)]
    if gutter is None:
        return _rows(indices, items)
    out: list[int] = []
    alone = _alone(gutter, indices, items, line)
    gutter = _Gutter(
        [i for i in gutter.left if i not in alone],
        [i for i in gutter.right if i not in alone],
        [*gutter.crossing, *alone],
        gutter.gain,
        gutter.astride,
    )
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
        left, right, crossing = _sides(indices, edge, items, line)
        if not right:
            break
        gain = common_length(_heights(left, items), _heights(right, items))
        if gain < MIN_GAIN * line:
            continue
        found = _Gutter(left, right, crossing, gain, _astride(left, right, crossing, items))
        more = found.worth - best.worth if best is not None else 1.0
        if best is None or more > 0.01 or (more > -0.01 and len(crossing) < len(best.crossing)):
            best = found
    return best if best is not None and best.worth > 0 else None


def _sides(
    indices: Sequence[int], edge: float, items: Sequence[Item], line: float
) -> tuple[list[int], list[int], list[int]]:
    """Left, right and crossing things of a strip that begins at `edge`."""
    left = [i for i in indices if items[i].box[2] <= edge + 0.05]
    # What begins inside the strip (a page number below it) is taken to cross it.
    right = [i for i in indices if items[i].box[0] >= edge + max(MIN_GUTTER * line, 0.06)]
    return left, right, sorted(set(indices) - set(left) - set(right))


def _astride(left: list[int], right: list[int], crossing: Sequence[int], items: Sequence[Item]) -> float:
    """Height of crossing things that stand beside others."""
    beside = _heights([*left, *right], items)
    total = 0.0
    for i in crossing:
        common = common_length([(items[i].box[1], items[i].box[3])], beside)
        if common > ASTRIDE * items[i].height:
            total += common
    return total


def _heights(indices: list[int], items: Sequence[Item]) -> list[tuple[float, float]]:
    return merged((items[i].box[1], items[i].box[3]) for i in indices)


def _bands(indices: Sequence[int], items: Sequence[Item]) -> list[list[int]]:
    """Things between white strips across, from the top; at most `MAX_CUTS` strips are used, the widest."""
    strips = _heights(list(indices), items)
    gaps = sorted(((b[0] - a[1], (a[1] + b[0]) / 2) for a, b in pairwise(strips)), reverse=True)
    cuts = sorted(y for _, y in gaps[:MAX_CUTS])
    bands: list[list[int]] = [[] for _ in range(len(cuts) + 1)]
    for i in indices:
        bands[bisect(cuts, items[i].middle)].append(i)
    return [band for band in bands if band]


def _parts(indices: list[int], items: Sequence[Item], line: float) -> list[list[int]]:
    """Runs of bands of which each has the best gutter of its own, from the top; one part where no cut is worth it."""
    bands = _bands(indices, items)
    if all(len(band) == 1 for band in bands):
        return [indices]
    edges = sorted({round(items[i].box[2], 1) for i in indices})
    sums = [[(0.0, 0.0)] * len(edges)]
    for band in bands:
        sums.append(
            [(g + x, a + y) for (g, a), (x, y) in zip(sums[-1], _beside(band, edges, items, line), strict=True)]
        )

    def worth(start: int, end: int) -> float:
        found = ((g1 - g0, a1 - a0) for (g0, a0), (g1, a1) in zip(sums[start], sums[end], strict=True))
        return max([0.0, *(gain - 2 * astride for gain, astride in found if gain >= MIN_GAIN * line)])

    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(bands) + 1):
        choices = [
            (best[start][0] + worth(start, end) - (_cost(bands, start, items, line) if start else 0.0), -start)
            for start in range(end)
        ]
        value, start = max(choices)
        best.append((value, -start))
    starts, end = [], len(bands)
    while end:
        end = best[end][1]
        starts.append(end)
    cuts = [*reversed(starts), len(bands)]
    return [[i for band in bands[a:b] for i in band] for a, b in pairwise(cuts)]


def _cost(bands: Sequence[Sequence[int]], start: int, items: Sequence[Item], line: float) -> float:
    """Of a cut above a band."""
    above, below = bands[start - 1], bands[start]
    white = min(items[i].box[1] for i in below) - max(items[i].box[3] for i in above)
    cost = CUT * line - 0.1 * min(white, 3 * line)
    if all(items[i].head for i in below):
        cost -= 0.5 * line
    if all(items[i].head for i in above):
        cost += 0.5 * line
    return cost


def _beside(
    band: Sequence[int], edges: Sequence[float], items: Sequence[Item], line: float
) -> list[tuple[float, float]]:
    """Gain and height astride of a band for a gutter at each edge."""
    out = []
    for edge in edges:
        sides = _sides(band, edge, items, line)
        out.append((common_length(_heights(sides[0], items), _heights(sides[1], items)), _astride(*sides, items)))
    return out


def _alone(gutter: _Gutter, indices: Sequence[int], items: Sequence[Item], line: float) -> set[int]:
    """Things of one side with white beside them and both sides below: heads, short text that goes with one, what stands first."""
    end = min(max((items[i].middle for i in side), default=0.0) for side in (gutter.left, gutter.right))
    found: set[int] = set()
    bottom: float | None = None
    """Of the picture or table that spans, while its words may follow."""
    for number, band in enumerate(_bands(indices, items)):
        item = items[band[0]]
        if len(band) > 1 or item.box[3] >= end:
            bottom = None
            continue
        few = item.lines <= FEW_LINES
        goes_along = bottom is not None and few and item.box[1] - bottom < line
        crosses = band[0] in gutter.crossing
        if not crosses and (item.head or goes_along or (number == 0 and few)):
            found.add(band[0])
        bottom = item.box[3] if item.head and (crosses or band[0] in found) else None
    return found


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
