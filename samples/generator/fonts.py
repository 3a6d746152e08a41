"""Typefaces: a Latin one with its bold and italic, and one for Han characters, used together as a `Face`.

All come with PyMuPDF (base 14 look-alikes, Droid Sans Fallback) or with `pymupdf-fonts` (OFL). There is no bold of the Han font: bold
Chinese is stroked, as word processors do.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import pymupdf

LATIN_INK = (0.74, 0.22)
"""Ink above and below the baseline of Latin text with ascenders and descenders, in ems (Times and Helvetica: 0.68..0.74, 0.21..0.22)."""
HAN_INK = (0.86, 0.12)
"""The same for Droid Sans Fallback's Han characters."""
FAMILIES = {
    "helvetica": ("helv", "hebo", "heit"),
    "times": ("tiro", "tibo", "tiit"),
    "noto": ("notos", "notosbo", "notosit"),
    "fira": ("figo", "figbo", "figit"),
    "ubuntu": ("ubuntu", "ubuntubo", "ubuntuit"),
    "courier": ("cour", "cobo", "coit"),
    "space": ("spacemo", "spacembo", "spacemit"),
}
"""Regular, bold, italic."""
BODY_FAMILIES = ("helvetica", "times", "noto", "fira", "ubuntu")
MONOSPACE = ("courier", "space")


class Face(NamedTuple):
    """How text is set: `latin` names a PyMuPDF font; `bold` matters for Han characters only, Latin has its own bold font."""

    latin: str
    bold: bool = False


class Run(NamedTuple):
    """Characters of one font."""

    text: str
    font: pymupdf.Font
    han: bool


@cache
def font(name: str) -> pymupdf.Font:
    """A PyMuPDF font by its short name."""
    return pymupdf.Font(name)


def face(family: str, style: str = "regular") -> Face:
    """`style`: regular, bold, italic."""
    return Face(FAMILIES[family][("regular", "bold", "italic").index(style)], style == "bold")


@cache
def is_han(character: str) -> bool:
    """Whether a character is set in the Han font: ideographs, kana, full-width forms and CJK punctuation."""
    code = ord(character)
    return code >= 0x2E80 or code in (0x2605, 0x25A1, 0x2610, 0x2611)


def runs(text: str, how: Face) -> list[Run]:
    """Text cut where the font changes."""
    found: list[Run] = []
    for character in text:
        han = is_han(character)
        if found and found[-1].han == han:
            found[-1] = Run(found[-1].text + character, found[-1].font, han)
        else:
            found.append(Run(character, font("cjk") if han else font(how.latin), han))
    return found


def advances(text: str, how: Face, size: float) -> list[float]:
    """Width of each character, points."""
    return [width for run in runs(text, how) for width in run.font.char_lengths(run.text, size)]


def width(text: str, how: Face, size: float) -> float:
    """Width of a text in one line, points."""
    return sum(advances(text, how, size))


def ink(text: str, size: float) -> tuple[float, float]:
    """Points above and below the baseline."""
    marks = [HAN_INK if is_han(c) else LATIN_INK for c in text if not c.isspace()] or [LATIN_INK]
    return max(above for above, _ in marks) * size, max(below for _, below in marks) * size
