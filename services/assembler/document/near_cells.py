"""Near cells of a table that came as one line: a number at the right edge of its column and what the next begins with.

No line knows how wide its blanks are; but where the fullest row has a column begin, and a line of another row runs over that place with a blank
there, its words are two cells. Only where two lines do: one may be a long name beside an empty cell.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.text import Piece

LEAST = 0.8
"""Line heights of a line before the column into which it runs, at least."""
NEAR = 0.35
"""Distance of a blank's end, by the widths of characters, from where a column begins, in line heights, at most."""
LEAST_COLUMNS, LEAST_LINES = 3, 2


def parted(found: Sequence[Sequence[Piece]]) -> list[Piece]:
    """The pieces of all rows, lines over two cells in parts."""
    most = max((len(row) for row in found), default=0)
    fullest = next((row for row in found if len(row) == most), [])
    whole = [piece for row in found for piece in row]
    if most < LEAST_COLUMNS or any(piece.vertical for piece in whole):
        return whole
    out: list[Piece] = []
    cut = 0
    for row in found:
        for piece in row:
            parts = [piece] if len(row) == most else _parts(piece, row, fullest)
            cut += len(parts) > 1
            out += parts
    return out if cut >= LEAST_LINES else whole


def _parts(piece: Piece, row: Sequence[Piece], fullest: Sequence[Piece]) -> list[Piece]:
    """The piece, in two where a column begins at one of its blanks and no other piece of its row stands there."""
    x0, y0, x1, y1 = piece.box
    text = piece.text
    for column in fullest:
        begin = column.box[0]
        inside = x0 + LEAST * piece.height < begin < x1 - 0.5 * piece.height
        if not inside or any(other is not piece and other.box[0] < column.box[2] < other.box[2] for other in row):
            continue
        ends = [i + 1 for i, character in enumerate(text) if character.isspace() and text[:i].strip()]
        places = [(abs(x0 + (x1 - x0) * _width(text[:i]) / _width(text) - begin), i) for i in ends]
        if places and min(places)[0] <= NEAR * piece.height:
            end = min(places)[1]
            before = x0 + (x1 - x0) * _width(text[:end].rstrip()) / _width(text)
            first = replace(piece, box=[x0, y0, min(before, begin), y1], text=text[:end].strip())
            return [first, replace(piece, box=[begin, y0, x1, y1], text=text[end:].strip())]
    return [piece]


def _width(text: str) -> int:
    """Width in half-width characters."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
