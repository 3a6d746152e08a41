"""Lines to paragraphs, and how lines are joined."""

from __future__ import annotations

import pytest

from services.assembler.document.paragraphs import paragraphs
from services.assembler.document.text import Piece, join, joined, marker

pytestmark = pytest.mark.unit


def pieces(texts: list[str], *, x: float = 60, pitch: float = 14, widths: list[float] | None = None) -> list[Piece]:
    out = []
    for i, text in enumerate(texts):
        stripped = text.lstrip("\u3000")
        x0 = x + 10 * (len(text) - len(stripped))
        width = widths[i] if widths else sum(10 if ord(c) > 0x2E80 else 5 for c in stripped)
        out.append(Piece(box=[x0, 100 + pitch * i, x0 + width, 111 + pitch * i], text=stripped))
    return out


def texts(found: list[list[Piece]]) -> list[str]:
    return [joined([piece.text for piece in group]) for group in found]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a word", "and more", "a word and more"),
        ("hyphen-", "ated", "hyphenated"),
        ("the soft\u00ad", "ened", "the softened"),
        ("Anglo-", "Saxon", "Anglo-Saxon"),
        ("pages 3-", "7", "pages 3-7"),
        ("a dash -", "then", "a dash - then"),
        ("中文", "接着", "中文接着"),
        ("中文，", "接着", "中文，接着"),
        ("中文", "Kafka", "中文Kafka"),
        ("한국어", "문장", "한국어 문장"),
        ("", "x", "x"),
    ],
)
def test_join(first: str, second: str, expected: str) -> None:
    assert join(first, second) == expected


def test_wrapped_lines_are_one_paragraph() -> None:
    found = paragraphs(
        pieces(
            ["The first line of the paragraph is long", "and the second line is as long as that", "the last is short."]
        )
    )
    assert len(found) == 1


def test_a_break_where_the_next_word_would_have_fitted_is_meant() -> None:
    found = paragraphs(
        pieces(["A line that goes as far as the column does", "A short one", "Another that goes as far as the column"])
    )
    assert texts(found) == [
        "A line that goes as far as the column does A short one",
        "Another that goes as far as the column",
    ]


def test_lines_of_a_form_stay_apart() -> None:
    lines = [
        "合同编号：HT-2026-6231",
        "甲方：深圳云栖智能装备股份有限公司",
        "乙方：北京蓝海数据科技有限公司",
        "签订日期：2026年9月4日",
    ]
    assert texts(paragraphs(pieces(lines))) == lines


def test_chinese_lines_are_joined_without_blanks_and_cut_at_the_short_one() -> None:
    found = paragraphs(
        pieces(["此命令提供一种收紧标号和小标号样", "式中的间隔的方法。", "在宏定义之外的地方此命令很少用到"])
    )
    assert texts(found) == ["此命令提供一种收紧标号和小标号样式中的间隔的方法。", "在宏定义之外的地方此命令很少用到"]


def test_an_indented_line_begins_a_paragraph() -> None:
    found = paragraphs(
        pieces(
            [
                "全角字符排满这一整行的文字内容甲乙",
                "\u3000\u3000另起一段的文字内容也排满一整行",
                "接着这一段的第二行文字内容在这里呢",
            ]
        )
    )
    assert len(found) == 2


def test_more_white_begins_a_paragraph() -> None:
    lines = pieces(["one line that is full width", "two line that is full width", "three line of full width yes"])
    moved = [*lines[:2], Piece(box=[60, 160, 200, 171], text=lines[2].text)]
    assert len(paragraphs(moved)) == 2


def test_items_of_a_list_are_paragraphs_and_their_lines_are_not() -> None:
    lines = [
        "• first item that fills its line",
        "and goes on in the next full line",
        "• second item that fills its line",
    ]
    assert texts(paragraphs(pieces(lines))) == [f"{lines[0]} {lines[1]}", lines[2]]


def test_a_number_that_does_not_count_on_begins_nothing() -> None:
    lines = ["This sentence happens to refer to section", "3. of another document, which is no item"]
    assert len(paragraphs(pieces(lines))) == 1


def test_a_row_in_pieces_is_one_line_unless_they_stand_far_apart() -> None:
    near = [Piece(box=[60, 100, 100, 111], text="two"), Piece(box=[104, 100.5, 140, 111.5], text="halves")]
    assert texts(paragraphs(near)) == ["two halves"]
    far = [Piece(box=[60, 100, 100, 111], text="left"), Piece(box=[300, 100.5, 340, 111.5], text="right")]
    assert texts(paragraphs(far)) == ["left", "right"]


def test_headings_are_never_cut() -> None:
    assert len(paragraphs(pieces(["A heading", "in two uneven lines of text"]), whole=True)) == 1


@pytest.mark.parametrize(
    ("text", "style", "number"),
    [
        ("• item", "bullet", None),
        ("•项目", "bullet", None),
        ("- item", "bullet", None),
        ("1. item", "1.", 1),
        ("12) item", "1)", 12),
        ("(3) item", "(1)", 3),
        ("2、项目", "1、", 2),
        ("③项目", "circled", 3),
        ("b) item", "a)", 2),
    ],
)
def test_markers(text: str, style: str, number: int | None) -> None:
    found = marker(text)
    assert found is not None
    assert (found.style, found.number) == (style, number)


@pytest.mark.parametrize(
    "text", ["word", "-5 degrees", "3.14 is pi", "2026年", "(see below)", "1.1 Title", "A sentence.", ""]
)
def test_what_is_no_marker(text: str) -> None:
    assert marker(text) is None
