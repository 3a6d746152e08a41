"""Guards: a cut, empty or looping answer is named; honest text and honest tables pass."""

from __future__ import annotations

import random

import pytest

from services.vl_worker.guards import MIN_EQUAL_ROWS, fault_of

pytestmark = pytest.mark.unit


def fault(text: str, *, finish: str | None = "stop", table: bool = False) -> str | None:
    return fault_of(text, finish_reason=finish, prompt="Text Recognition:", table=table)


def test_honest_text_passes():
    words = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "near", "seven", "quiet", "rivers"]
    rng = random.Random(4)
    assert fault(" ".join(rng.choice(words) for _ in range(800))) is None
    assert fault("ok") is None


def test_a_cut_answer_is_truncated_whatever_it_says():
    assert fault("all well", finish="length") == "truncated"


@pytest.mark.parametrize("text", ["", "  \n "])
def test_nothing_is_empty(text):
    assert fault(text) == "empty"


def test_thoughts_and_echo():
    assert fault("<think>hm</think>text") == "thinking"
    assert fault("text recognition:") == "echo"


def test_loops_are_found_at_the_end_and_over_lines():
    assert fault("Intro. " + "again and again " * 40) == "repetition"
    assert fault("\n".join(["same line"] * 12)) == "repetition"
    assert fault("A B A B " * 200) == "repetition"


def test_an_honest_table_of_sixty_equal_rows_passes_and_a_loop_of_rows_does_not():
    row = "<tr><td>0</td><td>n/a</td></tr>"
    assert fault("<table>" + row * 60 + "</table>", table=True) is None
    assert fault("<table>" + row * (MIN_EQUAL_ROWS + 1) + "</table>", table=True) == "repetition"
