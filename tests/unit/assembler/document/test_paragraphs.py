"""Where paragraphs begin, by what is seen: indentation, white, short lines, storeys of vertical text."""

from __future__ import annotations

from typing import Any

import pytest

from services.assembler.document.fonts import ems, set_size
from services.assembler.document.paragraphs import paragraphs
from services.assembler.document.text import Piece, joined

pytestmark = pytest.mark.unit

WIDE = 300.0
NEXT = "Wetterstationen are what follows"


def block(*lines: tuple[float, float, str], pitch: float = 12, **more: Any) -> list[Piece]:
    """Lines `(indent, right edge, text)` one below the other."""
    return [
        Piece(box=[x0, 100 + pitch * n, x1, 112 + pitch * n], text=text, font_size=9.0, **more)
        for n, (x0, x1, text) in enumerate(lines)
    ]


def starts(pieces: list[Piece]) -> list[str]:
    return [group[0].text for group in paragraphs(pieces)]


def test_an_indentation_of_an_em_begins_a_paragraph() -> None:
    lines = block((11, WIDE, "one"), (0, WIDE, "two"), (0, WIDE, "three"), (11, WIDE, "four"), (0, WIDE, "five"))
    assert starts(lines) == ["one", "four"]


def test_hanging_indentation_begins_none() -> None:
    lines = block((0, WIDE, "one"), (20, WIDE, "two"), (20, WIDE, "three"), (20, WIDE, "four"), (20, WIDE, "five"))
    assert starts(lines) == ["one"]


def test_a_short_line_of_justified_text_ends_a_paragraph() -> None:
    begun = "so it was that nobody had thought of it before, and then"
    lines = block((0, WIDE, "a"), (0, WIDE, "b"), (0, 200, "c"), (0, WIDE, begun), (0, WIDE, "d"), (0, WIDE, "e"))
    assert starts(lines) == ["a", begun]


def test_a_line_that_had_no_room_for_a_long_word_ends_none() -> None:
    lines = block((0, WIDE, "a"), (0, WIDE, "b"), (0, 265, "c"), (0, WIDE, NEXT), (0, WIDE, "d"), (0, WIDE, "e"))
    assert starts(lines) == ["a"]


def test_half_an_em_of_white_parts_native_text_and_not_read_text() -> None:
    texts = ["one", "two", "three", "four"]
    boxes = [[0, y, WIDE, y + 12] for y in (100, 112, 128.5, 140.5)]
    native = [Piece(box=b, text=t, font_size=9.0) for b, t in zip(boxes, texts, strict=True)]
    read = [Piece(box=b, text=t, font_size=9.0, confidence=0.9) for b, t in zip(boxes, texts, strict=True)]
    assert starts(native) == ["one", "three"]
    assert starts(read) == ["one"]


def test_entries_of_a_table_of_contents_are_apart() -> None:
    lines = block((0, WIDE, "1 Means ........ 3"), (0, WIDE, "2 Results ....... 17"), (0, WIDE, "3 Notes ..... iv"))
    assert len(starts(lines)) == 3


def test_footnotes_that_count_on_are_apart() -> None:
    lines = block((0, WIDE, "1 See the report of"), (0, 250, "last year."), (0, WIDE, "2 There are others."))
    assert starts(lines) == ["1 See the report of", "2 There are others."]


def test_chinese_numbers_mark_items() -> None:
    lines = block((0, WIDE, "（一）甲"), (30, WIDE, "乙"), (0, WIDE, "（二）丙"), (0, WIDE, "（三）丁"))
    assert starts(lines) == ["（一）甲", "（二）丙", "（三）丁"]


def upright(x: float, top: float, text: str) -> list[Piece]:
    """A column of single characters, as some PDFs have them."""
    return [Piece(box=[x, top + 11 * n, x + 11, top + 11 * (n + 1)], text=c, vertical=True) for n, c in enumerate(text)]


def test_single_characters_of_a_column_are_one_line() -> None:
    pieces = [*upright(200, 100, "この日本語の文章は"), *upright(180, 100, "複数の列に")]
    assert [joined([p.text for p in group]) for group in paragraphs(pieces)] == ["この日本語の文章は複数の列に"]


def test_storeys_are_read_one_after_the_other() -> None:
    upper = [*upright(200, 100, "一二三四五"), *upright(180, 100, "六七八九")]
    lower = [*upright(200, 180, "甲乙丙丁戊"), *upright(180, 180, "己庚")]
    assert [joined([p.text for p in group]) for group in paragraphs([*lower, *upper])] == [
        "一二三四五六七八九",
        "甲乙丙丁戊己庚",
    ]


@pytest.mark.parametrize("text", ["Geltungsbereich", "Über die Bücherei", "测量结果概况", "1.2 Means, and others"])
def test_the_size_of_a_read_line_comes_from_its_length(text: str) -> None:
    assert set_size(text, 13.5 * ems(text) + 0.2 * 16, 16) == pytest.approx(13.5)


def test_a_text_too_short_says_nothing_of_its_size() -> None:
    assert set_size("1", 7, 12) is None


def test_a_line_of_which_characters_are_missing_says_nothing_of_its_size() -> None:
    """A heading of eight characters of which four were read, 18 high and 121 long: it is no 21 pt."""
    assert set_size("測定結果CIT", 121, 18) is None
    assert set_size("測定結果について", 121, 18) == pytest.approx(14.7, abs=0.1)
    assert set_size("measure", 121, 18) is not None
