"""What holds for every document: the order and number of events means nothing, every character has one writer, boxes stay on their page."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.assembler.document import markdown
from shared.contracts.codec import encode
from shared.contracts.document import ParsedDocument
from shared.contracts.layout import ComposedPage, PageLayout, Region
from tests.support import pages as make

pytestmark = pytest.mark.unit

TEXTS = (
    "Annual report",
    "2 Results",
    "a line of plain text that goes on and on until the end of its column",
    "and one more that is cut by what",
    "follows below, in lower case and to the end.",
    "• an item",
    "1. first",
    "2. second",
    "测量结果的费用每月不超过316元",
    "正常使用。",
    "It fell.1",
    "1 A note.",
    "| x | *y* # z",
    "Table 1: Costs",
)
LABELS = ("text", "text", "text", "section_header", "title", "list_item", "footnote", "table", "caption", "aside_text")


@st.composite
def layouts(draw: st.DrawFn) -> list[PageLayout]:
    """Two to six pages with a running head, a page number and regions in one or two columns."""
    found = []
    total = draw(st.integers(2, 6))
    head = draw(st.booleans())
    for number in range(1, total + 1):
        regions: list[Region] = []

        def add(label: str, x: float, y: float, texts: list[str], size: float = 10.0, n: int = number) -> None:
            lines = make.lines(x, y, texts, size=size)
            found_in: list[Region] = regions  # noqa: B023
            found_in.append(make.region(len(found_in), label, lines, page_no=n))  # type: ignore[arg-type]

        if head:
            add("text", 60, 30, [f"Report of {1990 + number}"], 8)
        columns = draw(st.sampled_from([(60.0,), (60.0, 330.0)]))
        for x in columns:
            y = 80.0
            for _ in range(draw(st.integers(0, 4))):
                texts = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4))
                add(draw(st.sampled_from(LABELS)), x, y, texts, draw(st.sampled_from([8.0, 10.0, 10.0, 14.0])))
                y += 14 * len(texts) + draw(st.integers(2, 60))
        add("page_number", 290, 770, [str(number)])
        found.append(make.layout(regions, number))
    return found


def written(pages: list[ComposedPage], total: int) -> tuple[ParsedDocument, str]:
    return make.document(pages, total)


@settings(max_examples=20)
@given(layouts(), st.randoms(use_true_random=False))
def test_pages_in_any_order_and_number_give_the_same_bytes(given_pages: list[PageLayout], shuffle: Any) -> None:
    total = len(given_pages)
    pages = [make.page(layout, number) for number, layout in enumerate(given_pages, 1)]
    document, text = written(pages, total)
    mixed = [*pages, *pages[: total // 2]]
    shuffle.shuffle(mixed)
    again, same = written(mixed, total)
    assert encode(again) == encode(document)
    assert same == text


@settings(max_examples=20)
@given(layouts(), st.integers(1, 5))
def test_any_slicing_gives_the_same_document(given_pages: list[PageLayout], size: int) -> None:
    """Slices are composed by other processes, regions and readings in any order: a page knows nothing of its neighbours."""
    total = len(given_pages)
    whole, text = written([make.page(layout, number) for number, layout in enumerate(given_pages, 1)], total)
    pieces: list[ComposedPage] = []
    for start in reversed(range(0, total, size)):
        for number in range(start + 1, min(total, start + size) + 1):
            layout = given_pages[number - 1]
            regions = list(layout.regions)
            random.Random(number).shuffle(regions)
            pieces.append(make.page(make.layout(regions, number), number))
    sliced, same = written(pieces, total)
    assert encode(sliced) == encode(whole)
    assert same == text


@settings(max_examples=20)
@given(layouts())
def test_every_character_has_one_writer_and_every_box_its_page(given_pages: list[PageLayout]) -> None:
    pages = [make.page(layout, number) for number, layout in enumerate(given_pages, 1)]
    document, text = written(pages, len(pages))
    at = 0
    known = {block.id for block in document.blocks}
    for span in document.markdown.spans:
        assert span.block_id in known
        assert not text[at : span.start].strip()
        assert at <= span.start < span.end <= len(text)
        at = span.end
    assert not text[at:].strip()
    shown = {span.block_id for span in document.markdown.spans}
    for block in document.blocks:
        if block.content_layer == "body" and markdown.rendered(block):
            assert block.id in shown
        for place in block.prov:
            page = document.pages[place.page_no - 1]
            boxes = [
                place.bbox,
                *(line.bbox for line in block.lines if (line.page_no or place.page_no) == place.page_no),
            ]
            for box in boxes:
                assert box is None or (0 <= box[0] <= box[2] <= page.width and 0 <= box[1] <= box[3] <= page.height)
    owners = [block_id for section in document.sections for block_id in _owned(section)]
    assert len(owners) == len(set(owners))
    assert set(owners) == {block.id for block in document.blocks if block.content_layer == "body"}


def _owned(section: Any) -> list[str]:
    return [*section.block_ids, *(block_id for child in section.children for block_id in _owned(child))]
