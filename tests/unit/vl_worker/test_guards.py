"""Guards: a cut, empty, looping or foreign answer is named; honest text and honest tables pass."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vl_worker.grammars.grounding import Part, parse_grounding
from services.vl_worker.grammars.html_table import parse_html_table
from services.vl_worker.guards import Place, fault_of, fault_of_parts, fault_of_table, is_hopeless, place_of
from services.vl_worker.loops import EQUAL_ROWS, is_looping, longest_repeat
from shared.contracts.layout import TextLine
from shared.vlm.profile import profile_named
from tests.support import pages as make

pytestmark = pytest.mark.unit
GLM = profile_named("glm-ocr")
DEEPSEEK = profile_named("deepseek-ocr-2")
NPU = profile_named("unlimited-ocr-npu")
ROW = "<tr><td>0</td><td>n/a</td></tr>"
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "near", "seven", "quiet", "rivers"]


def fault(text: str, *, finish: str | None = "stop", kind: str = "text", **more: Any) -> str | None:
    return fault_of(text, more.pop("profile", GLM), kind, finish_reason=finish, **more)


def table(html: str, place: Place = Place()) -> str | None:  # noqa: B008
    return fault_of_table(parse_html_table(html, page_no=1), place)


# --- answers ----------------------------------------------------------------------------------------------------------


def test_honest_text_passes() -> None:
    rng = random.Random(4)
    assert fault(" ".join(rng.choice(WORDS) for _ in range(800))) is None
    assert fault("ok") is None
    assert fault("OCR: what the letters mean") is None


def test_a_cut_answer_is_truncated_whatever_it_says() -> None:
    assert fault("all well", finish="length") == "truncated"
    assert fault("", finish="length") == "truncated"


@pytest.mark.parametrize("text", ["", "  \n ", "\u200b", "\ufeff \u3000"])
def test_nothing_is_empty(text: str) -> None:
    assert fault(text) == "empty"


def test_an_end_token_alone_is_empty() -> None:
    assert fault("<｜end▁of▁sentence｜>", profile=DEEPSEEK) == "empty"


def test_thoughts() -> None:
    assert fault("<think>hm</think>text") == "thinking"
    assert fault("hm</think>text") == "thinking"


@pytest.mark.parametrize("text", ["text recognition:", "Text Recognition:\nText Recognition:", " Text Recognition. "])
def test_its_own_prompt(text: str) -> None:
    assert fault(text) == "echo"


def test_its_own_prompt_with_the_marks_of_the_model() -> None:
    said = "<image>\n<|grounding|>Convert the document to markdown."
    assert fault(said, profile=DEEPSEEK, kind="page") == "echo"


def test_a_server_that_gives_no_reason_for_the_end_must_pass_the_end_token_on() -> None:
    assert fault("words", profile=DEEPSEEK, finish=None) == "truncated"
    assert fault("words<｜end▁of▁sentence｜>", profile=DEEPSEEK, finish=None) is None
    assert fault("words", profile=DEEPSEEK, finish="stop") is None
    assert fault("words", profile=GLM, finish=None) is None
    assert fault("words", profile=NPU, finish=None) is None  # its service takes the token off itself


@pytest.mark.parametrize(
    "text", ["<table><tr><td>1</td></tr>", "<|ref|>text", "<|ref|>text<|/ref|><|det|>[[1, 2", "a<table><tr><td>"]
)
def test_an_answer_that_stops_inside_something_is_truncated(text: str) -> None:
    assert fault(text, kind="table", profile=DEEPSEEK) == "truncated"


def test_an_answer_that_the_client_broke_off_is_a_loop() -> None:
    assert fault("anything", stopped=True) == "repetition"


def test_more_text_than_there_is_room_for() -> None:
    rng = random.Random(4)
    long = " ".join(rng.choice(WORDS) for _ in range(900))
    assert fault(long, place=Place(width=200, height=20, unit="pt")) == "overlong"
    assert fault(long, place=Place(width=500, height=700, unit="pt")) is None
    assert fault(long, place=Place(width=800, height=400, unit="px")) is None
    assert fault(long, place=Place(width=800, height=400, unit=None)) is None
    assert fault(long) is None


# --- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Intro. " + "again and again " * 40,
        "\n".join(["same line"] * 12),
        "A B A B " * 200,
        "ab" * 100,
        "a" * 200,
        " ".join(WORDS * 3) + " " + "x y z " * 300,
        "多次重复的一句话。" * 30,
        "\n".join(["one", "two"] + ["three"] * 30),
    ],
)
def test_loops_are_found(text: str) -> None:
    assert is_looping(text)
    assert fault(text) == "repetition"
    assert is_hopeless(text)


@pytest.mark.parametrize(
    "text",
    [
        "____________________________________________________________________",
        "Chapter 1 " + "." * 400,
        "\n".join("●" * 30),
        "☐ " * 40,
        "Yes\nNo\nYes\nNo\nNo\nYes",
        "1. a\n2. b\n3. c\n4. d\n5. e\n6. f\n7. g\n8. h\n9. i\n10. j\n11. k",
        "ha ha ha ha",
        "\n".join(f"{word} {'.' * 40} {i}" for i, word in enumerate(WORDS)),
        "0.00 0.00 0.00 0.00",
    ],
)
def test_what_a_page_may_honestly_repeat_passes(text: str) -> None:
    assert not is_looping(text)


@given(
    st.text(alphabet=st.characters(categories=("L", "N", "P", "Zs"), codec="utf-8"), min_size=3, max_size=60),
    st.text(max_size=200),
)
def test_any_text_repeated_long_enough_is_a_loop(unit: str, before: str) -> None:
    if len(set(unit.strip())) < 2 or set(unit.strip()) <= set(" ._-·…—=*|"):
        return
    assert is_looping(before + unit * (2_000 // len(unit) + 20))


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=400), st.randoms(use_true_random=False))
def test_text_without_repetition_is_no_loop(words: list[str], rng: random.Random) -> None:
    assert not is_looping(" ".join(f"{word}{rng.randrange(10**6)}" for word in words))


@given(st.lists(st.integers(0, 2), max_size=60))
def test_a_stretch_is_what_it_says(rows: list[int]) -> None:
    def slow() -> int:
        best = 0
        for period in range(1, min(12, len(rows) // 2) + 1):
            for start in range(len(rows)):
                end = start + period
                while end < len(rows) and rows[end] == rows[end - period]:
                    end += 1
                if end - start >= 2 * period:
                    best = max(best, end - start)
        return best

    assert longest_repeat(rows) == slow()


def test_a_long_answer_costs_little() -> None:
    """No clock: the text is long enough that anything quadratic would not come back before the test's own timeout."""
    for text in ("a b" * 400_000, "ab" * 400_000, "x" * 1_000_000, "".join(map(str, range(200_000)))):
        is_looping(text)


# --- tables -----------------------------------------------------------------------------------------------------------


def test_an_honest_table_of_sixty_equal_rows_passes() -> None:
    html = "<table>" + ROW * 60 + "</table>"
    assert fault(html, kind="table") is None
    assert not is_hopeless(html[:-8])
    page = Place(width=500, height=700, unit="pt")
    lines = Place(width=500, height=700, unit="pt", line_rows=60)
    for place in (Place(), page, lines):
        assert table(html, place) is None


def test_a_loop_of_rows_is_found_by_their_number_the_room_or_the_lines_of_the_page() -> None:
    endless = "<table>" + ROW * (EQUAL_ROWS + 1)
    assert is_hopeless(endless)
    assert table(endless + "</table>") == "repetition"
    assert table("<table>" + ROW * 60 + "</table>", Place(width=500, height=100, unit="pt")) == "repetition"
    assert (
        table("<table>" + ROW * 60 + "</table>", Place(width=500, height=700, unit="pt", line_rows=8)) == "repetition"
    )
    pair = "<tr><td>1</td></tr><tr><td>2</td></tr>"
    assert table("<table>" + pair * 120 + "</table>") == "repetition"


def test_unlike_rows_are_too_many_only_where_there_is_no_room() -> None:
    rows = "".join(f"<tr><td>{i}</td></tr>" for i in range(90))
    assert table(f"<table>{rows}</table>", Place(width=300, height=500, unit="pt", line_rows=8)) is None
    assert table(f"<table>{rows}</table>", Place(width=300, height=100, unit="pt")) == "overlong"


def test_a_cell_or_a_row_that_goes_round_in_circles() -> None:
    assert table(f"<table><tr><td>{'very ' * 100}</td></tr></table>") == "repetition"
    assert is_hopeless(f"<table><tr><td>1</td><td>{'very ' * 200}")
    assert table("<table><tr>" + "<td>7</td>" * 150 + "</tr></table>") == "repetition"
    assert table("<table><tr>" + "<td></td>" * 150 + "<td>7</td></tr></table>") is None


def test_a_table_without_a_word_is_empty() -> None:
    assert table("<table><tr><td></td></tr></table>") == "empty"


def test_the_room_of_a_region_counts_the_rows_of_its_lines() -> None:
    lines = [TextLine(bbox=[x, y, x + 20, y + 10], quad=[0.0] * 8) for y in (0, 14, 28) for x in (0, 40, 80)]
    region = make.region(0, "table", lines)
    assert place_of(region, "pt") == Place(width=100, height=38, unit="pt", line_rows=3)


# --- pages ------------------------------------------------------------------------------------------------------------


def test_blocks_of_a_page_that_repeat_are_a_loop_wherever_they_stand() -> None:
    honest = [Part("text", "text", (0, i, 10, i + 1), f"paragraph {i}") for i in range(40)]
    assert fault_of_parts(honest) is None
    again = [Part("text", "text", (0, i, 10, i + 1), "the same") for i in range(30)]
    assert fault_of_parts(again) == "repetition"
    same_place = [Part("text", "text", (0, 0, 10, 1), f"word {i}") for i in range(30)]
    assert fault_of_parts(same_place) == "repetition"
    inside = [*honest, Part("text", "text", (0, 0, 9, 9), "one and one and " * 30)]
    assert fault_of_parts(inside) == "repetition"


def test_a_page_without_a_word_is_empty_unless_it_has_a_picture() -> None:
    assert fault_of_parts(parse_grounding("<|det|>text [1,2,3,4]<|/det|>")) == "empty"
    assert fault_of_parts(parse_grounding("<|det|>image [1,2,3,4]<|/det|>")) is None
