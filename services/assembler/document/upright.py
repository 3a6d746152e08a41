"""A skewed page is composed upright: its layout and readings turned level, and what was made of them turned back.

Rows, columns, indentation and the white between lines mean something only where lines are level. What comes out has boxes of the page as
displayed again, each place with its turned corners as `polygon`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from shared.contracts.document import Block, Cell, Table, rounded
from shared.contracts.layout import ComposedPage, Grid, PageLayout, Reading, Region, RegionReading, TextLine
from shared.contracts.upright import Upright

Boxed = Callable[[Sequence[float]], list[float]]


def frame_of(layout: PageLayout) -> Upright:
    """The upright frame of a skewed page, large enough for all of it."""
    return Upright(layout.slope, layout.width, layout.height, room=True)


def straightened(layout: PageLayout, readings: Sequence[Reading]) -> tuple[PageLayout, list[Reading]]:
    """Layout and readings of a skewed page in its upright frame, as those of a level page of that frame's size."""
    frame = frame_of(layout)
    level = replace(
        layout,
        width=frame.width,
        height=frame.height,
        slope=0.0,
        regions=[_region(region, frame) for region in layout.regions],
        invisible=[_line(line, frame) for line in layout.invisible],
        notes=[_line(line, frame) for line in layout.notes],
    )
    return level, [
        replace(reading, regions=[_reading(region, frame) for region in reading.regions]) for reading in readings
    ]


def restored(page: ComposedPage, layout: PageLayout) -> ComposedPage:
    """The composed upright page with its boxes on the page as displayed; `layout` is the skewed one."""
    frame = frame_of(layout)

    return replace(
        page,
        page=replace(page.page, width=layout.width, height=layout.height),
        blocks=[_block(block, frame, layout) for block in page.blocks],
    )


def _region(region: Region, frame: Upright) -> Region:
    bbox = _two(frame.into(region.bbox))
    dx, dy = ((bbox[i] + bbox[i + 2] - region.bbox[i] - region.bbox[i + 2]) / 2 for i in (0, 1))
    grid = None
    if region.grid is not None:  # its cells are upright already, about the middle of the region
        cells = [
            replace(cell, bbox=_two([cell.bbox[0] + dx, cell.bbox[1] + dy, cell.bbox[2] + dx, cell.bbox[3] + dy]))
            for cell in region.grid.cells
        ]
        grid = Grid(cells=cells)
    return replace(region, bbox=bbox, grid=grid, lines=[_line(line, frame) for line in region.lines])


def _line(line: TextLine, frame: Upright) -> TextLine:
    """A line in its upright box; without its corners, which are those of the skewed picture."""
    return replace(line, bbox=_two(frame.into(line.bbox)), quad=None)


def _reading(region: RegionReading, frame: Upright) -> RegionReading:
    table = region.table
    if table is not None:
        table = replace(table, cells=[_moved(cell, frame.moved) for cell in table.cells])
    return replace(
        region,
        bbox=None if region.bbox is None else _two(frame.into(region.bbox)),
        lines=[replace(line, bbox=_two(frame.into(line.bbox))) for line in region.lines],
        table=table,
    )


def _moved(cell: Cell, move: Boxed) -> Cell:
    return cell if cell.bbox is None else replace(cell, bbox=_two(move(cell.bbox)))


def _block(block: Block, frame: Upright, layout: PageLayout) -> Block:
    def back(box: Sequence[float]) -> list[float]:
        return _inside(frame.back(box), layout)

    prov = [
        place
        if place.bbox is None
        else replace(
            place,
            bbox=back(place.bbox),
            polygon=[_inside([*corner, *corner], layout)[:2] for corner in frame.corners(place.bbox)],
        )
        for place in block.prov
    ]
    return replace(
        block,
        prov=prov,
        lines=[replace(line, bbox=back(line.bbox)) for line in block.lines],
        table=None if block.table is None else _table(block.table, frame, layout),
    )


def _table(table: Table, frame: Upright, layout: PageLayout) -> Table:
    return replace(
        table, cells=[_moved(cell, lambda box: _inside(frame.moved_back(box), layout)) for cell in table.cells]
    )


def _inside(box: Sequence[float], layout: PageLayout) -> list[float]:
    x0, x1 = (min(max(x, 0.0), layout.width) for x in (box[0], box[2]))
    y0, y1 = (min(max(y, 0.0), layout.height) for y in (box[1], box[3]))
    return _two([x0, y0, x1, y1])


def _two(values: Sequence[float]) -> list[float]:
    return [rounded(value) for value in values]
