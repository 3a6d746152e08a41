"""What a block is by its words: every rule finds what it is for, and leaves alone what only looks like it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shared.contracts.document import Block
from shared.contracts.layout import Region, TextLine
from tests.support import pages as make

pytestmark = pytest.mark.unit

PROSE = (
    "This paragraph only says what a paragraph of the page's usual text says, at some length and without an end in view"
)


def scan(*regions: Region) -> list[Block]:
    """Blocks of a page of which every line was read; texts and sizes are those of the given lines."""
    read = [make.read_region(region, [line.text or "" for line in region.lines], 0.95) for region in regions]
    seen = [
        make.region(
            int(region.region_id[-3:]),
            region.label,
            [TextLine(bbox=line.bbox, confidence=0.9) for line in region.lines],
            read_by="rec",
            bbox=region.bbox,
        )
        for region in regions
    ]
    return make.page(make.layout(seen), readings=[make.reading("rec", read)]).blocks


def labels(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    return [(block.label, block.text) for block in blocks]


def body(index: int, y: float, count: int = 4) -> Region:
    return make.region(index, "text", make.lines(60, y, [PROSE[:70]] * count, width=350))


# --- references -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", ["References", "7. Literatur", "参考文献", "BIBLIOGRAPHY", "五、参考文献"])
def test_entries_below_their_heading_are_references(heading: str) -> None:
    entries = ["[1] A. Writer: On bridges. Port, 1992.", "[2] B. Writer: On towers. Port, 2003.", "[3] C: Roads. 2010."]
    blocks = scan(
        body(0, 100),
        make.region(1, "section_header", make.lines(60, 200, [heading], size=14)),
        make.region(2, "text", make.lines(60, 230, entries, pitch=16)),
        make.region(3, "section_header", make.lines(60, 320, ["Appendix"], size=14)),
        make.region(4, "text", make.lines(60, 350, ["[1] is where it all began."])),
    )
    assert [label for label, text in labels(blocks) if text.startswith(("[1] A", "[2]", "[3]"))] == ["reference"] * 3
    assert labels(blocks)[-1][0] != "reference", "another heading ends the list"


def test_numbered_entries_with_years_are_references_without_a_heading() -> None:
    entries = [f"[{n}] A. Writer, Journal of Roads, vol. {n}, 20{n}." for n in range(11, 15)]
    blocks = scan(body(0, 100), make.region(1, "text", make.lines(60, 230, entries, pitch=16)))
    assert [block.label for block in blocks[1:]] == ["reference"] * 4


def test_a_numbered_list_is_no_list_of_sources() -> None:
    entries = [f"[{n}] open the lid and press button {n}" for n in range(1, 5)]
    blocks = scan(
        make.region(0, "section_header", make.lines(60, 100, ["How to start"], size=14)),
        make.region(1, "text", make.lines(60, 230, entries, pitch=16)),
    )
    assert "reference" not in [block.label for block in blocks]


def test_prose_below_a_heading_that_only_contains_the_word_stays_text() -> None:
    blocks = scan(
        make.region(0, "section_header", make.lines(60, 100, ["References to older machines"], size=14)),
        body(1, 130),
    )
    assert [block.label for block in blocks] == ["section_header", "text"]


# --- footnotes --------------------------------------------------------------------------------------------------------


def note(index: int, y: float, texts: list[str], size: float = 8.0, x: float = 60) -> Region:
    return make.region(index, "text", make.lines(x, y, texts, size=size, pitch=1.4 * size))


def test_small_marked_text_at_the_foot_is_a_footnote_with_its_rest() -> None:
    blocks = scan(
        body(0, 100, 20),
        note(1, 700, ["1 See the older report of the town."]),
        note(2, 716, ["2 The second note."]),
        make.region(3, "page_footer", make.lines(290, 770, ["12"])),
    )
    assert [block.label for block in blocks] == ["text", "footnote", "footnote", "page_footer"]


@pytest.mark.parametrize("mark", ["*", "**) ", "† ", "†) ", "① ", "[3] ", "12 "])
def test_notes_have_marks_of_many_kinds(mark: str) -> None:
    blocks = scan(body(0, 100, 20), note(1, 700, [f"{mark}See the older report of the town."]))
    assert [block.label for block in blocks] == ["text", "footnote"]


@pytest.mark.parametrize(
    ("text", "size", "y"),
    [
        ("1 See the older report of the town.", 10.0, 700),  # as large as the text
        ("See the older report of the town.", 8.0, 700),  # no mark
        ("2025 was a year like any other.", 8.0, 700),  # a year
        ("3.5 metres are enough for a small boat.", 8.0, 700),  # a number
        ("1 See the older report of the town.", 8.0, 110),  # at the top of the page
    ],
)
def test_what_only_looks_like_a_footnote_is_none(text: str, size: float, y: float) -> None:
    above = body(0, 140 if y < 200 else 100, 20)
    blocks = scan(above, note(1, y, [text], size=size))
    assert "footnote" not in [block.label for block in blocks]


def test_notes_that_the_layout_boxed_as_one_are_one_each() -> None:
    boxed = note(
        1, 690, ["1See the older report of the town,", "which nobody has read.", "2 The second note.", "3The third."]
    )
    blocks = scan(body(0, 100, 20), boxed)
    assert labels(blocks)[1:] == [
        ("footnote", "1See the older report of the town, which nobody has read."),
        ("footnote", "2 The second note."),
        ("footnote", "3The third."),
    ]


def test_numbers_that_do_not_grow_by_one_part_no_note_and_what_is_no_note_stays_whole() -> None:
    boxed = note(
        1, 700, ["1 See the report of the town, which has", "12 pages, and a map, of which", "2 There is one more."]
    )
    assert len([block for block in scan(body(0, 100, 20), boxed) if block.label == "footnote"]) == 2
    large = note(1, 700, ["1 First of all there is a garden.", "2 Then there is a mill."], size=10.0)
    assert "footnote" not in [block.label for block in scan(body(0, 100, 20), large)]


def test_small_print_above_more_text_is_no_footnote() -> None:
    blocks = scan(body(0, 60, 20), note(1, 400, ["1 A remark in small type."]), body(2, 440, 10))
    assert "footnote" not in [block.label for block in blocks]


def test_a_page_of_small_print_has_no_footnotes() -> None:
    blocks = scan(note(0, 500, ["1 First term of the contract."]), note(1, 516, ["2 Second term of the contract."]))
    assert "footnote" not in [block.label for block in blocks]


# --- code -------------------------------------------------------------------------------------------------------------


def test_lines_of_code_are_one_block_with_their_indentation() -> None:
    texts = ["def merge(left, right):", "while left and right:", "yield left.pop(0)", "count = count + 1"]
    lines = [
        make.lines(60 + 20 * depth, 200 + 14 * i, [text])[0]
        for i, (text, depth) in enumerate(zip(texts, (0, 1, 2, 1), strict=True))
    ]
    blocks = scan(body(0, 100), make.region(1, "text", lines[:2]), make.region(2, "text", lines[2:]), body(3, 300))
    assert [block.label for block in blocks] == ["text", "code", "text"]
    assert blocks[1].text.splitlines() == [
        " " * (4 * depth) + text for text, depth in zip(texts, (0, 1, 2, 1), strict=True)
    ]
    assert len(blocks[1].lines) == 4


@pytest.mark.parametrize(
    "texts",
    [
        ["Open the valve (see below) and wait.", "Close it again (slowly)."],
        ["if the weather is fine:", "we go out"],
        ["Name: Miller", "Town: Port Ellan"],
        ["for example", "return to sender"],
        ["12.50", "(3)"],
        ["委员会的决定（2025年）", "仪器的办法（2024年）"],
    ],
)
def test_sentences_and_forms_are_no_code(texts: list[str]) -> None:
    blocks = scan(body(0, 100), make.region(1, "text", make.lines(60, 230, texts, pitch=20)))
    assert "code" not in [block.label for block in blocks]


# --- forms ------------------------------------------------------------------------------------------------------------


def test_every_line_that_begins_with_a_box_is_a_checkbox() -> None:
    lines = make.lines(60, 200, ["Which of these is it?", "☐ timber", "☑ wool", "口 glass"])
    blocks = scan(make.region(0, "text", lines))
    assert [block.label for block in blocks] == ["text", "checkbox", "checkbox", "checkbox"]
    assert blocks[0].text == "Which of these is it?"
    assert len({block.id for block in blocks}) == 4


def test_a_choice_whose_box_was_not_read_goes_with_its_neighbours() -> None:
    texts = ["☐ timber", "☑ wool", "glass", "paper"]
    choices = [make.region(n, "text", make.lines(60, 200 + 20 * n, [text])) for n, text in enumerate(texts)]
    assert [block.label for block in scan(*choices, body(5, 300))] == ["checkbox"] * 4 + ["text"]
    other = scan(make.region(0, "text", make.lines(60, 200, ["☐ timber", "☑ wool", "Fill in by hand:"])))
    assert [block.label for block in other] == ["checkbox", "checkbox", "text"]


def test_a_character_like_a_box_is_none_by_itself() -> None:
    blocks = scan(make.region(0, "text", make.lines(60, 200, ["口岸的开放时间", "口头协议同样有效"], pitch=20)))
    assert "checkbox" not in [block.label for block in blocks]


def form(*rows: tuple[str, str | None]) -> list[Region]:
    out = []
    for n, (name, value) in enumerate(rows):
        out.append(make.region(2 * n, "text", make.lines(60, 100 + 30 * n, [name])))
        if value is not None:
            out.append(make.region(2 * n + 1, "text", make.lines(160, 100 + 30 * n, [value])))
    return out


def test_what_stands_behind_the_names_of_a_form_is_their_value() -> None:
    blocks = scan(*form(("Name:", "A. Miller"), ("Town:", "Port Ellan"), ("Street:", None), ("Year：", "1992")))
    assert {block.text: block.label for block in blocks} == {
        "Name:": "text",
        "A. Miller": "form_field",
        "Town:": "text",
        "Port Ellan": "form_field",
        "Street:": "text",
        "Year：": "text",
        "1992": "form_field",
    }


def test_two_names_make_no_form() -> None:
    blocks = scan(*form(("Name:", "A. Miller"), ("Town:", "Port Ellan")))
    assert "form_field" not in [block.label for block in blocks]


def test_the_number_beside_a_formula_is_no_side_note() -> None:
    blocks = scan(
        body(0, 100),
        make.region(1, "formula", make.lines(200, 200, ["f(x) = a + bx"])),
        make.region(2, "aside_text", make.lines(440, 200, ["(2)"])),
        make.region(3, "aside_text", make.lines(480, 240, ["(3)"])),
    )
    assert {block.text: block.label for block in blocks if len(block.text) == 3} == {"(2)": "text", "(3)": "aside_text"}


# --- captions and headings ----------------------------------------------------------------------------------------------


def pictured(size: float, y: float, texts: list[str]) -> list[str]:
    picture = make.region(1, "picture", [], bbox=[60.0, 300.0, 400.0, 450.0])
    words = make.region(2, "text", make.lines(80, y, texts, size=size))
    return [block.label for block in scan(body(0, 100, 8), picture, words, body(3, 560)) if block.text in texts]


def test_small_print_right_below_a_picture_is_its_caption() -> None:
    assert pictured(8.0, 455, ["The harbour in the year of the flood"]) == ["caption"]


@pytest.mark.parametrize(("size", "y"), [(10.0, 455), (8.0, 490), (8.0, 280)])
def test_text_of_the_usual_size_or_farther_away_is_no_caption(size: float, y: float) -> None:
    assert pictured(size, y, ["The harbour in the year of the flood"]) == ["text"]


def test_a_wide_column_of_characters_is_a_heading_of_vertical_text() -> None:
    def column(index: int, x: float, width: float, text: str) -> Region:
        line = TextLine(bbox=[x, 60, x + width, 60 + width * len(text)], text=text, vertical=True)
        return make.region(index, "text", [line])

    texts = [
        "数据的保管与发送方法说明",
        "测量结果令人满意并且可靠",
        "各单位应当完成核对工作事",
        "没有发现明显差别的桥梁处",
        "委员会认可了办法的使用人",
    ]
    body_columns = [column(n, 480 - 20 * n, 11, text) for n, text in enumerate(texts, 1)]
    blocks = make.page(make.layout([column(0, 500, 17, "主要结果"), *body_columns])).blocks
    assert [block.text for block in blocks if block.label == "section_header"] == ["主要结果"]
    sentence = make.page(make.layout([column(0, 500, 17, "主要结果。"), *body_columns])).blocks
    assert "section_header" not in [block.label for block in sentence]


# --- lists and contents -----------------------------------------------------------------------------------------------


def test_hanging_lines_come_to_their_item_and_the_next_paragraph_leaves_it() -> None:
    lines = [
        *make.lines(80, 200, ["1. The first of the"]),
        *make.lines(95, 214, ["items goes on here"], width=60),
        *make.lines(80, 228, ["2. The second one"], width=300),
        *make.lines(60, 242, ["After the list the text goes on"], width=320),
    ]
    blocks = scan(body(0, 100), make.region(1, "text", lines))
    assert labels(blocks)[1:] == [
        ("list_item", "1. The first of the items goes on here"),
        ("list_item", "2. The second one"),
        ("text", "After the list the text goes on"),
    ]


def test_bullets_close_to_their_words_are_bullets_where_two_follow_each_other() -> None:
    two = scan(make.region(0, "text", make.lines(60, 200, ["•Open the lid", "•Press the button"], pitch=20)))
    assert [block.label for block in two] == ["list_item", "list_item"]
    one = scan(make.region(0, "text", make.lines(60, 200, ["-Miller, who had said so"])), body(1, 240))
    assert [block.label for block in one] == ["text", "text"]


def contents(numbers: Sequence[str]) -> list[Region]:
    out = []
    for n, number in enumerate(numbers):
        out.append(make.region(2 * n, "text", make.lines(60, 100 + 20 * n, [f"{n + 1}.1 Chapter……"])))
        out.append(make.region(2 * n + 1, "text", make.lines(500 - 5 * len(number), 100 + 20 * n, [number])))
    return out


def test_entries_of_a_table_of_contents_have_their_page_and_no_picture_over_them() -> None:
    picture = make.region(20, "picture", [], bbox=[50.0, 90.0, 520.0, 200.0])
    blocks = scan(picture, *contents(["3", "17", "120", "121"]))
    assert labels(blocks) == [("text", f"{n}.1 Chapter … {page}") for n, page in ((1, 3), (2, 17), (3, 120), (4, 121))]


def test_three_rows_are_no_table_of_contents() -> None:
    assert len(scan(*contents(["3", "17", "120"]))) == 6


# --- margins ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["- 3 -", "ii", "12", "Page 3 of 17", "第3页", "4/20"])
def test_a_number_alone_in_the_margin_is_that_of_the_page(text: str) -> None:
    blocks = scan(body(0, 100), body(1, 300), make.region(2, "text", make.lines(290, 770, [text])))
    assert (blocks[-1].label, blocks[-1].content_layer) == ("page_number", "furniture")


@pytest.mark.parametrize(("text", "y"), [("1992 and after", 770.0), ("12", 600.0), ("civil", 770.0)])
def test_other_text_and_other_places_are_no_page_number(text: str, y: float) -> None:
    blocks = scan(body(0, 100), body(1, 300), make.region(2, "text", make.lines(290, y, [text])))
    assert "page_number" not in [block.label for block in blocks]


def test_the_picture_of_the_whole_page_does_not_hold_its_number() -> None:
    picture = make.region(2, "picture", [], bbox=[15.0, 15.0, 580.0, 830.0])
    number = make.region(3, "text", make.lines(290, 790, ["iii"]))
    blocks = scan(body(0, 100), body(1, 300), picture, number)
    assert [b.label for b in blocks if b.text == "iii"] == ["page_number"]


# --- headings of scans ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size", "label"),
    [
        ("Results", 18.0, "section_header"),
        ("Results of the year", 14.0, "section_header"),
        ("Results of the year", 11.5, "text"),
        ("Results of the year.", 14.0, "text"),
        ("0", 18.0, "text"),
        ("Total of the year 12", 14.0, "text"),
    ],
)
def test_a_line_that_was_read_in_much_larger_type_is_a_heading(text: str, size: float, label: str) -> None:
    blocks = scan(make.region(0, "text", make.lines(60, 200, [text], size=size)), body(1, 240), body(2, 400))
    assert [b.label for b in blocks if b.text == text] == [label]


@pytest.mark.parametrize(("y", "label"), [(232.0, "caption"), (400.0, "section_header")])
def test_what_begins_like_a_caption_beside_its_picture_is_no_heading_of_a_scan(y: float, label: str) -> None:
    picture = make.region(0, "picture", [], bbox=[60.0, 60.0, 400.0, 230.0])
    blocks = scan(picture, make.region(1, "section_header", make.lines(60, y, ["図1 調査の方法"])), body(2, 450))
    assert [b.label for b in blocks if b.text.startswith("図1")] == [label]
