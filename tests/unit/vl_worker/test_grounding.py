"""Grounded text: both forms, clamped boxes, markers that do not match, and nothing that is run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vl_worker.grammars.grounding import MAX_PARTS, SCALE, Part, parse_grounding
from shared.contracts.errors import DocfleetError

pytestmark = pytest.mark.unit


def test_the_form_of_deepseek() -> None:
    text = (
        "<|ref|>title<|/ref|><|det|>[[115, 165, 465, 201]]<|/det|>\n# A heading \n\n"
        "<|ref|>image<|/ref|><|det|>[[515, 626, 920, 816]]<|/det|>\n\n"
        "<|ref|>figure_title<|/ref|><|det|>[[504, 821, 929, 892]]<|/det|>\nFigure 1. Something.\n"
        "<|ref|>text<|/ref|><|det|>[[10, 900, 500, 920],[10, 921, 400, 940]]<|/det|>\nTwo boxes."
        "<｜end▁of▁sentence｜>"
    )
    assert parse_grounding(text) == [
        Part("title", "title", (115, 165, 465, 201), "# A heading"),
        Part("picture", "image", (515, 626, 920, 816), ""),
        Part("caption", "figure_title", (504, 821, 929, 892), "Figure 1. Something."),
        Part("text", "text", (10, 900, 500, 940), "Two boxes."),
    ]


def test_the_form_of_unlimited_ocr() -> None:
    text = (
        "<|det|>header [27, 26, 252, 37]<|/det|>COMPANY\n"
        "<|det|>title [28, 381, 215, 399]<|/det|>Report\n"
        "<|det|>table [40, 400, 960, 500]<|/det|><table><tr><td>1</td></tr></table>\n"
        "<|det|>image [27, 585, 387, 664]<|/det|>\n"
        "<|det|>page_number [480, 980, 520, 990]<|/det|>3"
    )
    parts = parse_grounding(text)
    assert [(part.label, part.box, part.text) for part in parts] == [
        ("page_header", (27, 26, 252, 37), "COMPANY"),
        ("title", (28, 381, 215, 399), "Report"),
        ("table", (40, 400, 960, 500), "<table><tr><td>1</td></tr></table>"),
        ("picture", (27, 585, 387, 664), ""),
        ("page_number", (480, 980, 520, 990), "3"),
    ]


def test_a_text_that_was_looked_for_is_itself_the_text() -> None:
    assert parse_grounding("<|ref|>Lessard<|/ref|><|det|>[[10, 20, 300, 80]]<|/det|>") == [
        Part("text", "text", (10, 20, 300, 80), "Lessard")
    ]


def test_a_text_without_markers_is_one_block_without_a_box() -> None:
    assert parse_grounding("only words") == [Part("text", "text", None, "only words")]
    assert parse_grounding("") == []


def test_words_before_the_first_marker_are_kept() -> None:
    parts = parse_grounding("Intro.\n<|det|>text [1, 2, 3, 4]<|/det|>Rest")
    assert [(part.text, part.box) for part in parts] == [("Intro.", None), ("Rest", (1, 2, 3, 4))]


@pytest.mark.parametrize(
    ("det", "box"),
    [
        ("[[-5, 10, 2000, 999999]]", (0, 10, SCALE, SCALE)),
        ("[[500, 600, 100, 200]]", (100, 200, 500, 600)),
        ("[[5, 5, 5, 9]]", None),
        ("[[1, 2, 3]]", None),
        ("[[1.5, 2, 3, 4]]", None),
        ("__import__('os').system('false')", None),
        ("[[10**9, 1, 2, 3]]", None),
        ("[[99999999999999999999, 1, 2, 3]]", None),
        ("", None),
        ("nonsense [[1, 2, 30, 40]] more", (1, 2, 30, 40)),
    ],
)
def test_a_box_is_four_integers_clamped_or_none(det: str, box: tuple[int, int, int, int] | None) -> None:
    (part,) = parse_grounding(f"<|ref|>text<|/ref|><|det|>{det}<|/det|>words")
    assert part.box == box
    assert part.text == "words"


def test_a_name_that_nobody_knows_is_text_unless_the_profile_knows_it() -> None:
    text = "<|ref|>stamp area<|/ref|><|det|>[[1,2,3,4]]<|/det|>words"
    assert parse_grounding(text)[0].label == "text"
    assert parse_grounding(text, labels={"stamp_area": "seal"})[0].label == "seal"


@pytest.mark.parametrize(
    "text", ["<|ref|>text", "a<|det|>[[1,2,3,4]]", "<|ref|>a<|ref|>b<|/ref|>", "<|ref|>a<|det|>[[1,2,3,4]]<|/det|>"]
)
def test_an_open_marker_is_an_error(text: str) -> None:
    with pytest.raises(DocfleetError):
        parse_grounding(text)


def test_more_blocks_than_a_page_has_are_an_error() -> None:
    with pytest.raises(DocfleetError):
        parse_grounding("<|det|>text [1,2,3,4]<|/det|>x" * (MAX_PARTS + 1))
    assert len(parse_grounding("<|det|>text [1,2,3,4]<|/det|>x" * 3, max_parts=3)) == 3


PIECES = st.sampled_from(
    ["<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>", "text", "[[1,2,3,4]]", "[", "]", "<|", "|>", "table", "\n", "é"]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_whatever_comes_gives_blocks_inside_the_page_or_a_typed_error(text: str) -> None:
    try:
        parts = parse_grounding(text)
    except DocfleetError:
        return
    for part in parts:
        assert "<|ref|>" not in part.text
        assert "<|det|>" not in part.text
        if part.box is not None:
            x0, y0, x1, y1 = part.box
            assert 0 <= x0 < x1 <= SCALE
            assert 0 <= y0 < y1 <= SCALE


def test_a_long_hostile_answer_costs_no_more_than_its_length() -> None:
    for text in ("<|" * 100_000, "<|det|>" + "[" * 200_000 + "<|/det|>", "[[1,2,3," * 50_000, "<|/det|>" * 50_000):
        parse_grounding(text)
