"""Sizes of type: the usual one of a text, against which headings and running matter are measured, and that of a line in a picture."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from shared.contracts.document import Block

_WIDTHS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584 584 556 "
    "1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 "
    "333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
)
WIDTHS = {chr(32 + index): int(width) / 1000 for index, width in enumerate(_WIDTHS.split())}
"""Advance of each ASCII character in ems: Helvetica's (Adobe's Core 14 font metrics); other faces for text differ by a tenth, all alike."""
OTHER = 0.556
MARGIN = 0.2
"""Paper that a detected line has at its ends, together, in its heights (median of scans of known text)."""
LEAST = 1.5
"""Ems of text from which on its length says more about its size than its height, which depends on ascenders and descenders."""


MOST = 1.1
"""Size by height of a line of Han or kana (two of them at least) from which its text is not all there: characters fill their em, and of 1657
lines of scans, those read right have 0.79 (median) and less than 1.08 (199 of 200). Latin lines without ascenders have up to 1.4."""


def ems(text: str) -> float:
    """Length of a text in ems, as common faces set it."""
    return sum(_em(character) for character in text.strip())


def _em(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return WIDTHS.get(unicodedata.normalize("NFD", character)[0], OTHER)


def set_size(text: str, length: float, height: float) -> float | None:
    """Font size of a read line by its length along and its height across, in page units; none for a text too short to say, or read in part."""
    wide = ems(text)
    if wide < LEAST:
        return None
    size = max(0.0, length - MARGIN * height) / wide
    full = sum(unicodedata.east_asian_width(character) in "WF" for character in text) >= 2
    return None if full and size > MOST * height else size


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
