"""How text is scored against a corpus's truth, by the hints of its manifest."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from rapidfuzz.distance import LCSseq, Levenshtein

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("–—−‐‑•·■●▪*", "-"),
        **dict.fromkeys("“”„«»″〝〞", '"'),
        **dict.fromkeys("‘’‚′`", "'"),
        "ſ": "s",
    }
)
"""Dashes and bullets are one, and so are quotes; the long s is an s."""
_OLD_UMLAUTS = {"aͤ": "ä", "oͤ": "ö", "uͤ": "ü"}
_UNSEEN = re.compile(r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
"""Blanks, and marks of direction and of possible breaks, which nobody sees."""
UNREADABLE = "~"
"""Marks, in the truth, a character nobody can read."""


class TextScore(NamedTuple):
    """Per cent. `recall` is what of the true characters is there, in order; `bag` the same in any order; `cer` is by edit distance."""

    characters: int
    cer: float
    recall: float
    bag: float


def normal(text: str) -> str:
    """NFKC, no blanks and marks of direction, dashes, bullets and quotes folded."""
    for old, new in _OLD_UMLAUTS.items():
        text = text.replace(old, new)
    text = unicodedata.normalize("NFKC", text).translate(_FOLDED)
    return _UNSEEN.sub("", text)


def compare(truth: str, found: str) -> TextScore:
    """Scores of one text."""
    want = normal(truth).replace(UNREADABLE, "")
    got = normal(found)
    if not want:
        return TextScore(0, 0.0 if not got else 100.0, 100.0, 100.0)
    kept = sum((Counter(want) & Counter(got)).values())
    return TextScore(
        len(want),
        100 * Levenshtein.distance(want, got) / len(want),
        100 * LCSseq.similarity(want, got) / len(want),
        100 * kept / len(want),
    )


def score(truth: str, pages: Sequence[str], hints: dict[str, Any]) -> TextScore:
    """Scores of a document. Form feeds part pages of the truth; with `per_page_same` every page says all of it, and the worst counts."""
    if hints.get("per_page_same"):
        return max((compare(truth, page) for page in pages), key=lambda one: one.cer, default=compare(truth, ""))
    return compare(truth.replace("\f", "\n"), "\n".join(pages))


def judged_by(hints: dict[str, Any]) -> str:
    """`cer`, or, where the truth is a part of the page or its order is not the only one, `recall` of characters in any order."""
    return "recall" if hints.get("partial") or hints.get("order") == "loose" else "cer"


def best_part(text: str, among: str) -> float:
    """Per cent of the characters of `text` that its best matching part of `among` has, in order."""
    want, got = normal(text), normal(among)
    if not want:
        return 100.0
    if want in got:
        return 100.0
    from rapidfuzz.fuzz import partial_ratio_alignment

    found = partial_ratio_alignment(want, got)
    part = got[found.dest_start : found.dest_end] if found and len(want) <= len(got) else got
    return 100 * LCSseq.similarity(want, part) / len(want)
