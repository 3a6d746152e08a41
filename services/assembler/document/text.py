"""Lines and what they are made of: joining, rows, list markers. Where paragraphs begin is said in `paragraphs`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from services.assembler.document.boxes import overlap, union

COLUMN_GAP = 3.0
"""White between two pieces of one row, in line heights, from which on they are two things."""
HEADING = re.compile(
    r"""\s*(?:
    \d{1,2}(?:[.．]\d{1,2})*[.．]?\s+\S
    |\d{1,2}(?:(?:[.．]\d{1,2})*[.．]|(?:[.．]\d{1,2}){2,})(?=[\u3040-\u30ff\u4e00-\u9fff])
    |第[一二三四五六七八九十百0-9]+[章节条]
    |[一二三四五六七八九十]+、
    |[(（][一二三四五六七八九十]+[)）])""",
    re.X,
)
"""How a numbered heading begins. Before Han and kana the blank may be missing, on scans it often is; `3.5` of `3.5米` is a number."""


_LEFTWARD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""Letters of Hebrew, Arabic, Syriac, Thaana, N'Ko, and their presentation forms."""
_OWN_NUMBER = re.compile(r"\s*(?:\d{1,3}(?:[.．]\d{1,3})*[.．]?\s+|[A-Z](?:[.．]\d{1,3})+[.．]?\s+)")


def without_number(text: str) -> str:
    """A heading without the decimal number that it is printed with."""
    return _OWN_NUMBER.sub("", text, count=1)


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
    angle: float = 0.0
    """Degrees by which it is turned clockwise against the text around: heads of narrow columns in a table."""

    @property
    def height(self) -> float:
        """Of the line, across the direction of reading."""
        _, y0, _, y1 = self.frame(90.0 if self.vertical else self.angle)
        return y1 - y0

    def frame(self, angle: float) -> tuple[float, float, float, float]:
        """The box where text that is turned by `angle` is upright (by a quarter, columns of vertical text are): the next row is below."""
        x0, y0, x1, y1 = self.box
        turned = {90.0: (y0, -x1, y1, -x0), 180.0: (-x1, -y1, -x0, -y0), 270.0: (-y1, x0, -y0, x1)}
        return turned.get(angle, (x0, y0, x1, y1))


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
_HAN_DIGITS = "一二三四五六七八九十"
_HAN_NUMBER = re.compile(rf"(?P<open>[(（]?)(?P<number>[{_HAN_DIGITS}]{{1,3}})(?P<close>[)）、])")
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
    if (found := _HAN_NUMBER.match(text)) and bool(found["open"]) == (found["close"] in ")）"):
        return Marker(found[0], f"{found['open']}一{found['close']}", _han_value(found["number"]))
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


def _han_value(number: str) -> int:
    """1..99 of a Chinese number."""
    tens, mark, ones = number.rpartition("十")
    units = _HAN_DIGITS.index(ones) + 1 if ones else 0
    if not mark:
        return units
    return 10 * (_HAN_DIGITS.index(tens[-1]) + 1 if tens else 1) + units


def rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces grouped into rows, top to bottom, each in the direction of its script; vertical ones into columns, right to left."""
    turned = bool(pieces) and 2 * sum(piece.vertical for piece in pieces) > len(pieces)
    angles = {piece.angle for piece in pieces}
    angle = 90.0 if turned else angles.pop() if len(angles) == 1 else 0.0

    def frame(piece: Piece) -> tuple[float, float, float, float]:
        return piece.frame(angle)

    out: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda p: ((frame(p)[1] + frame(p)[3]) / 2, frame(p)[0], p.text)):
        _, y0, _, y1 = frame(piece)
        if out:
            common = max(overlap(y0, y1, frame(other)[1], frame(other)[3]) for other in out[-1][-1:])
            if common > 0.55 * min(y1 - y0, frame(out[-1][-1])[3] - frame(out[-1][-1])[1]):
                out[-1].append(piece)
                continue
        out.append([piece])
    return [sorted(row, key=lambda p: (-frame(p)[2] if from_right(row) else frame(p)[0], p.text)) for row in out]


def from_right(row: Sequence[Piece]) -> bool:
    """Whether a row is Arabic, Hebrew or the like: most of its letters say so. Its pieces follow each other to the left."""
    letters = "".join(piece.text for piece in row)
    leftward = len(_LEFTWARD.findall(letters))
    return leftward > 0 and 2 * leftward > sum(one.isalpha() for one in letters)


def in_one(row: Sequence[Piece], nearer: float = COLUMN_GAP) -> list[Piece]:
    """Pieces of one row (of one column, in vertical text) nearer than `nearer` line heights become one; those farther apart stay."""
    out: list[Piece] = []
    leftward = from_right(row)
    for piece in row:
        if out and (out[-1].vertical, out[-1].angle) == (piece.vertical, piece.angle):
            last = out[-1]
            before, after = (one.frame(90.0 if one.vertical else one.angle) for one in (last, piece))
            gap = before[0] - after[2] if leftward and not piece.vertical else after[0] - before[2]
            height = max(last.height, piece.height)
            if gap < nearer * height:
                # Pieces of one word touch: scripts that join their letters leave nothing between.
                near = gap < 0.2 * height
                if leftward:
                    near = gap < 0.05 * height and _LEFTWARD.match(last.text[-1:]) is not None
                beside = near or (
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
