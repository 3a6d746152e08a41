"""Tables out of ruling lines, and lines cut at their walls."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.layout_worker.found import Strokes
from services.layout_worker.tables import cells, ruled, scanned
from services.layout_worker.tables.ruled import grids, holds
from shared.contracts.layout import Grid, GridCell, TextLine
from shared.documents.page import Rule

pytestmark = pytest.mark.unit


def across(y, x0, x1):
    return Rule(bbox=[x0, y - 0.25, x1, y + 0.25], horizontal=True)


def down(x, y0, y1):
    return Rule(bbox=[x - 0.25, y0, x + 0.25, y1], horizontal=False)


def full(xs, ys):
    return [*(across(y, xs[0], xs[-1]) for y in ys), *(down(x, ys[0], ys[-1]) for x in xs)]


def line(x0, y0, x1, y1, text="x", **more):
    return TextLine(bbox=[x0, y0, x1, y1], text=text, **more)


def text_in(drawing):
    return [line(c.bbox[0] + 2, c.bbox[1] + 2, c.bbox[0] + 12, c.bbox[1] + 12) for c in drawing.grid.cells]


@settings(max_examples=60)
@given(
    widths=st.lists(st.floats(12, 120), min_size=2, max_size=8),
    heights=st.lists(st.floats(10, 60), min_size=2, max_size=12),
    shift=st.floats(-0.6, 0.6),
)
def test_a_full_grid_gives_its_cells(widths, heights, shift):
    xs = [50 + sum(widths[:i]) for i in range(len(widths) + 1)]
    ys = [60 + sum(heights[:i]) for i in range(len(heights) + 1)]
    # Cell by cell, each side drawn by both neighbours with a rounding between.
    rules = [
        rule
        for r in range(len(heights))
        for c in range(len(widths))
        for rule in (
            across(ys[r] + shift, xs[c], xs[c + 1]),
            across(ys[r + 1] - shift, xs[c], xs[c + 1]),
            down(xs[c] + shift, ys[r], ys[r + 1]),
            down(xs[c + 1] - shift, ys[r], ys[r + 1]),
        )
    ]
    (drawing,) = grids(rules)
    assert (drawing.rows, drawing.cols) == (len(heights), len(widths))
    assert len(drawing.grid.cells) == len(heights) * len(widths)
    assert drawing.bbox == pytest.approx([xs[0], ys[0], xs[-1], ys[-1]], abs=1.5)
    assert holds(drawing, text_in(drawing), 1200, 1200)


def test_missing_walls_are_spans():
    xs, ys = [0, 100, 200, 300], [0, 20, 40, 60]
    rules = [*(across(y, 0, 300) for y in (0, 40, 60)), across(20, 100, 300), down(0, 0, 60), down(100, 0, 60)]
    rules += [down(200, 20, 60), down(300, 0, 60)]
    (drawing,) = grids(rules)
    spans = {(c.row, c.col): (c.row_span, c.col_span) for c in drawing.grid.cells}
    assert spans[0, 0] == (2, 1)
    assert spans[0, 1] == (1, 2)
    assert len(spans) == len(xs) * len(ys) - 16 + 7


def test_open_sides_are_cells_too():
    rules = [*(across(y, 0, 300) for y in (0, 20, 40)), down(100, 0, 40), down(200, 0, 40)]
    (drawing,) = grids(rules)
    assert (drawing.rows, drawing.cols, len(drawing.grid.cells)) == (2, 3, 6)


def test_an_l_shaped_hole_becomes_single_cells():
    rules = [
        *(across(y, 0, 300) for y in (0, 60)),
        down(0, 0, 60),
        down(300, 0, 60),
        across(20, 100, 300),
        down(100, 20, 60),
    ]
    rules += [across(40, 100, 300), down(200, 20, 60)]
    (drawing,) = grids(rules)
    places = [
        (r, c)
        for cell in drawing.grid.cells
        for r in range(cell.row, cell.row + cell.row_span)
        for c in range(cell.col, cell.col + cell.col_span)
    ]
    assert len(places) == len(set(places)) == drawing.rows * drawing.cols


@pytest.mark.parametrize(
    "rules",
    [
        [],
        full([0, 300], [0, 60]),
        full([0, 300], [0, 20, 60]),
        [across(0, 0, 300), across(20, 0, 300), across(40, 0, 300)],
        [across(100, 0, 300), down(400, 0, 60)],
    ],
    ids=["nothing", "frame", "box with a head", "three lines", "apart"],
)
def test_what_is_no_grid(rules):
    assert grids(rules) == []


def test_two_tables_are_two():
    found = grids([*full([0, 50, 100], [200, 220, 240]), *full([0, 50, 100], [0, 20, 40])])
    assert [drawing.bbox[1] for drawing in found] == [0, 200]


def test_a_plot_and_the_border_of_a_page_are_no_tables():
    (plot,) = grids(full([0, 50, 100, 150, 200], [0, 30, 60, 90, 120]))
    assert not holds(plot, [line(2, 2, 20, 12), line(52, 2, 70, 12)], 600, 800)
    (border,) = grids(full([10, 300, 590], [10, 60, 790]))
    assert not holds(border, text_in(border), 600, 800) or ruled.BODY * 580 * 780 > 290 * 730
    (border,) = grids(full([10, 30, 590], [10, 30, 790]))
    assert not holds(border, text_in(border), 600, 800)


def test_a_page_of_strokes_is_left_alone(monkeypatch):
    monkeypatch.setattr(ruled, "MOST_RULES", 3)
    assert grids(full([0, 50, 100, 150, 200], [0, 30, 60])) == []


TWO = Grid(cells=[GridCell(row=0, col=0, bbox=[0, 0, 100, 20]), GridCell(row=0, col=1, bbox=[100, 0, 200, 20])])
BOX = [0.0, 0.0, 200.0, 20.0]


def test_a_native_line_is_cut_at_a_blank_near_the_wall():
    parts = cells.cut([line(10, 4, 190, 14, "left of it right of it")], TWO, BOX)
    assert [part.text for part in parts] == ["left of it", "right of it"]
    assert parts[0].bbox[2] == parts[1].bbox[0] == pytest.approx(100)


def test_a_word_is_not_torn():
    assert [part.text for part in cells.cut([line(10, 4, 190, 14, "overlongwordwithoutanyblank")], TWO, BOX)] == [
        "overlongwordwithoutanyblank"
    ]


def test_a_detected_line_is_cut_at_the_wall():
    quad = [20.0, 8, 380, 8, 380, 28, 20, 28]
    parts = cells.cut([TextLine(bbox=[10, 4, 190, 14], quad=quad, confidence=0.9)], TWO, BOX)
    assert [part.quad for part in parts] == [[20, 8, 200, 8, 200, 28, 20, 28], [200, 8, 380, 8, 380, 28, 200, 28]]


def test_a_line_that_hardly_touches_the_wall_stays_whole():
    whole = line(10, 4, 104, 14, "text")
    assert cells.cut([whole], TWO, BOX) == [whole]


@pytest.mark.parametrize("degrees", [-5, 5])
def test_upright_undoes_a_skew(degrees):
    slope = math.tan(math.radians(degrees))
    box = cells.upright([380, 200 + slope * 300, 420, 210 + slope * 300], slope, [0, 0, 200, 410])
    assert (box[1] + box[3]) / 2 == pytest.approx(205, abs=0.01)


def test_a_stray_piece_of_a_rule_makes_no_row():
    """Every cell spans the two rows that it would part."""
    rules = [*full([0, 100, 200], [0, 40, 80]), across(60, 0, 30)]
    (drawing,) = grids(rules)
    assert (drawing.rows, drawing.cols) == (2, 2)
    assert [(c.row, c.col, c.row_span, c.col_span) for c in drawing.grid.cells] == [
        (0, 0, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 1, 1)
    ]  # fmt: skip


def strokes(rules):
    return Strokes(
        bbox=[0, 0, 200, 120],
        across=[list(rule.bbox) for rule in rules if rule.horizontal],
        down=[list(rule.bbox) for rule in rules if not rule.horizontal],
        slope=0.0,
    )


def test_a_scanned_grid_that_lost_its_walls_is_none():
    """Four rows in the left column; on the right no rule was seen, but the lines keep to the rows."""
    rules = [*full([0, 100], [0, 30, 60, 90, 120]), *full([100, 200], [0, 120])]
    left = [line(10, 10 + 30 * n, 60, 20 + 30 * n) for n in range(4)]
    in_rows = [line(110, 10 + 30 * n, 190, 20 + 30 * n) for n in range(4)]
    running = [line(110, 8 + 13 * n, 190, 18 + 13 * n) for n in range(8)]
    assert scanned.grids([strokes(rules)], left + in_rows, (1, 1), 1.0) == []
    (drawing,) = scanned.grids([strokes(rules)], left + running, (1, 1), 1.0)
    assert max(cell.row_span for cell in drawing.grid.cells) == 4
