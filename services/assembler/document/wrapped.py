"""Lines of a cell that stand above and below the other cells of their row: a cell of two lines is set in the middle of its row as the rest is."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from services.assembler.document.strips import Span
from services.assembler.document.text import Piece

EVEN = 0.35
"""Line heights by which the upper and the lower line may stand unevenly about the row between them."""

Row = dict[Span, list[Piece]]
"""The pieces of each cell, by its first and last column."""


def joined(placed: Sequence[Row], near: float) -> list[Row]:
    """The rows from the top, with rows that are only the first and the last lines of another's cells put into these.

    `near` is the distance of two rows' middles, in page units, below which they are none of their own.
    """
    out: list[Row] = []
    index = 0
    while index < len(placed):
        if index + 2 < len(placed) and _are_lines(placed[index], placed[index + 1], placed[index + 2], near):
            above, here, below = placed[index : index + 3]
            out.append({**here, **{span: above[span] + here.get(span, []) + below[span] for span in above}})
            index += 3
        else:
            out.append(placed[index])
            index += 1
    return out


def _are_lines(above: Row, here: Row, below: Row, near: float) -> bool:
    """Whether the rows around `here` have the lines above and below the middle of some of its cells: of two, or of three with one in it."""
    if not above or above.keys() != below.keys() or len(here) < len(above):
        return False
    upper, middle, lower = (_middle(row) for row in (above, here, below))
    height = median(piece.height for found in above.values() for piece in found)
    if abs(middle - (upper + lower) / 2) > EVEN * height:
        return False
    if above.keys() <= here.keys():
        return len(here) > len(above) and lower - upper < 2 * near
    apart = all(a[1] < b[0] or b[1] < a[0] for a in above for b in here)
    return apart and lower - upper < near


def _middle(row: Row) -> float:
    return median((piece.box[1] + piece.box[3]) / 2 for found in row.values() for piece in found)
