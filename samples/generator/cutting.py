"""Tables in running text: with their caption above, cut at the foot of the page between rows, with or without their header again."""

from __future__ import annotations

from typing import Any

from samples.generator import tables
from samples.generator.flow import Flow


def place(
    flow: Flow, grid: tables.Grid, *, caption: str | None = None, repeat: bool = True, width: float = 1.0
) -> None:
    """Set a table at the cursor. `repeat`: its header stands on each page; `width` is a share of the column's, centred."""
    style = flow.style
    heights = tables.heights(grid, flow.measure * width)
    above = style.size * 2.4 if caption else 0.0
    flow.need(above + sum(heights[: grid.header_rows + 2]) + 6)
    flow.skip(style.size * 0.5)
    words = flow.caption(caption, centred=True) if caption else None
    flow.skip(3)
    head = list(range(grid.header_rows))
    row, before = 0, None
    while row < grid.num_rows:
        rows: list[int] = list(head) if before is not None and repeat else []
        used = sum(heights[r] for r in rows)
        end = _rows_that_fit(grid, heights, row, flow.room - used)
        rows += range(row, end)
        x = flow.left + flow.measure * (1 - width) / 2
        facts: dict[str, Any] = {"column": flow.column if flow.is_in_columns else 0}
        if before is not None:
            facts["continues"] = before.id
        element = tables.draw(flow.sheet, grid, x, flow.y, flow.measure * width, rows, **facts)
        if words is not None and before is None:
            words.target = element.id
        flow.y += sum(heights[r] for r in rows)
        before, row = element, end
        if row < grid.num_rows:
            flow.next_column()
    flow.skip(style.size * 1.2)


def _rows_that_fit(grid: tables.Grid, heights: list[float], start: int, room: float) -> int:
    end, used = start, 0.0
    while end < grid.num_rows and used + heights[end] <= room:
        used += heights[end]
        end += 1
    while end < grid.num_rows and end > start + 1 and not tables.may_break_before(grid, end):
        end -= 1
    return max(end, start + 1)
