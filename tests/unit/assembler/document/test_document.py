"""What needs more than one page: furniture, joins, sections, and the document as a whole."""

from __future__ import annotations

import random
from typing import Any

import pytest

from services.assembler.document.furniture import is_page_number
from shared.contracts.codec import encode
from shared.contracts.document import OutlineEntry, ParsedDocument
from shared.contracts.layout import ComposedPage, Region
from tests.support import pages as make

pytestmark = pytest.mark.unit

FULL = [
    "a line of plain text that fills the width of its column well",
    "and a second one of the same length that does so, too",
]


def page(number: int, *parts: tuple[str, float, list[str]], size: float = 10, **more: Any) -> ComposedPage:
    """A page of parts `(label, y, lines)` at x = 60."""
    regions: list[Region] = []
    for index, (label, y, texts) in enumerate(parts):
        tall = 16 if label in ("title", "section_header") else size
        regions.append(make.region(index, label, make.lines(60, y, texts, size=tall), page_no=number))  # type: ignore[arg-type]
    return make.page(make.layout(regions, number, **more), number)


def layers(document: ParsedDocument, layer: str) -> list[str]:
    return [block.text for block in document.blocks if block.content_layer == layer]


def test_running_matter_goes_to_the_furniture_and_a_real_heading_at_its_height_stays() -> None:
    pages = []
    for n in range(1, 11):
        parts = [
            ("text", 30, ["Annual report of the company"]),
            ("text", 200, FULL),
            ("text", 770, [f"Page {n} of 10"]),
        ]
        if n == 4:
            parts[0] = ("section_header", 30, ["2 Results"])
        pages.append(page(n, *parts))
    document, markdown = make.document(pages)
    assert layers(document, "furniture").count("Annual report of the company") == 9
    assert [block.text for block in document.blocks if block.label == "page_number"] == [
        f"Page {n} of 10" for n in range(1, 11)
    ]
    assert [block.label for block in document.blocks if block.text == "2 Results"] == ["section_header"]
    assert "Annual report" not in markdown
    assert "Page 3" not in markdown
    assert "## 2 Results" in markdown


def test_a_heading_that_the_layout_took_for_a_header_comes_back() -> None:
    pages = [page(n, ("page_header", 30, ["Annual report"]), ("text", 200, FULL)) for n in range(1, 6)]
    alone = make.region(0, "page_header", make.lines(60, 30, ["Results"], size=18), page_no=3)
    pages[2] = make.page(make.layout([alone, make.region(1, "text", make.lines(60, 200, FULL), page_no=3)], 3), 3)
    document, _ = make.document(pages)
    assert [(b.label, b.content_layer) for b in document.blocks if b.text == "Results"] == [("section_header", "body")]


def test_fields_that_recur_below_a_title_are_no_furniture() -> None:
    pages = [
        page(n, ("title", 60, ["Invoice"]), ("text", 95, [f"Number: {n}{n}"]), ("text", 300, FULL)) for n in range(1, 7)
    ]
    document, _ = make.document(pages)
    assert layers(document, "furniture") == []


def test_a_text_that_is_all_there_is_on_its_pages_is_no_furniture() -> None:
    document, markdown = make.document([page(n, ("text", 60, [f"PAGE-{n:02d}"])) for n in range(1, 6)])
    assert layers(document, "furniture") == []
    assert markdown == "".join(f"PAGE-{n:02d}\n\n" for n in range(1, 6))[:-1]


def test_a_page_number_need_not_recur_and_takes_its_row_along() -> None:
    notice = make.region(1, "text", make.lines(60, 770, ["Confidential"]))
    number = make.region(2, "text", make.lines(300, 770, ["Page 1"]))
    words = make.region(0, "text", make.lines(60, 200, FULL))
    document, _ = make.document([make.page(make.layout([words, notice, number]))])
    assert [(b.label, b.text) for b in document.blocks if b.content_layer == "furniture"] == [
        ("page_footer", "Confidential"),
        ("page_number", "Page 1"),
    ]


def test_different_heads_on_left_and_right_pages() -> None:
    pages = [page(n, ("text", 30, ["Left" if n % 2 else "Right"]), ("text", 200, FULL)) for n in range(1, 9)]
    document, _ = make.document(pages)
    assert sorted(set(layers(document, "furniture"))) == ["Left", "Right"]


@pytest.mark.parametrize(
    "text", ["12", "- 12 -", "Page 3", "Page 3 of 9", "3 / 9", "第 3 页", "第3页 共9页", "iv", "Seite 5"]
)
def test_page_numbers(text: str) -> None:
    assert is_page_number(text)


@pytest.mark.parametrize("text", ["Chapter 3", "2026年第3期 报告", "Confidential", "3 results", ""])
def test_what_is_no_page_number(text: str) -> None:
    assert not is_page_number(text)


def test_a_paragraph_goes_on_over_the_page_and_past_the_furniture() -> None:
    begun = [
        "this paragraph is cut by the end of the page because",
        "there was no more room on it and so the sentence will",
    ]
    rest = ["have to be read further on the next one until", "it ends."]
    pages = [
        page(1, ("text", 60, ["Something above it."]), ("text", 730, begun), ("page_footer", 780, ["1"])),
        page(2, ("page_header", 20, ["head"]), ("text", 60, rest), ("text", 120, ["Another paragraph."])),
    ]
    document, markdown = make.document(pages)
    block = next(b for b in document.blocks if b.text.startswith("this paragraph"))
    assert block.text == " ".join([*begun, *rest])
    assert [place.page_no for place in block.prov] == [1, 2]
    assert [block.text[slice(*(place.char_span or []))].strip() for place in block.prov] == [
        " ".join(begun),
        " ".join(rest),
    ]
    assert [line.page_no for line in block.lines] == [1, 1, 2, 2]
    assert "will have to be read" in markdown


def test_a_paragraph_that_ends_is_not_joined_to_the_next_page() -> None:
    ended = [
        "this paragraph fills its last line up to the end and there",
        "it ends with the sentence as it should on the one page.",
    ]
    pages = [page(1, ("text", 700, ended)), page(2, ("text", 60, ["lower case all the same", "but new."]))]
    document, _ = make.document(pages)
    assert len(document.blocks) == 2


def grid(page_no: int, y: float, rows: list[list[str]], region: int = 0) -> Region:
    lines = [
        line
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
        for line in make.lines(60 + 150 * c, y + 20 * r, [text], width=90)
    ]
    return make.region(region, "table", lines, page_no=page_no)


@pytest.mark.parametrize("header_again", [True, False])
def test_a_table_over_two_pages_is_one(header_again: bool) -> None:
    header = ["Name", "Size", "Price"]
    first = [header, *[[f"n{i}", f"s{i}", f"p{i}"] for i in range(10)]]
    second = [*([header] if header_again else []), *[[f"n{i}", f"s{i}", f"p{i}"] for i in range(10, 14)]]
    pages = [make.page(make.layout([grid(1, 560, first)])), make.page(make.layout([grid(2, 60, second)], 2), 2)]
    document, markdown = make.document(pages)
    [block] = document.blocks
    table = block.table
    assert table is not None
    assert (table.num_rows, table.num_cols) == (15, 3)
    assert [(part.page_no, part.rows) for part in table.parts] == [(1, [0, 11]), (2, [11, 15])]
    assert [place.page_no for place in block.prov] == [1, 2]
    assert {cell.page_no for cell in table.cells if cell.row > 10} == {2}
    assert sum(cell.column_header for cell in table.cells) == 3
    assert markdown.count("| Name |") == 1
    assert document.totals.tables == 1


def test_two_tables_with_text_between_stay_two() -> None:
    rows = [["a", "b"], ["c", "d"]]
    between = make.region(1, "text", make.lines(60, 60, ["Between."]), page_no=2)
    pages = [make.page(make.layout([grid(1, 700, rows)])), make.page(make.layout([between, grid(2, 100, rows)], 2), 2)]
    assert make.document(pages)[0].totals.tables == 2


def levels(document: ParsedDocument) -> list[tuple[str, int | None]]:
    return [(block.text, block.level) for block in document.blocks if block.label in ("title", "section_header")]


def headings(*heads: tuple[str, float], title: str | None = None) -> list[ComposedPage]:
    regions = [make.region(0, "title", make.lines(60, 40, [title], size=24))] if title else []
    for index, (text, size) in enumerate(heads, 1):
        regions.append(make.region(2 * index, "section_header", make.lines(60, 60 + 60 * index, [text], size=size)))
        regions.append(make.region(2 * index + 1, "text", make.lines(60, 90 + 60 * index, [f"Text {index}."])))
    return [make.page(make.layout(regions))]


def test_levels_by_number() -> None:
    document, _ = make.document(
        headings(("1 One", 12), ("1.1 Two", 12), ("1.1.1 Three", 12), ("2 Four", 12), title="The title")
    )
    assert levels(document) == [("The title", 0), ("1 One", 1), ("1.1 Two", 2), ("1.1.1 Three", 3), ("2 Four", 1)]


def test_levels_of_chinese_divisions() -> None:
    document, _ = make.document(
        headings(("第一章 总则", 14), ("第一节 范围", 12), ("第一条 目的", 12), ("第二章 附则", 14))
    )
    assert [level for _, level in levels(document)] == [1, 2, 3, 1]
    document, _ = make.document(headings(("一、概述", 14), ("(一) 背景", 12), ("二、方法", 14)))
    assert [level for _, level in levels(document)] == [1, 2, 1]


def test_levels_by_size_where_nothing_else_is_known_and_beside_numbers() -> None:
    document, _ = make.document(headings(("Large", 18), ("Small", 12), ("Large again", 18)))
    assert [level for _, level in levels(document)] == [1, 2, 1]
    document, _ = make.document(headings(("1 One", 16), ("1.1 Two", 13), ("References", 16)))
    assert [level for _, level in levels(document)] == [1, 2, 1]


def test_bookmarks_decide_first() -> None:
    outline = [OutlineEntry(level=1, title="Large", page_no=1), OutlineEntry(level=3, title="Small", page_no=1)]
    document, _ = make.document(headings(("Large", 18), ("Small", 12)), outline=outline)
    assert [level for _, level in levels(document)] == [1, 2]
    assert document.outline == outline


def test_sections_own_what_follows_with_their_pages() -> None:
    pages = [
        page(
            1,
            ("text", 60, ["Before any heading."]),
            ("section_header", 200, ["1 One"]),
            ("text", 300, ["In one."]),
            ("section_header", 700, ["1.1 Below"]),
        ),
        page(2, ("text", 60, ["In below, on the next page."]), ("section_header", 300, ["2 Two"])),
    ]
    document, _ = make.document(pages)
    first, one, two = document.sections
    assert (first.id, first.title, first.level, len(first.block_ids)) == ("s0", "", 0, 1)
    assert (one.title, one.page_start, one.page_end) == ("1 One", 1, 2)
    [below] = one.children
    assert (below.title, below.level, below.page_start, below.page_end) == ("1.1 Below", 2, 1, 2)
    assert two.children == []
    owner = {block.text: block.section_id for block in document.blocks}
    assert owner["In below, on the next page."] == below.id
    assert owner["1 One"] == one.id


def test_pages_may_come_in_any_order_and_give_the_same_bytes() -> None:
    pages = [page(n, ("text", 30, ["Head"]), ("text", 100 + n, [*FULL, f"{n}"])) for n in range(1, 9)]
    first, _ = make.document(pages)
    random.Random(3).shuffle(pages)
    assert encode(make.document(pages)[0]) == encode(first)


def test_what_is_not_there_is_listed() -> None:
    document, _ = make.document([page(2, ("text", 60, ["two"]))], 4, selected="2-4", unfinished="4")
    assert [p.status for p in document.pages] == ["skipped", "ok", "failed", "failed"]
    assert [(e.page_no, e.code) for e in document.errors] == [(3, "internal"), (4, "timeout")]
    assert document.status == "partial_success"
    assert document.totals.pages_ok == 1


def test_a_document_without_pages_is_a_success() -> None:
    document, markdown = make.document([], 0)
    assert (document.status, document.pages, document.sections, markdown) == ("success", [], [], "")


def test_times_are_those_of_the_inspection_and_the_given_clock() -> None:
    document, _ = make.document([page(1, ("text", 60, ["x"]))])
    assert (document.timings.queue_s, document.timings.ingest_s, document.timings.total_s) == (1.0, 1.0, 102.0)


def test_on_an_only_page_the_place_alone_makes_no_header() -> None:
    sender = make.region(0, "page_header", make.lines(400, 70, ["E. Marlowe, Eastbury"]))
    words = make.region(1, "text", make.lines(60, 200, FULL))
    document, markdown = make.document([make.page(make.layout([sender, words]))])
    assert layers(document, "furniture") == []
    assert "E. Marlowe" in markdown


@pytest.mark.parametrize(("y", "size"), [(70.0, 8.0), (36.0, 10.0)], ids=["smaller type", "in the margin"])
def test_on_an_only_page_smaller_type_or_the_margin_does(y: float, size: float) -> None:
    head = make.region(0, "page_header", make.lines(60, y, ["Annual report"], size=size))
    words = make.region(1, "text", make.lines(60, 200, FULL))
    document, _ = make.document([make.page(make.layout([head, words]))])
    assert layers(document, "furniture") == ["Annual report"]


def test_a_header_in_larger_type_is_a_heading_on_an_only_page_too() -> None:
    head = make.region(0, "page_header", make.lines(60, 40, ["Results"], size=16))
    words = make.region(1, "text", make.lines(60, 200, FULL))
    document, _ = make.document([make.page(make.layout([head, words]))])
    assert [(b.label, b.content_layer) for b in document.blocks if b.text == "Results"] == [("title", "body")]


@pytest.mark.parametrize(("y", "layer"), [(775, "furniture"), (640, "body")])
def test_a_number_at_the_very_edge_is_the_pages_whatever_it_counts_from(y: float, layer: str) -> None:
    words = make.region(0, "text", make.lines(60, 200, FULL))
    number = make.region(1, "text", make.lines(300, y, ["- 98 -"]))
    document, _ = make.document([make.page(make.layout([words, number]))])
    assert [b.content_layer for b in document.blocks if b.text == "- 98 -"] == [layer]


def test_a_bookmark_knows_its_heading_whatever_number_is_printed() -> None:
    outline = [OutlineEntry(level=1, title="Means", page_no=1), OutlineEntry(level=3, title="Places", page_no=1)]
    document, _ = make.document(headings(("7 Means", 14), ("7.1 Places", 12), ("7.2 Times", 12)), outline=outline)
    assert [level for _, level in levels(document)] == [1, 3, 2]
