"""Where paragraphs begin: which lines of a region belong together.

A line break inside a region is a paragraph's end when the next line's first word would have fitted into the rest of the
line (nobody breaks there without meaning it), when a line of justified text is short, when the next line is indented and its neighbours are not,
when the distance grows, when a list item begins, a field of a form after another, or an entry of a table of contents ends. Geometry and
characters decide, no language model and no dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from statistics import median_low

import msgspec

from services.assembler.document.text import HEADING, PAIR, Marker, Piece, in_one, is_cjk, marker, rows

STOREY = 0.7
"""White across all columns of vertical text, in their widths, from which on it stands in storeys."""
FITS_LATIN = 0.6
FITS_CJK = 1.0
"""Slack in line heights beyond the next word before a break counts as meant: ragged lines and stretched punctuation."""
LARGER = 1.12
LARGER_READ = 1.15
"""Times the size of the next line from which on a line is no part of its paragraph, native and read."""
INDENT = 0.55
"""Least indentation of a first line, in line heights: an em of many fonts is 0.75 of their line boxes."""
FIRST = 0.5
"""Largest share of indented lines in a block whose first lines are indented; more is hanging indentation."""
SPACED, SPACED_READ = 0.28, 0.6
"""White above a paragraph beyond that between lines, in line heights; boxes of read lines differ from each other."""
FLUSH = 0.25
"""White at the end of a line, in line heights, up to which it reaches the margin."""
JUSTIFIED = 0.6
"""Share of lines that reach the margin from which on text is justified: ragged text has one or two that do."""
MANY_LINES = 3
ROOM, ROOM_READ = 0.8, 1.2
"""White at the end of a line of justified text, in line heights, that ends its paragraph."""
_NOTE = re.compile(r"\s*(\d{1,3})\s+[^\W\d_]")
_LEADER = re.compile(r"(?:[.…·．]\s?){3,}\s*\w{1,6}$")
"""The end of an entry of a table of contents."""


def paragraphs(pieces: Sequence[Piece], *, whole: bool = False) -> list[list[Piece]]:
    """The paragraphs of a region, each a list of its lines in order. `whole`: headings and captions are never cut."""
    storeys = [[in_one(row) for row in rows(storey)] for storey in _storeys([p for p in pieces if p.text.strip()])]
    if whole:
        lines = [piece for grouped in storeys for row in grouped for piece in row]
        return [lines] if lines else []
    return [paragraph for grouped in storeys for paragraph in _of_rows(grouped)]


def _of_rows(grouped: Sequence[list[Piece]]) -> list[list[Piece]]:
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


def _storeys(pieces: list[Piece]) -> list[list[Piece]]:
    """Vertical text may stand in several storeys with white between, read from the top; all else is one."""
    if 2 * sum(piece.vertical for piece in pieces) <= len(pieces):
        return [pieces]
    white = STOREY * median_low(piece.height for piece in pieces)
    out: list[list[Piece]] = []
    bottom = 0.0
    for piece in sorted(pieces, key=lambda p: (p.box[1], p.box[0], p.text)):
        if not out or piece.box[1] - bottom > white:
            out.append([])
        out[-1].append(piece)
        bottom = max(bottom, piece.box[3])
    return out


def _split(lines: list[Piece]) -> list[list[Piece]]:
    """A run of single lines into paragraphs; columns of vertical text are lines after a turn."""
    if len(lines) < 2:
        return [lines] if lines else []
    if lines[0].vertical:
        turned = [
            msgspec.structs.replace(line, box=[line.box[1], -line.box[2], line.box[3], -line.box[0]], vertical=False)
            for line in lines
        ]
        starts = _starts(turned, wraps=False)
    else:
        starts = _starts(lines)
    return [lines[a:b] for a, b in pairwise([*starts, len(lines)])]


def _starts(lines: Sequence[Piece], *, wraps: bool = True) -> list[int]:
    """Indices of the lines that begin a paragraph. `wraps`: a line that is too short for what follows was broken on purpose."""
    shape = _shape(lines)
    starts = [0]
    last_marker = marker(lines[0].text)
    last_note = _note(lines[0].text)
    for index, line in enumerate(lines[1:], 1):
        before = lines[index - 1]
        mark = marker(line.text)
        item = mark is not None and _begins_item(mark, last_marker)
        in_item = marker(lines[starts[-1]].text) is not None
        note = _note(line.text)
        noted = note is not None and last_note is not None and note == last_note + 1
        fields = PAIR.match(line.text) is not None and PAIR.match(lines[starts[-1]].text) is not None
        if (
            item
            or noted
            or fields
            or shape.spaced(index)
            or (not in_item and shape.indented(index))
            or shape.short(index - 1)
            or _resized(before, line)
            or _LEADER.search(before.text)
            or (wraps and _meant(before, line, shape.right))
        ):
            starts.append(index)
        last_marker = mark if item else last_marker
        last_note = note if noted else last_note
    return starts


def _note(text: str) -> int | None:
    """The number that a footnote begins with: bare, before a blank."""
    found = _NOTE.match(text)
    return int(found[1]) if found else None


class _Shape(msgspec.Struct, frozen=True):
    """How the lines of a block stand: what indentation, spacing and short lines mean in it."""

    lines: Sequence[Piece]
    left: float
    right: float
    gap: float
    """Usual white between two lines; negative where boxes overlap."""
    justified: bool
    first_indented: bool
    """Few lines are indented: those that begin a paragraph, not those that go on with one."""

    def spaced(self, index: int) -> bool:
        """Whether there is more white above a line than between others."""
        before, line = self.lines[index - 1], self.lines[index]
        least = SPACED if line.confidence is None else SPACED_READ
        return line.box[1] - before.box[3] > self.gap + least * min(before.height, line.height)

    def indented(self, index: int) -> bool:
        """Whether a line is a paragraph's first, set in from those that follow and those before."""
        before, line = self.lines[index - 1], self.lines[index]
        inset = line.box[0] - self.left
        if inset < INDENT * min(before.height, line.height):
            return False
        after = self.lines[index + 1].box[0] - self.left if index + 1 < len(self.lines) else 0.0
        ended = self.right - before.box[2] > ROOM * before.height
        flush = before.box[0] - self.left < 0.5 * inset and after < 0.5 * inset
        return self.first_indented and (flush or ended)

    def short(self, index: int) -> bool:
        """Whether a line of justified text ends before the others do, with room for the next word: a paragraph's last."""
        line, following = self.lines[index], self.lines[index + 1]
        least = ROOM if line.confidence is None else ROOM_READ
        room = self.right - line.box[2]
        return self.justified and room > max(least * line.height, _needed(line, following))


def _shape(lines: Sequence[Piece]) -> _Shape:
    left, right = min(line.box[0] for line in lines), max(line.box[2] for line in lines)
    gaps = [b.box[1] - a.box[3] for a, b in pairwise(lines)]
    heights = [line.height for line in lines]
    flush = sum(right - line.box[2] < FLUSH * line.height for line in lines[:-1])
    inset = sum(line.box[0] - left >= INDENT * line.height for line in lines)
    return _Shape(
        lines=lines,
        left=left,
        right=right,
        gap=min(median_low(gaps), min(heights)),
        justified=len(lines) > MANY_LINES and flush >= JUSTIFIED * (len(lines) - 1),
        first_indented=inset <= FIRST * len(lines),
    )


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
    slack = FITS_CJK if _is_cjk_break(line, following) else FITS_LATIN
    return room > _needed(line, following) + slack * height


def _needed(line: Piece, following: Piece) -> float:
    """Room that the beginning of the next line would have taken: a word with its blank, or two characters of CJK."""
    text = following.text.strip()
    advance = (following.box[2] - following.box[0]) / max(1.0, _columns(text))
    if _is_cjk_break(line, following):
        return 2 * 2 * advance
    return (_columns(text.split(maxsplit=1)[0]) + 1) * advance


def _is_cjk_break(line: Piece, following: Piece) -> bool:
    return is_cjk(following.text.strip()[0]) or is_cjk(line.text.strip()[-1])


def _columns(text: str) -> float:
    """Width of a text in half-width columns, as terminals count."""
    return sum(2.0 if unicodedata.east_asian_width(c) in "WF" else 1.0 for c in text)
