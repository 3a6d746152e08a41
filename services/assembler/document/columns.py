"""Columns of running text that a layout model took for a table: three columns without rules look like one from far away.

They are told by their rows. In a table white runs across between its rows, every line or few; columns of text have long runs of lines
without it, at the pitch of text, and most lines are as wide as their column.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from services.assembler.document.boxes import merged
from services.assembler.document.text import Piece, in_one, rows

RUN = 4
"""Lines of a column between two white strips across, at least."""
MOST = 0.75
"""Share of all lines that stand in such runs, at least."""
WIDE, MOST_WIDE = 0.7, 0.65
"""Width of a line by its column's from which on it is wide, and share of all lines that are, at least: of long words in narrow columns set
ragged, three quarters, a line more or less."""
LETTERS = 5.0
"""Mean length of lines in line heights, about twice as many letters, below which columns are those of a table."""
NUMBERS = 0.1
"""Share of lines that are numbers from which on columns are those of a table."""
STRIP = 0.25
"""White across, in line heights, that parts rows."""
PITCH = 1.9


def of_text(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The lines of each column, from left to right, those over several columns alone; none where it is no running text in columns."""
    lines = [piece for piece in pieces if piece.text.strip() and not piece.vertical]
    if len(lines) < 2 * RUN or len(lines) < len(pieces):
        return []
    height = median(line.height for line in lines)
    strips = _strips(lines, height)
    if len(strips) < 2:
        return []
    columns: list[list[Piece]] = [[] for _ in strips]
    across: list[list[Piece]] = []
    for line in lines:
        at = [i for i, (x0, x1) in enumerate(strips) if line.box[0] < x1 and line.box[2] > x0]
        if len(at) == 1:
            columns[at[0]].append(line)
        else:
            across.append([line])
    # Words of a stretched line may have come one by one.
    columns = [[piece for row in rows(column) for piece in in_one(row)] for column in columns]
    lines = [line for part in (*columns, *across) for line in part]
    in_runs = _in_runs(columns, lines, height)
    wide = sum(
        line.box[2] - line.box[0] >= WIDE * (x1 - x0)
        for (x0, x1), column in zip(strips, columns, strict=True)
        for line in column
    )
    long = sum(line.box[2] - line.box[0] for line in lines) >= LETTERS * height * len(lines)
    numbers = sum(not any(c.isalpha() for c in line.text) for line in lines)
    if not long or numbers > NUMBERS * len(lines) or in_runs < MOST * len(lines) or wide < MOST_WIDE * len(lines):
        return []
    return [*columns, *across]


def _strips(lines: Sequence[Piece], height: float) -> list[tuple[float, float]]:
    """Extents of the columns: what lines cover, the widest tenth, which may go across, left out."""
    usual = sorted(lines, key=lambda line: line.box[2] - line.box[0])[: max(1, round(0.9 * len(lines)))]
    return [strip for strip in merged((line.box[0], line.box[2]) for line in usual) if strip[1] - strip[0] > height]


def _in_runs(columns: Sequence[Sequence[Piece]], lines: Sequence[Piece], height: float) -> int:
    """Lines that stand in runs of text beside other text, with no white across."""
    bands = merged((line.box[1] - STRIP * height / 2, line.box[3] + STRIP * height / 2) for line in lines)
    total = 0
    for top, bottom in bands:
        beside = [[line for line in column if top <= (line.box[1] + line.box[3]) / 2 <= bottom] for column in columns]
        runs = [column for column in beside if len(column) >= RUN and _pitch(column) <= PITCH * height]
        if len(runs) > 1:
            total += sum(len(column) for column in beside)
    return total


def _pitch(column: Sequence[Piece]) -> float:
    tops = sorted(line.box[1] for line in column)
    return median(b - a for a, b in pairwise(tops))
