"""How far a model's text agrees with what the page shows by itself.

Where the page has text of its own (a PDF's), the words are compared. Where it has only detected lines, their room is: a model that leaves out
half of a table, or makes one up, gives another amount of text than these lines can hold.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from shared.contracts.layout import Doubt, TextLine

_WORD = re.compile(r"[a-z0-9]+|\w")
TYPICAL = 1.2
"""Characters, Latin ones counted half, of a detected line for each time its length holds its height, on scans of print."""
LEAST, MOST = 0.35, 2.5
"""Shares of that amount beyond which the text is another one. What the recogniser read in 75 upright regions of four lines and more,
of 28 scanned documents of many kinds, was 0.58 to 1.97 of it, median 0.95."""
MIN_LINES = 4
"""Detected lines of a region from which their room says anything."""


def disagreement(said: str, lines: Sequence[TextLine]) -> float | None:
    """Share (0..1) of the words that only one of the two has: a model's text and the page's own lines. None where the page gives no text.

    A word is a run of Latin letters and digits, or one character of another script; order does not count. Where some lines are
    pictures the page knows only a part of the text, and only what it knows and the model did not say is counted.
    """
    known = Counter(word for line in lines if line.text for word in _words(line.text))
    if not known:
        return None
    read = Counter(_words(said))
    common = (known & read).total()
    if any(line.text is None for line in lines):
        return 1 - common / known.total()
    return 1 - 2 * common / (known.total() + read.total())


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def doubt_of(said: str, lines: Sequence[TextLine], threshold: float) -> Doubt | None:
    """The warning of a block whose text differs from the page's own in more than `threshold` of the words, or is another amount."""
    share = disagreement(said, lines)
    if share is None:
        return _doubt_of_room(said, lines)
    if share <= threshold:
        return None
    return Doubt(
        code="vl_disagreement",
        message=f"{share:.0%} of the words differ between the VL model and the page's own text",
    )


def amount(said: str, lines: Sequence[TextLine]) -> float | None:
    """The text as a share of what detected lines (`quad`, no text) typically hold; none where they are too few to tell."""
    seen = [line for line in lines if line.text is None and line.quad is not None and not line.vertical]
    if len(seen) < MIN_LINES or len(seen) < len(lines):
        return None
    room = sum(_times(line.quad or []) for line in seen)
    characters = sum(
        1.0 if unicodedata.east_asian_width(character) in "WF" else 0.5 for character in said if not character.isspace()
    )
    return characters / (TYPICAL * room) if room else None


def _times(quad: Sequence[float]) -> float:
    """How often the length of a line holds its height."""
    x0, y0, x1, y1, _, _, x3, y3 = quad
    height = ((x3 - x0) ** 2 + (y3 - y0) ** 2) ** 0.5
    return float(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 / height) if height else 0.0


def _doubt_of_room(said: str, lines: Sequence[TextLine]) -> Doubt | None:
    share = amount(said, lines)
    if share is None or LEAST <= share <= MOST:
        return None
    return Doubt(
        code="vl_disagreement",
        message=f"the VL model gave some {share:.0%} of the text that the lines of the page hold",
    )
