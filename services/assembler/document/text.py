"""From lines to text: what belongs to one paragraph, and how lines are joined.

A line break inside a region is a paragraph's end when the next line's first word would have fitted into the rest of the
line (nobody breaks there without meaning it), when the next line is indented and the one after it is not, when the
distance grows, when a list item begins, or a field of a form after another. Geometry and characters decide, no language model and no dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec

from services.assembler.document.boxes import overlap, union

COLUMN_GAP = 3.0
"""White between two pieces of one row, in line heights, from which on they are two things."""
FITS_LATIN = 0.6
FITS_CJK = 1.0
"""Slack in line heights beyond the next word before a break counts as meant: ragged lines and stretched punctuation."""
LARGER = 1.12
LARGER_READ = 1.15
"""Times the size of the next line from which on a line is no part of its paragraph, native and read."""
HEADING = re.compile(
    r"\s*(?:\d{1,2}(?:[.．]\d{1,2})*[.．]?\s+\S|第[一二三四五六七八九十百0-9]+[章节条]|[一二三四五六七八九十]+、|[(（][一二三四五六七八九十]+[)）])"
)
"""How a numbered heading begins."""
INDENT = 1.2
"""Indentation of a first line, in line heights."""


PAIR = re.compile(r"\s*[^:：,，.。;；]{1,16}[:：](?!//)")
"""A line of a form: the name of a field and a colon."""


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A line of text on the page; `box` in page units, `confidence` 0..1 or none for native text."""

    box: list[float]
    text: str
    confidence: float | None = None
    font_size: float | None = None
    bold: bool = False
    monospace: bool = False
    vertical: bool = False

    @property
    def height(self) -> float:
        """Of the line, across the direction of reading."""
        return self.box[2] - self.box[0] if self.vertical else self.box[3] - self.box[1]


def is_cjk(character: str) -> bool:
    """Whether a character is written without blanks beside it: Han, kana, bopomofo and full-width forms; not Hangul."""
    point = ord(character)
    return (
        0x2E80 <= point <= 0x312F
        or 0x31A0 <= point <= 0x9FFF
        or 0xF900 <= point <= 0xFAFF
        or 0xFE30 <= point <= 0xFE4F
        or 0xFF00 <= point <= 0xFFEF
        or 0x20000 <= point <= 0x3FFFF
    )


def join(first: str, second: str) -> str:
    """Two lines as one text: hyphenated words healed, nothing between CJK, a blank elsewhere."""
    if not first or not second:
        return first + second
    if first.endswith("\u00ad"):
        return first[:-1] + second
    if is_cjk(first[-1]) or is_cjk(second[0]):
        return first + second
    if first[-1] in "-‐" and len(first) > 1:
        word = re.search(r"(\w+)[-‐]$", first)
        if word and word[1].isalpha() and second[0].islower():
            return first[:-1] + second
        if word:
            return first + second
    return f"{first} {second}"


def joined(lines: Sequence[str]) -> str:
    """All lines of a paragraph as one text."""
    text = ""
    for line in lines:
        text = join(text, line.strip())
    return text


_BULLETS = "•‣▪▫■□◆◇●○◦∙·–—*➢➤✓✔►▶-"
_BULLET = re.compile(rf"[{re.escape(_BULLETS)}](?=\s)|[•‣▪▫■□◆◇●○◦➢➤✓✔►▶](?=\S)")
_NUMBER = re.compile(
    r"(?P<open>[(（\[]?)(?P<number>\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})(?P<close>[)）\]]|[.．](?=\s)|、|[.．](?=[^\d\s]))"
)
_CIRCLED = re.compile(r"[\u2460-\u2473]")


class Marker(msgspec.Struct, frozen=True):
    """The mark of a list item. `style` is equal for items of one list; `number` is none for bullets."""

    text: str
    style: str
    number: int | None


def marker(text: str) -> Marker | None:
    """The list marker a text begins with, none where it begins with something else."""
    if found := _BULLET.match(text):
        return Marker(found[0], "bullet", None)
    if found := _CIRCLED.match(text):
        return Marker(found[0], "circled", ord(found[0]) - 0x245F)
    found = _NUMBER.match(text)
    if not found or (found["open"] and found["close"] not in ")）]"):
        return None
    number = found["number"]
    if number.isdigit():
        return Marker(found[0], f"{found['open']}1{found['close']}", int(number))
    if len(number) == 1:
        case = "a" if number.islower() else "A"
        return Marker(found[0], f"{found['open']}{case}{found['close']}", ord(number.lower()) - 96)
    return None


def rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces grouped into rows, top to bottom, each left to right; vertical ones into columns, right to left."""
    turned = bool(pieces) and 2 * sum(piece.vertical for piece in pieces) > len(pieces)

    def frame(piece: Piece) -> tuple[float, float, float, float]:
        x0, y0, x1, y1 = piece.box
        return (y0, -x1, y1, -x0) if turned else (x0, y0, x1, y1)

    out: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda p: ((frame(p)[1] + frame(p)[3]) / 2, frame(p)[0], p.text)):
        _, y0, _, y1 = frame(piece)
        if out:
            common = max(overlap(y0, y1, frame(other)[1], frame(other)[3]) for other in out[-1][-1:])
            if common > 0.55 * min(y1 - y0, frame(out[-1][-1])[3] - frame(out[-1][-1])[1]):
                out[-1].append(piece)
                continue
        out.append([piece])
    return [sorted(row, key=lambda p: (frame(p)[0], p.text)) for row in out]


def in_one(row: Sequence[Piece], nearer: float = COLUMN_GAP) -> list[Piece]:
    """Pieces of one row nearer than `nearer` line heights become one; those farther apart stay."""
    out: list[Piece] = []
    for piece in row:
        if out and not piece.vertical:
            last = out[-1]
            gap, height = piece.box[0] - last.box[2], max(last.height, piece.height)
            if gap < nearer * height:
                beside = gap < 0.2 * height or (
                    gap < 0.8 * height and is_cjk(last.text[-1:] or " ") and is_cjk(piece.text[:1] or " ")
                )
                known = [c for c in (last.confidence, piece.confidence) if c is not None]
                out[-1] = msgspec.structs.replace(
                    last,
                    box=union([last.box, piece.box]),
                    text=last.text.rstrip() + ("" if beside else " ") + piece.text.lstrip(),
                    confidence=sum(known) / len(known) if known else None,
                    bold=last.bold and piece.bold,
                )
                continue
        out.append(piece)
    return out


def paragraphs(pieces: Sequence[Piece], *, whole: bool = False) -> list[list[Piece]]:
    """The paragraphs of a region, each a list of its lines in order. `whole`: headings and captions are never cut."""
    grouped = [in_one(row) for row in rows([piece for piece in pieces if piece.text.strip()])]
    if whole:
        lines = [piece for row in grouped for piece in row]
        return [lines] if lines else []
    out: list[list[Piece]] = []
    block: list[Piece] = []
    for row in grouped:
        if len(row) == 1:
            block.append(row[0])
            continue
        out += _split(block)
        block = []
        out += [[piece] for piece in row]
    return out + _split(block)


def _split(lines: list[Piece]) -> list[list[Piece]]:
    if not lines or lines[0].vertical:
        return [lines] if lines else []
    left = min(line.box[0] for line in lines)
    right = max(line.box[2] for line in lines)
    gaps = [b.box[1] - a.box[3] for a, b in pairwise(lines)]
    usual = min(median(gaps), min(line.height for line in lines)) if gaps else 0.0
    out = [[lines[0]]]
    last_marker = marker(lines[0].text)
    for index, line in enumerate(lines[1:], 1):
        before = lines[index - 1]
        height = min(before.height, line.height)
        mark = marker(line.text)
        item = mark is not None and _begins_item(mark, last_marker)
        spaced = gaps[index - 1] > usual + 0.7 * height
        in_item = marker(out[-1][0].text) is not None
        after = lines[index + 1].box[0] - left if index + 1 < len(lines) else 0.0
        indented = (
            not in_item
            and line.box[0] - left >= INDENT * height
            and before.box[0] - left < 0.5 * INDENT * height
            and after < 0.5 * INDENT * height
        )
        fields = PAIR.match(line.text) is not None and PAIR.match(out[-1][0].text) is not None
        if item or spaced or indented or fields or _resized(before, line) or _meant(before, line, right):
            out.append([line])
        else:
            out[-1].append(line)
        last_marker = mark if item else last_marker
    return out


def _resized(line: Piece, following: Piece) -> bool:
    """Whether a heading stands above or below its neighbour: other type, or (measured sizes are rough) numbered and larger."""
    if not line.font_size or not following.font_size:
        return False
    larger, smaller = sorted((line, following), key=lambda piece: piece.font_size or 0.0, reverse=True)
    ratio = (larger.font_size or 0.0) / (smaller.font_size or 1.0)
    if line.confidence is not None:
        return ratio > LARGER_READ and HEADING.match(larger.text) is not None
    changed = line.bold != following.bold and HEADING.match((line if line.bold else following).text) is not None
    return ratio > LARGER or changed


def is_form(pieces: Sequence[Piece]) -> bool:
    """Whether lines are fields of a form, of which a layout model now and then makes one heading."""
    return sum(PAIR.match(piece.text) is not None for piece in pieces) >= 2


def _begins_item(mark: Marker, last: Marker | None) -> bool:
    if mark.number is None:
        return True
    if last is not None and last.style == mark.style and last.number is not None:
        return mark.number == last.number + 1
    return mark.number == 1


def _meant(line: Piece, following: Piece, right: float) -> bool:
    """Whether the break after `line` is no wrap: the next word would have fitted before `right`."""
    room = right - line.box[2]
    height = min(line.height, following.height)
    if room <= 0:
        return False
    text = following.text.strip()
    advance = (following.box[2] - following.box[0]) / max(1.0, _columns(text))
    if is_cjk(text[0]) or is_cjk(line.text.strip()[-1]):
        return room > 2 * 2 * advance + FITS_CJK * height
    word = text.split(maxsplit=1)[0]
    return room > (_columns(word) + 1) * advance + FITS_LATIN * height


def _columns(text: str) -> float:
    """Width of a text in half-width columns, as terminals count."""
    return sum(2.0 if unicodedata.east_asian_width(c) in "WF" else 1.0 for c in text)
