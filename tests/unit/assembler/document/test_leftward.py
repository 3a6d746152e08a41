"""Rows of Arabic and Hebrew: their pieces follow each other to the left, whatever Latin stands among them."""

from __future__ import annotations

import pytest

from services.assembler.document.paragraphs import paragraphs
from services.assembler.document.text import Piece, in_one, joined, rows

pytestmark = pytest.mark.unit


def piece(x0: float, x1: float, text: str, top: float = 0.0) -> Piece:
    return Piece(box=[x0, top, x1, top + 13], text=text)


def test_the_piece_at_the_right_comes_first() -> None:
    row = [piece(109, 393, "من األدوات القوية"), piece(400, 522, "تعتبر البرمجة بلغة R وPython")]
    assert [one.text for one in in_one(rows(row)[0])] == ["تعتبر البرمجة بلغة R وPython من األدوات القوية"]


def test_a_word_in_two_pieces_is_one_word() -> None:
    row = [piece(300, 399.8, "حصائي"), piece(400, 522, "التحليل اإل")]
    assert [one.text for one in in_one(rows(row)[0])] == ["التحليل اإلحصائي"]


def test_after_a_latin_word_there_is_a_blank() -> None:
    row = [piece(300, 399.8, "من األدوات"), piece(400, 522, "تعتبر البرمجة بلغة Python")]
    assert [one.text for one in in_one(rows(row)[0])] == ["تعتبر البرمجة بلغة Python من األدوات"]


def test_hebrew_columns_stay_apart() -> None:
    row = [piece(50, 150, "שמאל"), piece(300, 400, "ימין")]
    assert [one.text for one in in_one(rows(row)[0])] == ["ימין", "שמאל"]


def test_latin_with_an_arabic_word_goes_to_the_right() -> None:
    row = [piece(50, 150, "the word"), piece(155, 200, "كتاب"), piece(205, 300, "means a book")]
    assert [one.text for one in in_one(rows(row)[0])] == ["the word كتاب means a book"]


def test_a_paragraph_of_two_lines() -> None:
    lines = [
        piece(109, 393, "من األدوات القوية التي", 0),
        piece(400, 522, "تعتبر البرمجة بلغة", 0),
        piece(91, 372, "ميزات فريدة", 15),
        piece(379, 522, "للمشكالت. يمتلك كل", 15),
    ]
    (group,) = paragraphs(lines, whole=True)
    assert joined([one.text for one in group]) == (
        "تعتبر البرمجة بلغة من األدوات القوية التي للمشكالت. يمتلك كل ميزات فريدة"
    )
