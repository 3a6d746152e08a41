"""Rows of text: lines that stand side by side, as the cells of a table do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from services.layout_worker.boxes import overlap
from shared.contracts.layout import TextLine


def is_wide(lines: Sequence[TextLine], heights: float) -> bool:
    """Whether half of the text, by length, stands in lines wider than so many line heights."""
    widths = [(x1 - x0, (x1 - x0) / max(1.0, y1 - y0)) for x0, y0, x1, y1 in (line.bbox for line in lines)]
    return sum(w for w, ratio in widths if ratio > heights) > 0.5 * sum(w for w, _ in widths)


def rows_of(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines that stand side by side, from top to bottom."""
    found: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda item: (item.bbox[1] + item.bbox[3], item.bbox[0])):
        middle = (line.bbox[1] + line.bbox[3]) / 2
        if found and found[-1][0].bbox[1] < middle < found[-1][0].bbox[3]:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def without_spanning(rows: Sequence[Sequence[TextLine]]) -> list[Sequence[TextLine]]:
    """The rows but those of one line that stands beside a neighbouring row: a cell that spans rows is a row of its own in `rows_of`."""
    return [
        row
        for index, row in enumerate(rows)
        if len(row) > 1
        or not any(
            overlap(row[0].bbox[1], row[0].bbox[3], line.bbox[1], line.bbox[3]) > 0
            for near in (*rows[max(0, index - 1) : index], *rows[index + 1 : index + 2])
            for line in near
        )
    ]


def pieces(row: Sequence[TextLine]) -> int:
    """How many lines of a row stand side by side."""
    count, reached = 0, float("-inf")
    for x0, x1 in sorted((line.bbox[0], line.bbox[2]) for line in row):
        count += x0 > reached
        reached = max(reached, x1)
    return count


def is_complete_grid(lines: Sequence[TextLine]) -> bool:
    """Whether lines alone say what a table is: every row has the same number of pieces, two or more, and they stand in clear columns."""
    spans = [sorted((line.bbox[0], line.bbox[2]) for line in row) for row in rows_of(lines)]
    if len(spans) < 2 or len(spans[0]) < 2 or any(len(row) != len(spans[0]) for row in spans):
        return False
    columns = [(min(x0 for x0, _ in column), max(x1 for _, x1 in column)) for column in zip(*spans, strict=True)]
    return all(left[1] < right[0] for left, right in pairwise(columns))
