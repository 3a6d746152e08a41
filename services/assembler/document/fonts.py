"""The usual type of a text, against which headings and running matter are measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shared.contracts.document import Block


def usual_size(blocks: Iterable[Block]) -> float | None:
    """Median font size of the characters of plain text; none where no size is known."""
    sizes: Counter[float] = Counter()
    for block in blocks:
        if block.label in ("text", "list_item") and block.font_size:
            sizes[round(block.font_size, 1)] += len(block.text)
    passed, half = 0, sum(sizes.values()) / 2
    for size in sorted(sizes):
        passed += sizes[size]
        if passed >= half:
            return size
    return None
