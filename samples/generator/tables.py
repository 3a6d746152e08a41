"""Tables: what is in them (`Grid`), how high their rows come out, and their drawing, whole or row by row over several pages."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from samples.generator import breaking, fonts
from samples.generator.sheet import BLACK, Color, Sheet
from samples.generator.truth import Box, Cell, Element, Line, Ruling, Table, hull, rounded
from samples.generator.words import Words

LEADING = 1.25
"""Line height in a cell, ems."""


class GridCell(msgspec.Struct, kw_only=True):
    """A cell before it is drawn; cells that are covered by a span are not there."""

    row: int
    col: int
    text: str
    row_span: int = 1
    col_span: int = 1
    header: bool = False


class Grid(msgspec.Struct, kw_only=True):
    """A table before it is drawn."""

    cells: list[GridCell]
    num_rows: int
    shares: list[float]
    """Widths of the columns as shares of the table's."""
    right: list[bool]
    """Columns whose text is set flush right."""
    ruling: Ruling
    header_rows: int
    face: fonts.Face
    bold: fonts.Face
    size: float
    padding: tuple[float, float]
    """Points beside and above the text."""
    fill: Color | None = None
    """Behind the header."""
    header_color: Color = BLACK


def drawn_grid(
    rng: Random,
    words: Words,
    face: fonts.Face,
    bold: fonts.Face,
    size: float,
    rows: int,
    cols: int,
    *,
    ruling: Ruling,
    spans: bool = False,
    fill: Color | None = None,
) -> Grid:
    """A grid of random content: a first column of names, then words and numbers. With `spans`, the head has two rows, of which the
    upper holds groups, and some names stretch over two rows."""
    header_rows = 2 if spans and cols >= 4 else 1
    numeric = [col > 0 and rng.random() < 0.55 for col in range(cols)]
    cells: list[GridCell] = []
    if header_rows == 2:
        cells += _double_head(rng, words, cols)
    else:
        heads = rng.sample(words.columns, cols) if cols <= len(words.columns) else rng.choices(words.columns, k=cols)
        cells += [GridCell(row=0, col=col, text=text, header=True) for col, text in enumerate(heads)]
    covered: set[int] = set()
    for row in range(header_rows, rows):
        for col in range(cols):
            if col == 0 and row in covered:
                continue
            span = 2 if spans and col == 0 and row + 1 < rows and rng.random() < 0.3 else 1
            if span == 2:
                covered.add(row + 1)
            cells.append(GridCell(row=row, col=col, row_span=span, text=_content(rng, words, col, numeric[col])))
    weights = [rng.uniform(1.3, 2.0) if col == 0 else rng.uniform(0.8, 1.4) for col in range(cols)]
    return Grid(
        cells=cells,
        num_rows=rows,
        shares=[weight / sum(weights) for weight in weights],
        right=[flag and rng.random() < 0.8 for flag in numeric],
        ruling=ruling,
        header_rows=header_rows,
        face=face,
        bold=bold,
        size=size,
        padding=(rng.uniform(3, 6), rng.uniform(2, 5)),
        fill=fill,
    )


def _double_head(rng: Random, words: Words, cols: int) -> list[GridCell]:
    heads = rng.choices(words.columns, k=cols)
    cells = [GridCell(row=0, col=0, row_span=2, text=heads[0], header=True)]
    col = 1
    while col < cols:
        span = min(2, cols - col)
        group = rng.choice(words.columns)
        if span == 1:
            cells.append(GridCell(row=0, col=col, row_span=2, text=group, header=True))
        else:
            cells.append(GridCell(row=0, col=col, col_span=2, text=group, header=True))
            cells += [GridCell(row=1, col=col + k, text=heads[col + k], header=True) for k in range(2)]
        col += span
    return cells


def _content(rng: Random, words: Words, col: int, numeric: bool) -> str:
    if col == 0:
        return rng.choice(words.things)
    if numeric:
        return rng.choice(
            (f"{rng.randint(1, 999)}", f"{rng.uniform(0, 90):.1f}", f"{rng.randint(1, 9)},{rng.randint(100, 999)}")
        )
    return rng.choice(words.cells) if rng.random() > 0.07 else ""


def heights(grid: Grid, width: float) -> list[float]:
    """Height of each row, points."""
    found = [0.0] * grid.num_rows
    for cell in sorted(grid.cells, key=lambda c: c.row_span):
        lines = _broken(grid, cell, width)
        needed = max(1, len(lines)) * grid.size * LEADING + 2 * grid.padding[1]
        rows = range(cell.row, cell.row + cell.row_span)
        short = needed - sum(found[row] for row in rows)
        if short > 0:
            found[rows[-1]] += short
    return found


def may_break_before(grid: Grid, row: int) -> bool:
    """Whether no cell stretches over the upper border of a row."""
    return row > grid.header_rows and not any(c.row < row < c.row + c.row_span for c in grid.cells)


def draw(sheet: Sheet, grid: Grid, x: float, top: float, width: float, rows: list[int], **facts: Any) -> Element:
    """Draw these rows of the grid, one under the other, and put the table into the truth."""
    every = heights(grid, width)
    lefts = [x]
    for share in grid.shares:
        lefts.append(lefts[-1] + share * width)
    tops = [top]
    for row in rows:
        tops.append(tops[-1] + every[row])
    place = {row: index for index, row in enumerate(rows)}
    repeated = (
        bool(rows) and rows[0] == 0 and len(rows) > grid.header_rows and rows[grid.header_rows] != grid.header_rows
    )
    head = sum(row < grid.header_rows for row in rows)
    if grid.fill is not None and head:
        sheet.box([lefts[0], top, lefts[-1], tops[head]], fill=grid.fill, color=None)
    cells, boxes = [], []
    for cell in grid.cells:
        if cell.row in place:
            at = place[cell.row]
            box = [lefts[cell.col], tops[at], lefts[cell.col + cell.col_span], tops[at + cell.row_span]]
            cells.append(_draw_cell(sheet, grid, cell, at, box, width))
            boxes.append(box)
    lines = [line for cell in cells for line in cell.lines]
    outer = _draw_rules(sheet, grid, boxes, lefts, tops, head)
    if outer is None and grid.fill is not None and head:
        outer = [lefts[0], top, lefts[-1], tops[head]]
    bbox = outer if grid.ruling == "full" else hull([*([outer] if outer else []), *(line.bbox for line in lines)])
    return sheet.add(
        "table",
        lines,
        bbox,
        size=grid.size,
        table=Table(
            num_rows=len(rows),
            num_cols=len(grid.shares),
            ruling=grid.ruling,
            cells=cells,
            header_rows=head,
            repeated_header=repeated,
        ),
        **facts,
    )


def _broken(grid: Grid, cell: GridCell, width: float) -> list[str]:
    room = sum(grid.shares[cell.col : cell.col + cell.col_span]) * width - 2 * grid.padding[0]
    how = grid.bold if cell.header else grid.face
    return [line.text for line in breaking.lines(cell.text, how, grid.size, room)] if cell.text else []


def _draw_cell(sheet: Sheet, grid: Grid, cell: GridCell, at: int, box: Box, width: float) -> Cell:
    how = grid.bold if cell.header else grid.face
    texts = _broken(grid, cell, width)
    step = grid.size * LEADING
    baseline = (box[1] + box[3]) / 2 - len(texts) * step / 2 + grid.size * 0.98
    lines: list[Line] = []
    for text in texts:
        wide = fonts.width(text, how, grid.size)
        left = box[0] + grid.padding[0]
        if cell.header and cell.col_span > 1:
            left = (box[0] + box[2] - wide) / 2
        elif grid.right[cell.col] and not cell.header:
            left = box[2] - grid.padding[0] - wide
        color = grid.header_color if cell.header else BLACK
        lines.append(sheet.text(left, baseline, text, how, grid.size, color=color))
        baseline += step
    return Cell(
        row=at,
        col=cell.col,
        row_span=cell.row_span,
        col_span=cell.col_span,
        header=cell.header,
        text=cell.text,
        bbox=rounded(box),
        lines=lines,
    )


def _draw_rules(
    sheet: Sheet, grid: Grid, boxes: list[Box], lefts: list[float], tops: list[float], head: int
) -> Box | None:
    """The lines; the box around them, if there are any."""
    whole = [lefts[0], tops[0], lefts[-1], tops[-1]]
    if grid.ruling == "none":
        return None
    if grid.ruling == "full":
        for box in boxes:
            sheet.box(box, width=0.6)
        sheet.box(whole, width=0.9)
        return whole
    if grid.ruling == "rows":
        for box in boxes:  # cell by cell, so that no line runs through one that spans rows
            sheet.rule(box[0], box[3], box[2], box[3], width=0.5)
    for y in {"rows": [tops[0], tops[-1]], "three": [tops[0], tops[head], tops[-1]]}[grid.ruling]:
        sheet.rule(lefts[0], y, lefts[-1], y, width=0.5 if y == tops[head] != tops[0] else 1.0)
    return whole
