"""Widths of text lines and lines of documents, as they occur: by quantiles, drawn by a seeded generator.

Widths are pixels at the recogniser's height of 48.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import NamedTuple

WIDTHS: dict[str, tuple[tuple[float, float], ...]] = {
    "labels": ((0.0, 31), (1.0, 320)),
    "pages": ((0.0, 40), (0.1, 104), (0.5, 606), (0.9, 1_625), (1.0, 1_977)),
    "forms": ((0.0, 31), (0.1, 38), (0.25, 84), (0.5, 140), (0.75, 444), (0.9, 810), (1.0, 1_470)),
    "long": ((0.0, 900), (1.0, 1_977)),
}
"""Share of lines to width, straight between. `labels`: up to the width for which the NPU's speed was published. `pages`: 64 lines of scanned
pages (reference measurement; the lowest is a guess). `forms`: the 1,160 lines and cells of the bench's two documents, drawn 0.8 times as
wide. `long`: the upper third of `pages`."""

LINES: dict[str, tuple[int, int]] = {"1": (1, 1), "1-2": (1, 2), "1-4": (1, 4), "1-8": (1, 8), "70-100": (70, 100)}
"""Fewest and most lines of a message. A stamp or a label has one or two, a card a few, a page 85 (mean of the reference's 20 pages)."""


class Message(NamedTuple):
    """A document of one page: widths of its lines."""

    number: int
    widths: tuple[int, ...]


def width(mix: str, generator: random.Random) -> int:
    """A width of this mix."""
    share = generator.random()
    points = WIDTHS[mix]
    for (low, low_width), (high, high_width) in pairwise(points):
        if share <= high:
            return round(low_width + (share - low) / (high - low) * (high_width - low_width))
    return round(points[-1][1])


def messages(count: int, mix: str, lines: str, seed: int = 1) -> list[Message]:
    """The same messages for the same seed."""
    generator = random.Random(seed)
    fewest, most = LINES[lines]
    return [
        Message(number, tuple(width(mix, generator) for _ in range(generator.randint(fewest, most))))
        for number in range(count)
    ]
