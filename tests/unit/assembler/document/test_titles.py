"""Which heading is the title, and what is none."""

from __future__ import annotations

import pytest

from shared.contracts.document import Block, OutlineEntry
from shared.contracts.layout import Region
from tests.support import pages as make

pytestmark = pytest.mark.unit

FULL = ["a line of plain text that fills the width of its column well", "and a second one of the same length, too"]


def heads(*parts: tuple[str, str, float], outline: list[OutlineEntry] | None = None) -> list[tuple[str, int | None]]:
    """Label and level of the headings of one page of `(label, text, size)`, 40 points apart."""
    regions: list[Region] = []
    for index, (label, text, size) in enumerate(parts):
        lines = make.lines(60, 60 + 40 * index, [text] if label != "text" or text else FULL, size=size)
        regions.append(make.region(index, label, lines))  # type: ignore[arg-type]
    document, _ = make.document([make.page(make.layout(regions))], outline=outline or [])
    return [(b.label, b.level) for b in document.blocks if b.label in ("title", "section_header")]


def test_the_first_heading_is_the_title_when_it_is_the_largest() -> None:
    found = heads(
        ("section_header", "Annual report", 20), ("text", "", 10), ("section_header", "Results", 14), ("text", "", 10)
    )
    assert found == [("title", 0), ("section_header", 1)]


def test_unnumbered_above_numbered_of_the_same_size_is_the_title() -> None:
    found = heads(("section_header", "Report", 15), ("section_header", "1. Results", 15), ("text", "", 10))
    assert found == [("title", 0), ("section_header", 1)]


def test_among_headings_of_one_size_none_is_the_title() -> None:
    found = heads(
        ("section_header", "Means", 14), ("text", "", 10), ("section_header", "Results", 14), ("text", "", 10)
    )
    assert found == [("section_header", 1), ("section_header", 1)]


def test_a_heading_below_paragraphs_is_no_title() -> None:
    assert heads(("text", "", 10), ("section_header", "Subject", 15), ("text", "", 10)) == [("section_header", 1)]


def test_a_bookmark_says_that_it_is_a_section() -> None:
    outline = [OutlineEntry(level=1, title="Means", page_no=1)]
    assert heads(("section_header", "Means", 20), ("text", "", 10), outline=outline) == [("section_header", 1)]


def test_a_heading_in_the_type_of_the_text_is_text_where_others_are_set_apart() -> None:
    found = heads(
        ("section_header", "Report", 20),
        ("section_header", "Number 17 of the year", 10),
        ("text", "", 10),
        ("section_header", "Results", 14),
        ("text", "", 10),
    )
    assert found == [("title", 0), ("section_header", 1)]


def test_initials_are_no_heading() -> None:
    found = heads(("section_header", "Report", 20), ("section_header", "AW", 20), ("text", "", 10))
    assert found == [("title", 0)]


def test_type_alone_opens_no_level_without_its_parent() -> None:
    found = heads(
        ("title", "Report", 22),
        ("section_header", "About this", 12.2),
        ("section_header", "1 Means", 16),
        ("text", "", 10),
        ("section_header", "1.1 Places", 12),
        ("text", "", 10),
    )
    assert found == [("title", 0), ("section_header", 1), ("section_header", 1), ("section_header", 2)]


def test_the_entries_of_a_table_of_contents_are_no_headings() -> None:
    regions = [make.region(0, "text", make.lines(60, 300, FULL))]
    for index in range(3):
        y = 60 + 20 * index
        regions.append(make.region(2 * index + 1, "text", make.lines(60, y, [f"{index + 1} Results"], bold=True)))
        regions.append(make.region(2 * index + 2, "text", make.lines(500, y, [str(4 + index)])))
    blocks: list[Block] = make.page(make.layout(regions)).blocks
    assert "section_header" not in [block.label for block in blocks]


@pytest.mark.parametrize(("size", "label"), [(13.0, "section_header"), (10.0, "text")])
def test_a_numbered_heading_over_two_lines(size: float, label: str) -> None:
    lines = make.lines(60, 60, ["2.1 On the collection", "of the old town"], size=size, bold=size > 10)
    regions = [make.region(0, "text", lines), make.region(1, "text", make.lines(60, 120, FULL * 3))]
    assert make.page(make.layout(regions)).blocks[0].label == label


@pytest.mark.parametrize("number", ["示字〔2017〕8号", "国办发〔2024〕第 12 号", "京教(2019)101号"])
def test_the_number_of_an_official_paper_is_no_heading_and_its_subject_is_the_first(number: str) -> None:
    found = heads(
        ("title", "南屏区档案委员会文件", 23),
        ("section_header", number, 14),
        ("section_header", "关于组织实施的通知", 17.5),
        ("text", "", 13),
        ("section_header", "一、清水湾的铁路", 21),
        ("section_header", "（一）总体要求", 17),
        ("text", "", 13),
    )
    assert found == [("title", 0), ("section_header", 1), ("section_header", 1), ("section_header", 2)]


def test_numbers_of_headings_without_a_blank_before_han_and_kana_are_numbers() -> None:
    found = heads(
        ("section_header", "時刻表の管理", 16.6),
        ("section_header", "1.おもな結果", 15.6),
        ("text", "", 10),
        ("text", "2.まとめ", 16.9),
        ("text", "", 10),
        ("section_header", "3.東山市の測定結果", 16.4),
        ("section_header", "3.1.1收藏品的管理", 12),
        ("text", "3.5米以上", 12),
        ("text", "", 10),
    )
    assert found == [("title", 0), *[("section_header", level) for level in (1, 1, 1, 2)]], "levels are closed up"


def test_what_ends_like_a_chinese_or_japanese_sentence_is_no_heading_unless_it_has_a_number() -> None:
    found = heads(
        ("title", "報告", 20),
        ("section_header", "リも重要である。", 13),
        ("text", "", 10),
        ("section_header", "第一条 本規程は次のとおりとする。", 13),
        ("section_header", "まとめ", 13),
        ("text", "", 10),
    )
    assert [label for label, _ in found] == ["title", "section_header", "section_header"]
