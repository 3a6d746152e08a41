"""Whether the characters that a font claims to show are the ones it shows.

A PDF may say anything about its characters: a ToUnicode map shifted by three gives text that is well formed and wrong. So each font of a
page is judged by what its text looks like:

1. Letters of Latin, Cyrillic and Greek script must follow each other like letters of words (`letters`). Chinese, Japanese and Korean
   characters must be common ones: nearly all of real text is in the first level of a national character set, a fifth of all code points is.
2. What looks right is trusted. What does not is in doubt, not wrong: lists of codes look odd too. So are fonts whose characters MuPDF had to
   guess, and Chinese text without the words that every text has (a map that confuses characters of one page keeps them common).
   A font that is not in the file is drawn by another one, so its picture proves nothing: it is never in doubt.
3. Doubts are settled by reading a few of its lines from the picture and comparing (`Compared`), once for a document. Only where that is
   not possible do the statistics decide alone.

Lines that look wrong are judged apart from the rest of their font, because two fonts may have one name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from services.layout_worker.trust import ideographs
from services.layout_worker.trust.letters import strangeness
from shared.documents.page import NativeLine, OpenedPage

Looks = Literal["right", "wrong", "unclear"]

WORDS = ((60, 4.4), (20, 4.3), (8, 4.1))
"""Pairs of letters, and the mean strangeness up to which so many are words. Of real lines with 20 to 40 pairs 93 % pass, of shifted and
permuted ones one in a thousand; with 8 to 12 pairs 62 % and 1 %. Measured on lines in 9 languages that the table was not counted from."""
NO_WORDS, NO_WORDS_PAIRS = 4.8, 60
"""From here on they are none."""
ODD_LINE, ODD_LINE_PAIRS = 4.9, 15
"""A line that is judged apart from the other lines of its font."""
COMMON = 0.9
"""Share of common characters from which CJK text looks right."""
RARE, RARE_COUNT = 0.7, 12
"""Share below which, from so many characters on, it looks wrong: real text has 0.97 and more, characters by chance have 0.18 to 0.26."""
PAIRS, PAIRS_SHARE = 4, 0.01
"""Pairs of usual pairs (`ideographs`), and their share of all pairs, from which Chinese, Japanese or Korean text is sentences: prose has 3 % and
more. A map that exchanges the characters of a text among themselves leaves one in a thousand."""
SAMPLES = 3
"""Lines of a font that are read to settle a doubt. No setting: `SETTLED_SAME` and `SETTLED_OTHER` were measured with so many."""
SAMPLE_LENGTH = (4, 60)
"""Characters of a line worth reading: long enough to say something, short enough to cost little."""
LAYER_SAMPLES = 5
SETTLED_SAME, SETTLED_OTHER = 0.6, 0.35
"""Mean similarity of lines and their readings from which a font is believed, and below which it is not. The wrong map of a font gives 0.0
to 0.27, two sentences of one language 0.3; the recogniser reads clean print with 0.97, and ornate letters with anything."""
LAYER_SAME = 0.9
"""The same for the text layer of a scan, which is a reading itself and only worth having when it is a good one."""

_LITERAL = re.compile(r"\(cid:\d+\)|/(?:[GgCc]\d{1,4}|uni[0-9A-Fa-f]{4}|glyph\d+|cid\d+|g[0-9A-F]{2})(?![A-Za-z])")
"""What writers put where they knew no character: numbers and names of glyphs, as text."""
LITERAL_SHARE = 0.3


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """Text that is to be compared with what the picture shows."""

    key: str
    """What it is about, the same on every page of the document: a font, or `layer`."""
    lines: list[NativeLine]
    """Samples."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """How like their readings the samples of a doubt are, 0..1; none where the reader was not sure either."""

    similarity: float | None = None


Verdicts = dict[str, Compared]


class Font(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of one font that look alike."""

    key: str
    name: str
    lines: list[NativeLine]
    looks: Looks
    guessed: bool = False
    """Its characters were guessed by position, because the file does not say them."""


def fonts_of(page: OpenedPage) -> list[Font]:
    """The fonts of a page's visible text, lines that are broken by themselves (`is_broken`) left out, sorted by key."""
    groups: dict[tuple[str, bool], list[NativeLine]] = {}
    for line in page.lines:
        if line.visible and line.text.strip() and not is_broken(line):
            odd = _is_odd(line.text)
            groups.setdefault((line.font or line.font_name, odd), []).append(line)
    return [
        Font(
            key=f"{name}{' (odd lines)' if odd else ''}",
            name=name,
            lines=lines,
            looks=looks(" ".join(line.text for line in lines)),
            guessed=name in page.guessed_fonts,
        )
        for (name, odd), lines in sorted(groups.items())
    ]


def doubts_of(page: OpenedPage, most: int) -> list[Doubt]:
    """What of a page's own text has to be compared with its picture: `most` fonts (`layout.compared_fonts`), those first that say most, and
    a scan's text layer. Other fonts are decided by their looks, or by another page."""
    unsure = [
        font
        for font in fonts_of(page)
        if font.looks != "right" and font.name not in page.unembedded_fonts and (font.guessed or _says_something(font))
    ]
    unsure.sort(key=lambda font: (not font.guessed, -sum(len(line.text) for line in font.lines), font.key))
    doubts = [Doubt(key=font.key, lines=_samples(font.lines, SAMPLES)) for font in unsure[:most]]
    layer = layer_of(page)
    if layer:
        doubts.append(Doubt(key=LAYER, lines=_samples(layer, LAYER_SAMPLES)))
    return [doubt for doubt in doubts if doubt.lines]


LAYER = "layer"
_LAYER_REASONS = ("render_mode", "transparent", "covered")


def layer_of(page: OpenedPage) -> list[NativeLine]:
    """The hidden text over the picture of a whole page that programs put there so that a scan can be searched."""
    if not page.full_page_image:
        return []
    return [line for line in page.lines if line.hidden in _LAYER_REASONS and line.text.strip()]


def is_believed(font: Font, verdicts: Verdicts) -> bool:
    """Whether a font's characters are used, by how it looks and what a comparison said."""
    compared = verdicts.get(font.key)
    if compared is None or compared.similarity is None or SETTLED_OTHER <= compared.similarity < SETTLED_SAME:
        return font.looks != "wrong" and not (font.guessed and font.looks == "unclear" and not _is_numbers(font))
    return compared.similarity >= SETTLED_SAME


def is_broken(line: NativeLine) -> bool:
    """Whether a line shows by itself that its characters are not known: no Unicode, private use, names or numbers of glyphs."""
    if line.bad_unicode:
        return True
    if "(cid:" not in line.text and "/" not in line.text:
        return False
    literal = sum(len(found) for found in _LITERAL.findall(line.text))
    return literal >= LITERAL_SHARE * len("".join(line.text.split()))


@lru_cache(256)
def looks(text: str) -> Looks:
    """Whether text looks like text of the script it is in; `unclear` where there is too little of it, or no script that is known."""
    east = ideographs.of(text)
    total, pairs = strangeness(text)
    if pairs == 0 and not east:
        return "unclear"
    if len(east) >= pairs:
        return _looks_east(east)
    mean = total / pairs
    if any(pairs >= least and mean <= most for least, most in WORDS):
        return "right"
    return "wrong" if pairs >= NO_WORDS_PAIRS and mean >= NO_WORDS else "unclear"


def _looks_east(chars: Sequence[str]) -> Looks:
    common = ideographs.common(chars) / len(chars)
    if common < RARE:
        return "wrong" if len(chars) >= RARE_COUNT else "unclear"
    pairs = ideographs.pairs(chars)
    return "right" if common >= COMMON and pairs >= max(PAIRS, PAIRS_SHARE * len(chars)) else "unclear"


@lru_cache(4096)
def _is_odd(text: str) -> bool:
    total, pairs = strangeness(text)
    return pairs >= ODD_LINE_PAIRS and total >= ODD_LINE * pairs


def _says_something(font: Font) -> bool:
    """Whether there are letters enough to be wrong: numbers, bullets and single signs are what they are."""
    text = "".join(line.text for line in font.lines)
    return sum(char.isalpha() for char in text) >= SAMPLE_LENGTH[0] and (
        strangeness(text)[1] > 0 or any("\u3400" <= char <= "\ud7a3" for char in text)
    )


def _is_numbers(font: Font) -> bool:
    text = "".join("".join(line.text for line in font.lines).split())
    return sum(char.isdigit() for char in text) >= 0.8 * len(text)


def _samples(lines: Sequence[NativeLine], most: int) -> list[NativeLine]:
    """Lines that say most about their font for the least work, from all over the page."""
    shortest, longest = SAMPLE_LENGTH
    upright = [
        line
        for line in lines
        if line.angle % 90 == 0 and not line.vertical and line.bbox[2] > line.bbox[0] and line.bbox[3] > line.bbox[1]
    ]
    ranked = sorted(
        upright, key=lambda line: (not shortest <= len(line.text) <= longest, -_weight(line.text), line.bbox)
    )
    chosen = ranked[: most * 4]
    chosen.sort(key=lambda line: (line.bbox[1], line.bbox[0]))
    step = max(1, len(chosen) // most)
    return chosen[::step][:most]


def _weight(text: str) -> int:
    return min(25, sum(char.isalpha() for char in text))
