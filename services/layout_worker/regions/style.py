"""What is usual on a page: the size of its body text, and whether that is bold. Headings and small print are told from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from statistics import median

import msgspec

from shared.contracts.layout import TextLine

FEW = 40
"""Characters below which a page says nothing about what is usual on it."""
PROSE = 20.0
"""Width, in sizes of its type, from which a line is one of running text: cells, names and most headings are shorter. Where a page has `FEW`
characters of it, only that says what is usual: tables and code are set smaller, and there may be more of them."""


class Style(msgspec.Struct, frozen=True):
    """The usual text of a page. `size` is in points for text of the page itself (0: not known), `height` in pixels of the full picture
    for detected lines (0: not known)."""

    size: float = 0.0
    bold: bool = False
    height: float = 0.0

    def ratio(self, line: TextLine) -> float | None:
        """Size of a line by the usual one; none where one of them is not known. Detected heights are rough: a tenth either way."""
        if line.font_size and self.size:
            return line.font_size / self.size
        if line.quad is not None and self.height and not line.vertical:
            return quad_height(line.quad) / self.height
        return None

    def stands_out(self, line: TextLine) -> bool:
        """Whether a line is bold among lines that are not."""
        return line.bold and not self.bold


def style_of(lines: Iterable[TextLine]) -> Style:
    """Usual size and weight by characters, usual height of detected lines by their length."""
    own: list[TextLine] = []
    heights: list[float] = []
    for line in lines:
        if line.font_size and line.text:
            own.append(line)
        elif line.quad is not None and not line.vertical:
            heights.append(quad_height(line.quad))
    prose = [line for line in own if _is_prose(line)]
    size, bold, total = _usual(own)
    if sum(len(line.text or "") for line in prose) >= FEW:
        # Small print is prose too, and a form may have more of it than of anything else that is prose: the larger of the two is the text.
        size, bold, total = max(_usual(prose), (size, bold, total), key=lambda usual: usual[0])
    if total < FEW:
        size = 0.0
    return Style(size, bold, median(heights) if len(heights) >= 4 else 0.0)


def _usual(lines: Iterable[TextLine]) -> tuple[float, bool, int]:
    """Size and weight of most characters, and how many there are."""
    sizes: Counter[float] = Counter()
    bold = total = 0
    for line in lines:
        count = len(line.text or "")
        sizes[round((line.font_size or 0.0) * 2) / 2] += count
        bold += count * line.bold
        total += count
    return min(sizes, key=lambda key: (-sizes[key], key), default=0.0), 2 * bold > total, total


def _is_prose(line: TextLine) -> bool:
    x0, y0, x1, y1 = line.bbox
    long = (y1 - y0) if line.vertical else (x1 - x0)
    return not line.monospace and long >= PROSE * (line.font_size or 0.0)


def quad_height(quad: list[float]) -> float:
    """Length of the left side of a quad, in pixels: skew does not change it."""
    return math.hypot(quad[6] - quad[0], quad[7] - quad[1])
