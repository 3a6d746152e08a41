"""Text into lines: words for Latin, characters for Han, with the rules which characters may not begin or end a line."""

from __future__ import annotations

import re
from typing import NamedTuple

from samples.generator import fonts

NOT_FIRST = set("，。、；：？！）」』】》”’%,.;:?!)]}ーっゃゅょッャュョ々")
NOT_LAST = set("（「『【《“‘([{")
LEAST_PART = 3
"""Letters of a hyphenated word on either side."""
_VOWELS = set("aeiouyäöüAEIOUYÄÖÜ")


class Set(NamedTuple):
    """A line before it is placed."""

    text: str
    last: bool
    """Of its paragraph: it is not stretched."""


def lines(
    text: str, how: fonts.Face, size: float, measure: float, *, indent: float = 0.0, hyphens: bool = False
) -> list[Set]:
    """The lines of a paragraph no wider than `measure` (points); the first one is `indent` narrower.

    A piece wider than the measure stands alone and sticks out.
    """
    found: list[str] = []
    current, used, limit = "", 0.0, measure - indent
    pieces = list(_pieces(text))
    while pieces:
        piece = pieces.pop(0)
        width = fonts.width(piece.rstrip(), how, size)
        if not current or used + width <= limit:
            current += piece
            used += fonts.width(piece, how, size)
            continue
        head = _head(piece, limit - used, how, size) if hyphens else None
        if head is not None:
            found.append(current + head + "-")
            pieces.insert(0, piece[len(head) :])
        else:
            found.append(current.rstrip())
            pieces.insert(0, piece)
        current, used, limit = "", 0.0, measure
    found.append(current.rstrip())
    return [Set(line, index == len(found) - 1) for index, line in enumerate(found)]


def _pieces(text: str) -> list[str]:
    """What is not broken: a Latin word with its blank, a Han character with the marks that stay with it."""
    found: list[str] = []
    for token in re.findall(r"[^\s\u2e80-\uffff]+\s*|\s+|.", text):
        glued = found and (token[0] in NOT_FIRST or found[-1].rstrip()[-1:] in NOT_LAST)
        if glued:
            found[-1] += token
        else:
            found.append(token)
    return found


def _head(word: str, room: float, how: fonts.Face, size: float) -> str | None:
    """The longest beginning of a word that fits with a hyphen: after a vowel, before a consonant."""
    letters = word.strip()
    if not letters.isalpha() or fonts.is_han(letters[0]) or len(letters) < 2 * LEAST_PART + 1:
        return None
    for end in range(len(letters) - LEAST_PART, LEAST_PART - 1, -1):
        cut = letters[end - 1] in _VOWELS and letters[end] not in _VOWELS
        if cut and fonts.width(letters[:end] + "-", how, size) <= room:
            return letters[:end]
    return None
