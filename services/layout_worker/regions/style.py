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
    sizes: Counter[float] = Counter()
    bold = total = 0
    heights: list[float] = []
    for line in lines:
        if line.font_size and line.text:
            sizes[round(line.font_size * 2) / 2] += len(line.text)
            bold += len(line.text) * line.bold
            total += len(line.text)
        elif line.quad is not None and not line.vertical:
            heights.append(quad_height(line.quad))
    size = min(sizes, key=lambda key: (-sizes[key], key)) if total >= FEW else 0.0
    return Style(size, 2 * bold > total, median(heights) if len(heights) >= 4 else 0.0)


def quad_height(quad: list[float]) -> float:
    """Length of the left side of a quad, in pixels: skew does not change it."""
    return math.hypot(quad[6] - quad[0], quad[7] - quad[1])
