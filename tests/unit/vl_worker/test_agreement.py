"""A model's text is held against what the page shows by itself."""

from __future__ import annotations

import pytest

from services.vl_worker.agreement import amount, disagreement, doubt_of
from shared.contracts.layout import TextLine
from tests.support import pages as make

pytestmark = pytest.mark.unit


def seen(count: int, length: float = 100.0, slope: float = 0.0) -> list[TextLine]:
    """Detected lines of that length and a height of 10, falling by `slope`."""
    return [
        TextLine(
            bbox=[0, 20.0 * i, length, 20.0 * i + 10 + slope * length],
            quad=[0, 0, length, slope * length, length - 10 * slope, slope * length + 10, -10 * slope, 10],
        )
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("said", "known", "share"),
    [
        ("a b c", ["a b", "c"], 0.0),
        ("C B. A", ["a, b", "c"], 0.0),
        ("布局 阶段", ["阶段布局"], 0.0),
        ("a b x", ["a b c"], 1 / 3),
        ("x y z", ["a b c"], 1.0),
        ("a b c d", ["a b"], 1 / 3),
    ],
)
def test_the_share_of_words_that_only_one_has(said: str, known: list[str], share: float) -> None:
    assert disagreement(said, make.lines(0, 0, known)) == pytest.approx(share)


def test_without_text_of_the_page_nothing_is_said() -> None:
    assert disagreement("a", []) is None
    assert disagreement("a", seen(1)) is None
    assert doubt_of("a", seen(1), 0.0) is None


def test_where_some_lines_are_pictures_only_the_known_words_count() -> None:
    lines = [*make.lines(0, 0, ["a", "b"]), *seen(1)]
    assert disagreement("a b and much more from the picture", lines) == 0.0
    assert disagreement("a and much more", lines) == 0.5


def test_the_warning_names_the_share_and_keeps_to_the_threshold() -> None:
    lines = make.lines(0, 0, ["a b c d"])
    doubt = doubt_of("a b c x", lines, 0.2)
    assert doubt is not None
    assert (doubt.code, doubt.message[:4]) == ("vl_disagreement", "25% ")
    assert doubt_of("a b c x", lines, 0.25) is None


def test_the_amount_of_text_is_held_against_the_lines_of_a_scan() -> None:
    lines = seen(4)  # 40 heights long: some 48 CJK or 96 Latin characters
    assert amount("字" * 48, lines) == pytest.approx(1.0)
    assert amount("ab " * 48, lines) == pytest.approx(1.0)
    assert amount("字" * 48, seen(4, slope=0.2)) == pytest.approx(1.0, abs=0.03)
    assert doubt_of("字" * 48, lines, 0.2) is None
    doubt = doubt_of("字" * 10, lines, 0.2)
    assert doubt is not None
    assert doubt.message == "the VL model gave some 21% of the text that the lines of the page hold"
    assert doubt_of("字" * 200, lines, 0.2) is not None


@pytest.mark.parametrize("lines", [seen(3), [*seen(4), TextLine(bbox=[0, 0, 1, 1], quad=[0.0] * 8, vertical=True)]])
def test_too_few_lines_say_nothing(lines: list[TextLine]) -> None:
    assert amount("a", lines) is None
