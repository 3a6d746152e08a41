"""Blocks of text that is turned on its page: composed upright, in the text's own frame, and turned back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from services.assembler.document import regions
from services.assembler.document.boxes import clipped, union
from shared.contracts.document import Block, Table
from shared.contracts.layout import ComposedPage, Grid, GridCell, PageLayout, Reading, Region, RegionReading, TextLine
from shared.contracts.turned import LINE_HEIGHT, Turned


def blocks_of(region: Region, reading: RegionReading | None, layout: PageLayout, slope: float = 0.0) -> list[Block]:
    """`regions.blocks_of`, for a region whose own text is turned in its frame; with boxes of the page as displayed, and the angle."""
    angle = 0.0 if reading is not None else _angle_of(region.lines)
    if not angle:
        return regions.blocks_of(region, reading, layout, slope)
    frame = Turned(angle, layout.width, layout.height)
    level = replace(layout, width=frame.width, height=frame.height, regions=[])
    known = {tuple(_line(line, frame).bbox): line.bbox for line in region.lines}
    blocks = regions.blocks_of(_region(region, frame), None, level)
    return [_block(block, frame, layout, known) for block in blocks]


def main_angle(layout: PageLayout, readings: Sequence[Reading]) -> float:
    """The angle at which most of a page is set, along its sides; 0 where any of it was read: of that nobody knows how it stands."""
    if any(region.lines for reading in readings for region in reading.regions):
        return 0.0
    angle = _angle_of([line for region in layout.regions for line in region.lines])
    return 0.0 if angle % 90 else angle


def straightened(layout: PageLayout, angle: float) -> PageLayout:
    """The layout of a page that is set at an angle as that of an upright one."""
    frame = Turned(angle, layout.width, layout.height)
    return replace(
        layout,
        width=frame.width,
        height=frame.height,
        regions=[_region(region, frame) for region in layout.regions],
        invisible=[_line(line, frame) for line in layout.invisible],
        notes=[_line(line, frame) for line in layout.notes],
    )


def restored(page: ComposedPage, layout: PageLayout, angle: float) -> ComposedPage:
    """The composed page with its boxes on the page as displayed, of which `layout` is; texts have their angles there."""
    frame = Turned(angle, layout.width, layout.height)
    return replace(
        page,
        page=replace(page.page, width=layout.width, height=layout.height),
        blocks=[_block(block, frame, layout, {}) for block in page.blocks],
    )


def _angle_of(lines: Sequence[TextLine]) -> float:
    """The angle of most lines: only tables have lines of several."""
    counts = Counter(line.angle for line in lines if line.text)
    return min(counts, key=lambda angle: (-counts[angle], angle), default=0.0)


def _region(region: Region, frame: Turned) -> Region:
    lines = [_line(line, frame) for line in region.lines]
    grid = None if region.grid is None or not frame.square else _grid(region.grid, frame)
    bbox = frame.into(region.bbox) if frame.square else union([line.bbox for line in lines])
    return replace(region, bbox=bbox, lines=lines, grid=grid)


def _line(line: TextLine, frame: Turned) -> TextLine:
    box = frame.into(line.bbox, LINE_HEIGHT * (line.font_size or 0.0))
    return replace(line, bbox=[round(value, 2) for value in box], angle=(line.angle - frame.angle) % 360)


def _grid(grid: Grid, frame: Turned) -> Grid:
    """The cells with their rows and columns counted in the text's frame; a grid with turned text is that of a page, never of a skewed scan."""
    rows = max((cell.row + cell.row_span for cell in grid.cells), default=0)
    columns = max((cell.col + cell.col_span for cell in grid.cells), default=0)

    def turned(cell: GridCell) -> GridCell:
        from_right, from_below = columns - cell.col - cell.col_span, rows - cell.row - cell.row_span
        row, column = {90: (from_right, cell.row), 180: (from_below, from_right), 270: (cell.col, from_below)}[
            int(frame.angle)
        ]
        spans = (cell.row_span, cell.col_span) if frame.angle == 180 else (cell.col_span, cell.row_span)
        return GridCell(row=row, col=column, row_span=spans[0], col_span=spans[1], bbox=frame.into(cell.bbox))

    return Grid(cells=sorted(map(turned, grid.cells), key=lambda cell: (cell.row, cell.col)))


def _block(block: Block, frame: Turned, layout: PageLayout, known: dict[tuple[float, ...], list[float]]) -> Block:
    def back(box: Sequence[float]) -> list[float]:
        return clipped(known.get(tuple(box)) or frame.back(box), layout.width, layout.height)

    return replace(
        block,
        angle=(block.angle + frame.angle) % 360 if block.lines else 0.0,
        prov=[place if place.bbox is None else replace(place, bbox=back(place.bbox)) for place in block.prov],
        lines=[replace(line, bbox=back(line.bbox)) for line in block.lines],
        table=None if block.table is None else _table(block.table, back),
    )


def _table(table: Table, back: Callable[[Sequence[float]], list[float]]) -> Table:
    return replace(table, cells=[c if c.bbox is None else replace(c, bbox=back(c.bbox)) for c in table.cells])
