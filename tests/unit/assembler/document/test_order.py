"""Reading order on made layouts whose order is known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.assembler.document.order import Item, reading_order

pytestmark = pytest.mark.unit

Named = list[tuple[str, Item]]


def ordered(things: Named, *, vertical: bool = False) -> list[str]:
    """Names in reading order; the input is shuffled, as a layout's order means nothing."""
    things = list(things)
    random.Random(7).shuffle(things)
    return [things[i][0] for i in reading_order([item for _, item in things], vertical=vertical)]


def paragraph(name: str, x0: float, y0: float, x1: float, lines: int) -> tuple[str, Item]:
    return name, Item(box=(x0, y0, x1, y0 + 12 * lines), lines=lines)


def column(prefix: str, x0: float, x1: float, top: float, counts: Sequence[int]) -> Named:
    out, y = [], top
    for index, count in enumerate(counts):
        out.append(paragraph(f"{prefix}{index}", x0, y, x1, count))
        y += 12 * count + 8
    return out


def names(things: Named) -> list[str]:
    return [name for name, _ in things]


def test_one_column_goes_down() -> None:
    things = column("a", 60, 540, 60, [1, 4, 3, 1, 5])
    assert ordered(things) == names(things)


def test_two_columns_below_a_title_over_both() -> None:
    title = paragraph("title", 150, 50, 450, 2)
    left = column("l", 60, 290, 90, [1, 6, 4, 8])
    right = column("r", 310, 540, 90, [5, 5, 1, 7])
    assert ordered([title, *left, *right]) == ["title", *names(left), *names(right)]


def test_columns_whose_paragraphs_begin_at_the_same_heights_are_no_rows() -> None:
    left = column("l", 60, 290, 90, [4, 4, 4, 4])
    right = column("r", 310, 540, 90, [4, 4, 4, 4])
    assert ordered([*left, *right]) == [*names(left), *names(right)]


def test_single_lines_in_two_columns_at_the_pitch_of_set_text_are_columns() -> None:
    left = [(f"l{i}", Item(box=(60, 80 + 14 * i, 150, 91 + 14 * i))) for i in range(8)]
    right = [(f"r{i}", Item(box=(330, 80 + 14 * i, 420, 91 + 14 * i))) for i in range(8)]
    assert ordered([*left, *right]) == [*names(left), *names(right)]


def test_a_page_number_in_the_gutter_does_not_close_it() -> None:
    left, right = column("l", 72, 301, 90, [6, 8]), column("r", 311, 540, 90, [9, 5])
    number = paragraph("n", 303, 400, 308, 1)
    assert ordered([*left, *right, number]) == [*names(left), *names(right), "n"]


def test_three_columns_with_a_figure_over_two_of_them() -> None:
    a = column("a", 50, 200, 60, [10, 12, 14])
    b_above = column("b", 220, 370, 60, [8])
    c_above = column("c", 390, 540, 60, [8])
    figure = ("figure", Item(box=(220, 180, 540, 300), lines=99))
    b_below = column("B", 220, 370, 320, [6, 6])
    c_below = column("C", 390, 540, 320, [6, 6])
    things = [*a, *b_above, *c_above, figure, *b_below, *c_below]
    expected = [*names(a), "b0", "c0", "figure", *names(b_below), *names(c_below)]
    assert ordered(things) == expected


def test_a_table_over_the_page_cuts_the_columns() -> None:
    upper = [column("l", 60, 290, 60, [5, 5]), column("r", 310, 540, 60, [5, 5])]
    table = ("table", Item(box=(60, 220, 540, 320), lines=99))
    lower = [column("L", 60, 290, 340, [5, 5]), column("R", 310, 540, 340, [5, 5])]
    things = [*upper[0], *upper[1], table, *lower[0], *lower[1]]
    assert ordered(things) == [*names(upper[0]), *names(upper[1]), "table", *names(lower[0]), *names(lower[1])]


def test_two_columns_above_three() -> None:
    upper = [column("l", 60, 290, 60, [6, 7]), column("r", 310, 540, 60, [9, 4])]
    lower = [column("a", 60, 200, 300, [6, 6]), column("b", 220, 370, 300, [6, 6]), column("c", 390, 540, 300, [6, 6])]
    things = [thing for part in (*upper, *lower) for thing in part]
    assert ordered(things) == names(things)


def test_fields_of_a_form_are_read_across() -> None:
    rows = [
        (f"{side}{i}", Item(box=(x, 90 + 17 * i, x + 90, 101 + 17 * i), pair=True))
        for i in range(4)
        for side, x in (("l", 56), ("r", 306))
    ]
    table = ("table", Item(box=(56, 170, 539, 300), lines=99))
    assert ordered([*rows, table]) == [*names(rows), "table"]


def test_numbers_beside_the_texts_they_number_are_read_across() -> None:
    rows = []
    for i in range(4):
        rows.append((f"n{i}", Item(box=(56, 90 + 40 * i, 66, 101 + 40 * i))))
        rows.append((f"t{i}", Item(box=(90, 90 + 40 * i, 500, 114 + 40 * i), lines=2)))
    assert ordered(rows) == names(rows)


def test_vertical_columns_go_from_right_to_left() -> None:
    things = [(f"c{i}", Item(box=(500 - 30 * i, 80, 520 - 30 * i, 700))) for i in range(6)]
    assert ordered(things, vertical=True) == names(things)


def test_a_title_beside_nothing_is_not_the_second_column_of_what_follows() -> None:
    title = paragraph("title", 243, 59, 354, 1)
    fields = column("f", 56, 220, 91, [1, 1, 1])
    text = paragraph("text", 56, 198, 540, 3)
    signs = [
        (f"{side}{i}", Item(box=(x, 584 + 18 * i, x + 130, 596 + 18 * i), pair=True))
        for i in range(2)
        for side, x in (("l", 54), ("r", 308))
    ]
    things = [title, *fields, text, *signs]
    assert ordered(things) == names(things)


def test_nothing_is_nothing() -> None:
    assert reading_order([]) == []


def test_a_page_of_far_too_many_things_is_ordered_all_the_same() -> None:
    things = [(f"{i}", Item(box=(i % 50, i // 50, i % 50 + 1, i // 50 + 1))) for i in range(20_000)]
    assert sorted(reading_order([item for _, item in things])) == list(range(20_000))


boxes = st.tuples(
    st.integers(0, 500), st.integers(0, 700), st.integers(1, 400), st.integers(1, 200), st.integers(1, 9), st.booleans()
).map(lambda t: Item(box=(t[0], t[1], t[0] + t[2], t[1] + t[3]), lines=t[4], pair=t[5]))


@given(st.lists(boxes, max_size=25), st.randoms(use_true_random=False))
def test_any_layout_is_ordered_whole_and_alike_from_any_input_order(items: list[Item], shuffle: random.Random) -> None:
    order = reading_order(items)
    assert sorted(order) == list(range(len(items)))
    permuted = list(range(len(items)))
    shuffle.shuffle(permuted)
    again = reading_order([items[i] for i in permuted])
    assert [items[permuted[i]] for i in again] == [items[i] for i in order]


def head(name: str, x0: float, y0: float, x1: float) -> tuple[str, Item]:
    return name, Item(box=(x0, y0, x1, y0 + 14), lines=1, head=True)


def test_two_columns_above_three_are_read_one_after_the_other() -> None:
    above = [*column("a", 50, 330, 60, [6, 5, 6]), *column("b", 350, 630, 60, [4, 7, 6])]
    below = [
        *column("c", 50, 230, 400, [5, 6, 4]),
        *column("d", 250, 430, 400, [6, 4, 5]),
        *column("e", 450, 630, 400, [4, 6, 5]),
    ]
    assert ordered([*above, *below]) == names([*above, *below])


def test_three_bands_with_columns_of_their_own_and_headlines_between() -> None:
    first = [*column("a", 50, 230, 90, [6, 5]), *column("b", 250, 430, 90, [5, 6]), *column("c", 450, 630, 90, [6, 5])]
    second = [*column("d", 50, 330, 310, [6, 5]), *column("e", 350, 630, 310, [5, 6])]
    third = [*column("f", 50, 230, 530, [6, 5]), *column("g", 250, 430, 530, [6, 5]), *column("h", 450, 630, 530, [6])]
    things = [
        head("1", 280, 60, 400), *first, head("2", 50, 270, 160), *second, head("3", 50, 500, 120), *third,
    ]  # fmt: skip
    assert ordered(things) == names(things)


def test_a_headline_in_the_middle_column_alone_comes_first() -> None:
    columns = [
        *column("a", 50, 230, 100, [6, 5]),
        *column("b", 250, 430, 100, [5, 6]),
        *column("c", 450, 630, 100, [6]),
    ]
    assert ordered([head("title", 300, 60, 380), *columns]) == ["title", *names(columns)]


def test_a_picture_over_two_of_three_columns_parts_the_page_with_its_caption() -> None:
    above = [*column("a", 50, 230, 60, [6, 5]), *column("b", 250, 430, 60, [6, 5]), *column("c", 450, 630, 60, [6, 5])]
    picture = ("picture", Item(box=(50, 220, 430, 400), head=True))
    caption = paragraph("caption", 50, 404, 300, 1)
    below = [*column("d", 50, 230, 460, [6, 5]), *column("e", 250, 430, 460, [6, 5]), *column("f", 450, 630, 460, [6])]
    assert ordered([*above, picture, caption, *below]) == names([*above, picture, caption, *below])


def test_a_heading_with_text_beside_it_stays_in_its_column() -> None:
    left = [*column("a", 50, 330, 60, [8, 6]), head("h", 50, 250, 120), *column("b", 50, 330, 272, [8, 5])]
    right = column("r", 350, 630, 60, [6, 8, 9, 7])
    assert ordered([*left, *right]) == names([*left, *right])
