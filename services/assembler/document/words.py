"""Whether what was read is words: networks take short lines in a margin for formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.assembler.document.text import Piece, is_cjk

CHINESE, WORDS = 0.5, 0.7
"""Share of Chinese characters and kana, and of characters in words of three letters and more, from which a text is no formula. The layout has
such a rule for a page's own text."""
LEAST = 4
"""Characters without blanks of a text that is told by them."""
_WORD = re.compile(r"[^\W\d_]{3,}")


def is_prose(pieces: Sequence[Piece]) -> bool:
    """Whether the lines of a formula are words."""
    text = "".join("".join(piece.text.split()) for piece in pieces)
    if len(text) < LEAST or "=" in text:
        return False
    if sum(is_cjk(character) for character in text) > CHINESE * len(text):
        return True
    held = sum(len(word) for piece in pieces for word in _WORD.findall(piece.text))
    return held > WORDS * len(text)
