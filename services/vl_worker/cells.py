"""Where the cells of a model's table stand on the page.

A model says what is in a cell, never where. The layout knows where lines stand: native ones with their text, detected ones without, and for
ruled tables the drawn grid. So a cell gets the box of the drawn cell at its place, else of the lines that say the same, else of the
lines at the same place where rows and lines can be told to be the same. What cannot be told is left without a box.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import msgspec

from shared.contracts.document import Cell, Table, rounded
from shared.contracts.layout import Region, TextLine

Box = list[float]
WRAPPED = 8
"""Lines of one cell that are looked for."""
SHARED = 20
"""Cells of a row that one line may hold."""
MAX_TRIES = 200_000
"""Lines that are looked at for the wrapped cells of one table; beyond that cells have no box."""


def plain(text: str) -> str:
    """A text by which two readings of one thing are compared: compatible forms, no case, no blanks, no punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum() or character in "+%")


def with_boxes(table: Table, region: Region) -> Table:
    """The table with boxes of cells (page units), as far as the region's grid or lines tell them."""
    boxes = _by_grid(table, region)
    if not boxes:
        boxes = _by_text(table, [line for line in region.lines if line.text])
        boxes = {**_by_place(table, region.lines, boxes), **boxes}
    cells = [
        cell if (box := boxes.get((cell.row, cell.col))) is None else msgspec.structs.replace(cell, bbox=_inside(box))
        for cell in table.cells
    ]
    return msgspec.structs.replace(table, cells=cells)


def _inside(box: Box) -> Box:
    return [rounded(value) for value in box]


def _by_grid(table: Table, region: Region) -> dict[tuple[int, int], Box]:
    """Boxes of drawn cells, where the model saw as many rows and columns as are drawn."""
    grid = region.grid
    if grid is None or not grid.cells:
        return {}
    rows = max(cell.row + cell.row_span for cell in grid.cells)
    cols = max(cell.col + cell.col_span for cell in grid.cells)
    if (rows, cols) != (table.num_rows, table.num_cols):
        return {}
    return {(cell.row, cell.col): _turned(cell.bbox, region.bbox, grid.slope) for cell in grid.cells}


def _turned(box: Box, region: Box, slope: float) -> Box:
    """A cell of a table that was turned upright about the middle of its region, where it stands on the page: its middle, turned back."""
    right = ((box[0] + box[2]) - (region[0] + region[2])) / 2
    below = ((box[1] + box[3]) - (region[1] + region[3])) / 2
    dx, dy = -slope * below, slope * right
    return [box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy]


def _by_text(table: Table, lines: Sequence[TextLine]) -> dict[tuple[int, int], Box]:
    """Boxes of lines that say what a cell says. Where several say it, in the order of reading, and only if there are as many cells."""
    left = sorted(lines, key=lambda line: (line.bbox[1] + line.bbox[3], line.bbox[0]))
    lines_by_text: dict[str, list[TextLine]] = defaultdict(list)
    cells_by_text: dict[str, list[Cell]] = defaultdict(list)
    for line in _in_rows(left):
        lines_by_text[plain(line.text or "")].append(line)
    for cell in table.cells:
        if plain(cell.text):
            cells_by_text[plain(cell.text)].append(cell)
    boxes: dict[tuple[int, int], Box] = {}
    used: set[int] = set()
    for text, cells in cells_by_text.items():
        same = lines_by_text.get(text, [])
        if len(same) == len(cells):
            for cell, line in zip(cells, same, strict=True):
                boxes[cell.row, cell.col] = line.bbox
                used.add(id(line))
    rest = {id(line): plain(line.text or "") for line in left if id(line) not in used}
    spare = [line for line in left if rest.get(id(line))]
    tries = MAX_TRIES
    for cell in table.cells:
        text = plain(cell.text)
        if not text or (cell.row, cell.col) in boxes or tries <= 0:
            continue
        found, spent = _wrapped(text, spare, rest)
        tries -= spent
        if found:
            boxes[cell.row, cell.col] = _hull(line.bbox for line in found)
            spare = [line for line in spare if line not in found]
    boxes.update(_shared(table, boxes, {rest[id(line)]: line for line in spare}))
    return boxes


def _wrapped(text: str, lines: Sequence[TextLine], plains: Mapping[int, str]) -> tuple[list[TextLine], int]:
    """Lines below each other that together say a text, or nothing; and how many lines were looked at."""
    spent = len(lines)
    for first in lines:
        found, said = [first], plains[id(first)]
        while text.startswith(said) and said != text and len(found) < WRAPPED:
            x0, y0, x1, _ = found[-1].bbox
            spent += len(lines)
            below = [
                line
                for line in lines
                if text.startswith(said + plains[id(line)])
                and line not in found
                and line.bbox[1] >= y0
                and min(line.bbox[2], x1) > max(line.bbox[0], x0)
            ]
            if not below:
                break
            found.append(min(below, key=lambda line: line.bbox[1]))
            said += plains[id(found[-1])]
        if said == text and len(found) > 1:
            return found, spent
    return [], spent


def _shared(
    table: Table, known: Mapping[tuple[int, int], Box], by_text: Mapping[str, TextLine]
) -> dict[tuple[int, int], Box]:
    """Cells of a row that one line holds together: each gets its share of the line, by characters."""
    boxes: dict[tuple[int, int], Box] = {}
    rows: dict[int, list[Cell]] = defaultdict(list)
    for cell in table.cells:
        if plain(cell.text) and (cell.row, cell.col) not in known:
            rows[cell.row].append(cell)
    for cells in rows.values():
        for start in range(len(cells)):
            said = ""
            for end in range(start, min(len(cells), start + SHARED)):
                said += plain(cells[end].text)
                if end > start and (line := by_text.get(said)) is not None:
                    done = 0
                    for cell in cells[start : end + 1]:
                        share = len(plain(cell.text))
                        x0, y0, x1, y1 = line.bbox
                        step = (x1 - x0) / len(said)
                        boxes[cell.row, cell.col] = [x0 + done * step, y0, x0 + (done + share) * step, y1]
                        done += share
    return boxes


def _by_place(table: Table, lines: Sequence[TextLine], known: dict[tuple[int, int], Box]) -> dict[tuple[int, int], Box]:
    """Boxes by position alone, for detected lines: where the table's rows with text are as many as rows of lines, and in a row the cells
    as many as the lines. A row in which boxes are known already is left as it is."""
    rows: dict[int, list[Cell]] = defaultdict(list)
    for cell in table.cells:
        if plain(cell.text):
            if cell.row_span > 1:
                return {}  # its line may stand in any of its rows
            rows[cell.row].append(cell)
    found = _rows(lines)
    if len(found) != len(rows):
        return {}
    boxes: dict[tuple[int, int], Box] = {}
    for (_, cells), row in zip(sorted(rows.items()), found, strict=True):
        if len(cells) == len(row) and not any((cell.row, cell.col) in known for cell in cells):
            boxes |= {(cell.row, cell.col): line.bbox for cell, line in zip(cells, row, strict=True)}
    return boxes


def _rows(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines in rows from top to bottom, each from left to right: one that is more than half a line below the row's first begins a new row."""
    if not lines:
        return []
    half = median(line.bbox[3] - line.bbox[1] for line in lines) / 2
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda each: each.bbox[1] + each.bbox[3]):
        middle = (line.bbox[1] + line.bbox[3]) / 2
        if rows and middle - (rows[-1][0].bbox[1] + rows[-1][0].bbox[3]) / 2 <= half:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.bbox[0]) for row in rows]


def _in_rows(lines: Sequence[TextLine]) -> Iterable[TextLine]:
    return (line for row in _rows(lines) for line in row)


def _hull(boxes: Iterable[Box]) -> Box:
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return [min(x0), min(y0), max(x1), max(y1)]
