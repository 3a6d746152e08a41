"""Places of a line that are read again: cut where no letter is cut, and checked when they come back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.rec_worker.crops import Pixels
from services.rec_worker.doubts import MOST, Place, blank_columns, is_sparse, is_strange, places, spliced
from shared.models.ctc import Letter
from shared.models.reader import FRAME

pytestmark = pytest.mark.unit

FLOOR = 0.6
STEP = 2
"""Frames from one letter to the next."""


def letters(text: str, doubtful: dict[int, float] | None = None) -> list[Letter]:
    return [Letter(STEP * n, c, (doubtful or {}).get(n, 0.99)) for n, c in enumerate(text)]


def drawn(text: str, ink: int = 10) -> Pixels:
    """A bar of `ink` px around each letter's frame; none for spaces."""
    crop = np.full((48, STEP * FRAME * len(text), 3), 255, dtype=np.uint8)
    for number, letter in enumerate(text):
        middle = STEP * FRAME * number + FRAME // 2
        if letter != " ":
            crop[10:38, max(0, middle - ink // 2) : middle + ink // 2] = 0
    return crop


def texts(found: list[Place], text: str) -> list[str]:
    return [text[place.first : place.last + 1] for place in found]


def test_in_writing_with_words_the_word_is_the_place() -> None:
    text = "Meetings are held in room 12"
    found = places(letters(text, {9: 0.4}), drawn(text), FLOOR)
    assert texts(found, text) == ["are"]
    assert (found[0].begins, found[0].ends) == ("", "")
    assert blank_columns(drawn(text))[[found[0].left, found[0].right]].all()


def test_a_doubtful_space_takes_the_words_on_both_sides() -> None:
    text = "Meetings are held in room 12"
    assert texts(places(letters(text, {12: 0.4}), drawn(text), FLOOR), text) == ["are held"]


def test_in_writing_without_words_there_are_two_sure_characters_on_each_side() -> None:
    text = "消费者组把主题的分区分配给组内的成员"
    found = places(letters(text, {7: 0.4}), drawn(text), FLOOR)
    assert texts(found, text) == ["主题的分区"]
    assert (found[0].begins, found[0].ends) == ("主题", "分区")


def test_a_character_that_is_not_sure_is_no_anchor() -> None:
    text = "消费者组把主题的分区分配给组内的成员"
    found = places(letters(text, {7: 0.4, 9: 0.8}), drawn(text), FLOOR)
    assert texts(found, text) == ["主题的分区分配"]


def test_in_a_line_with_a_doubt_what_is_read_less_than_surely_is_one_too() -> None:
    text = "one two three four five six seven eight nine"
    found = places(letters(text, {5: 0.5, 30: 0.75, 39: 0.75}), drawn(text), FLOOR)
    assert text[39] == " "  # a space is not: it costs nothing but a space
    assert texts(found, text) == ["two", "seven"]


def test_a_mark_is_not_read_without_the_word_beside_it() -> None:
    text = "- The list of things to be done"
    assert texts(places(letters(text, {0: 0.5}), drawn(text), FLOOR), text) == ["- The"]


def test_at_the_ends_of_the_line_nothing_is_cut() -> None:
    text = "消费者组把主题的分区分配给组内的成员"
    (first,) = places(letters(text, {0: 0.4}), drawn(text), FLOOR)
    assert (first.first, first.left, first.begins) == (0, 0, "")
    (last,) = places(letters(text, {len(text) - 1: 0.4}), drawn(text), FLOOR)
    assert (last.last, last.right, last.ends) == (len(text) - 1, drawn(text).shape[1], "")


def test_doubts_that_are_near_share_a_place_and_others_have_their_own() -> None:
    text = "one two three four five six seven eight"
    found = places(letters(text, {0: 0.4, 2: 0.4, 5: 0.4, 30: 0.5}), drawn(text), FLOOR)
    assert texts(found, text) == ["one two", "seven"]


@pytest.mark.parametrize(
    ("text", "doubtful", "ink"),
    [
        ("short line", {1: 0.4}, 10),
        ("one two three four five six", {0: 0.4, 8: 0.4, 14: 0.4, 19: 0.4, 25: 0.4}, 10),
        ("消费者组把主题的分区分配给组内的成员", {7: 0.4}, 16),
    ],
    ids=["short", "doubtful all over", "no column without ink"],
)
def test_where_places_do_not_pay_or_cannot_be_cut_there_are_none(
    text: str, doubtful: dict[int, float], ink: int
) -> None:
    assert places(letters(text, doubtful), drawn(text, ink), FLOOR) == []


def test_a_reading_takes_the_place_of_its_letters() -> None:
    text = "Meetings ars held in room 12"
    line = letters(text, {11: 0.4})
    found = places(line, drawn(text), FLOOR)
    whole = spliced(line, found, [letters(" are ")])
    assert whole is not None
    assert "".join(letter.text for letter in whole) == "Meetings are held in room 12"


@pytest.mark.parametrize("reading", ["", "题的分区", "主题的分", "主题的分区分", "主题", "主"])
def test_without_its_anchors_a_reading_is_refused(reading: str) -> None:
    text = "消费者组把主题的分区分配给组内的成员"
    line = letters(text, {7: 0.4})
    found = places(line, drawn(text), FLOOR)
    assert spliced(line, found, [letters(reading)]) is None


def test_anchors_may_come_back_in_another_width_and_with_spaces() -> None:
    line = letters("完整的库存，供水系统每年春季都需", {7: 0.4})
    place = Place(5, 9, 80, 160, ",供", "系统")
    whole = spliced(line, [place], [letters("，供 水系统")])
    assert whole is not None
    assert "".join(letter.text for letter in whole) == "完整的库存，供 水系统每年春季都需"


@pytest.mark.parametrize(
    ("read", "shown", "sparse"),
    [("如", "怪我咯怪我咯", True), ("怪我咯", "怪我咯", False), ("如", "如     ", False), ("", "怪我咯怪我咯", True)],
)
def test_a_letter_where_there_is_ink_for_three_is_too_little(read: str, shown: str, sparse: bool) -> None:
    assert is_sparse(letters(read), drawn(shown, ink=15)) is sparse


@pytest.mark.parametrize(
    ("doubtful", "strange"),
    [({4: 0.75}, False), ({4: 0.75, 9: 0.79}, True), ({4: 0.75, 9: 0.85}, False), ({4: 0.75, 3: 0.1}, False)],
    ids=["one of 24", "two of 24", "the other is sure enough", "the other is a space"],
)
def test_a_line_with_many_characters_short_of_sure_is_in_strange_writing(
    doubtful: dict[int, float], strange: bool
) -> None:
    assert is_strange(letters("One line of thirty characters", doubtful)) is strange


def test_nothing_read_is_not_strange() -> None:
    assert not is_strange([])
    assert not is_strange(letters(" ", {0: 0.1}))


@given(st.text("ab 中文，。", min_size=1, max_size=60), st.sets(st.integers(0, 59), max_size=6))
def test_places_hold_all_doubts_lie_apart_and_are_worth_it(text: str, doubtful: set[int]) -> None:
    line = letters(text, dict.fromkeys(doubtful, 0.3))
    crop = drawn(text)
    found = places(line, crop, FLOOR)
    if not found:
        return
    held = {number for place in found for number in range(place.first, place.last + 1)}
    assert {number for number in doubtful if number < len(text)} <= held
    assert len(held) == sum(place.last + 1 - place.first for place in found)
    assert all(a.right <= b.left for a, b in pairwise(found))
    assert all(0 <= place.left < place.right <= crop.shape[1] for place in found)
    assert sum(place.right - place.left for place in found) <= MOST * crop.shape[1]
    same = spliced(line, found, [line[place.first : place.last + 1] for place in found])
    if same is not None:
        assert "".join(letter.text for letter in same).replace(" ", "") == text.replace(" ", "")
