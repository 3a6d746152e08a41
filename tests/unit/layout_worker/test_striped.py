"""Tables without a drawn grid, and what looks like one."""

import pytest

from services.layout_worker.tables.aligned import by_alignment
from services.layout_worker.tables.striped import by_stacks
from shared.contracts.layout import TextLine
from shared.documents.page import FilledBox, Rule

pytestmark = pytest.mark.unit


def across(y, x0=72, x1=520):
    return Rule(bbox=[x0, y - 0.3, x1, y + 0.3], horizontal=True)


def line(x0, y0, width=40.0, text="x"):
    return TextLine(bbox=[x0, y0, x0 + width, y0 + 11], text=text)


def rows(top, count, columns=3, step=18):
    return [line(80 + 140 * c, top + step * r) for r in range(count) for c in range(columns)]


def prose(top, count, x0=72.0, width=440.0):
    return [line(x0, top + 13 * i, width) for i in range(count)]


def test_three_lines_are_a_table():
    (box,) = by_stacks([across(100), across(120), across(200)], [], rows(104, 5))
    assert box == pytest.approx([72, 100, 520, 200], abs=0.5)


def test_rules_of_header_and_footer_hold_no_table():
    assert by_stacks([across(60), across(780)], [], prose(100, 40)) == []
    columns = [*prose(100, 40, 72, 210), *prose(100, 40, 310, 210)]
    assert by_stacks([across(60), across(780)], [], columns) == []


def test_a_table_between_header_and_footer_ends_at_its_own_rules():
    lines = [*prose(100, 5), *rows(304, 4), *prose(420, 9)]
    (box,) = by_stacks([across(60), across(300), across(320), across(380), across(780)], [], lines)
    assert box == pytest.approx([72, 300, 520, 380], abs=0.5)


def test_the_rule_of_a_running_header_and_a_caption_are_no_part_of_the_table_below():
    lines = [line(250, 76, 100.0), *rows(104, 4)]
    (box,) = by_stacks([across(43), across(100), across(120), across(180)], [], lines)
    assert box == pytest.approx([72, 100, 520, 180], abs=0.5)


def test_a_cell_of_two_rows_with_rules_beside_it_breaks_no_table():
    cells = [line(220 + 140 * c, 104 + 18 * r) for r in range(4) for c in range(2)]
    spans = [line(80, 113), line(80, 149)]
    del cells[5]
    rules = [across(100), across(120, 200), across(138), across(156, 200), across(175)]
    (box,) = by_stacks(rules, [], [*cells, *spans])
    assert box == pytest.approx([72, 100, 520, 175], abs=0.5)


def test_rules_only_between_rows_leave_the_first_and_the_last_row_in_the_table():
    rules = [across(118 + 18 * i) for i in range(4)]
    (box,) = by_stacks(rules, [], [*rows(104, 5, columns=2), line(80, 70, 300.0), line(80, 204, 300.0)])
    assert box == pytest.approx([72, 104, 520, 187], abs=0.5)


def test_a_coloured_head_with_rows_under_it_is_a_table():
    head = FilledBox(bbox=[72, 100, 520, 118], color="#d9e5f7")
    (box,) = by_stacks([], [head], [*rows(103, 4, columns=2), *prose(230, 3)])
    assert box == pytest.approx([72, 100, 520, 168], abs=0.5)
    assert by_stacks([], [head], [*rows(103, 1, columns=2), *prose(125, 5)]) == []


def test_a_plot_between_two_rules_is_none():
    axis = [line(80, 120 + 30 * i, 12.0) for i in range(5)]
    names = [line(130 + 80 * i, 290, 30.0) for i in range(5)]
    assert by_stacks([across(60), across(330)], [], [*axis, *names]) == []


def test_columns_of_vertical_text_between_two_rules_are_no_table():
    columns = [TextLine(bbox=[80 + 22 * i, 105, 92 + 22 * i, 380], text="文字" * 12, vertical=True) for i in range(12)]
    assert by_stacks([across(100), across(390)], [], columns) == []


def test_coloured_rows_are_a_table():
    filled = [FilledBox(bbox=[72, 100 + 36 * i, 520, 118 + 36 * i], color="#eeeeee") for i in range(3)]
    (box,) = by_stacks([], filled, rows(103, 5))
    assert box == pytest.approx([72, 100, 520, 190], abs=0.5)


def test_a_coloured_panel_of_text_is_none():
    filled = [FilledBox(bbox=[72, 100 + 70 * i, 520, 160 + 70 * i], color="#eeeeee") for i in range(2)]
    assert by_stacks([], filled, [*prose(104, 4), *prose(174, 4)]) == []


def test_aligned_rows_are_a_table_with_gaps():
    cells = rows(100, 5, columns=4)
    del cells[7]
    (table,) = by_alignment([*prose(40, 3), *cells, *prose(220, 3)])
    assert len(table) == 19


def test_cells_that_span_rows_belong_to_their_table_and_a_caption_does_not():
    cells = [line(220 + 100 * c, 100 + 18 * r) for r in range(6) for c in range(3)]
    spans = [line(80, 109 + 36 * r) for r in range(3)]
    (table,) = by_alignment([line(200, 80), *cells, *spans, *prose(230, 3)])
    assert len(table) == 21


def test_a_second_header_row_over_two_columns_breaks_no_table():
    cells = [line(80 + 100 * c, 118 + 18 * r) for r in range(4) for c in range(4)]
    (table,) = by_alignment([line(80, 100), line(190, 100, 120.0), *cells])
    assert len(table) == 18


@pytest.mark.parametrize(
    "lines",
    [
        [*prose(100, 9, 40, 150), *prose(100, 9, 200, 150), *prose(100, 9, 360, 150)],
        rows(100, 2, columns=4),
        rows(100, 9, columns=2),
        [line(80 + 140 * c + 37 * (r % 3), 100 + 18 * r, 130) for r in range(4) for c in range(3)],
        rows(100, 5, columns=3, step=90),
    ],
    ids=["three columns of prose", "two rows", "two columns", "ragged", "far apart"],
)
def test_what_is_no_aligned_table(lines):
    assert by_alignment(lines) == []


def test_a_running_head_over_a_table_at_the_top_of_a_page_is_none_of_its_rows():
    cells = [line(x, y, 60.0) for y in (70, 88, 106, 124) for x in (80, 190, 300)]
    head = [line(80, 34, 20.0), line(290, 34, 80.0)]
    foot = [line(80, 166, 20.0), line(290, 166, 60.0)]
    (table,) = by_alignment([*head, *cells, *foot])
    assert len(table) == 12
    names = [line(80, 52, 60.0), line(190, 52, 60.0)]
    (table,) = by_alignment([*names, *cells])
    assert len(table) == 14
