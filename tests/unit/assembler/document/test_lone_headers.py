"""Pages on which nothing stands but what the layout took for a running header: it is their text (field reports B1, B12)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from services.assembler.document.furniture import separated
from shared.contracts.document import Block, Line, Page, Provenance
from shared.contracts.layout import ComposedPage

pytestmark = pytest.mark.unit


def page(number: int, *blocks: tuple[str, str, str]) -> ComposedPage:
    made = [
        Block(
            id=f"p{number:05d}-b{i:03d}",
            order=i,
            label=label,  # type: ignore[arg-type]
            raw_label=label,
            content_layer=layer,  # type: ignore[arg-type]
            text=text,
            prov=[Provenance(page_no=number, bbox=[50.0, 40.0 + 60 * i, 300.0, 52.0 + 60 * i])],
        )
        for i, (label, layer, text) in enumerate(blocks)
    ]
    known = Page(page_no=number, width=600.0, height=800.0, unit="pt", status="ok", kind="native")
    return ComposedPage(document_id="d", generation=0, page=known, blocks=made)


HEADER = ("page_header", "furniture", "Annual report 7")
BODY = ("text", "body", "There is something to say on this page.")
NUMBER = ("page_number", "furniture", "3")


def layers(pages: list[ComposedPage]) -> list[list[tuple[str, str]]]:
    return [[(b.label, b.content_layer) for b in one.blocks] for one in separated(pages)]


def test_all_that_is_on_the_only_page_is_its_text() -> None:
    assert layers([page(1, HEADER, NUMBER)]) == [[("text", "body"), ("page_number", "furniture")]]


def test_the_same_on_every_page_of_a_document_with_nothing_else() -> None:
    pages = [page(n, ("page_header", "furniture", f"Text of page {n}")) for n in (1, 2, 3, 4)]
    assert layers(pages) == [[("text", "body")]] * 4


def test_an_empty_page_between_full_ones_keeps_its_header() -> None:
    full = [page(n, HEADER, BODY) for n in (1, 3)]
    assert [layer for _, layer in layers([full[0], page(2, HEADER), full[1]])[1]] == ["furniture"]


def test_a_page_with_a_body_keeps_its_header() -> None:
    assert layers([page(1, HEADER, BODY)]) == [[("page_header", "furniture"), ("text", "body")]]


def test_pages_that_failed_are_left_alone() -> None:
    failed = replace(page(2), page=replace(page(2).page, status="failed"))
    assert separated([page(1, HEADER, BODY), failed])[1].blocks == []


def test_a_header_alone_on_its_page_is_no_footer() -> None:
    full = [page(n, HEADER, BODY) for n in (1, 3)]
    assert layers([full[0], page(2, HEADER), full[1]])[1] == [("page_header", "furniture")]


@pytest.mark.parametrize(
    ("size", "method", "layer"), [(9.0, "det_rec", "body"), (8.0, "det_rec", "furniture"), (9.0, "native", "furniture")]
)
def test_a_sender_at_the_top_of_a_letter_is_no_header_because_its_size_was_measured_a_little_small(
    size: float, method: str, layer: str
) -> None:
    letter = page(1, ("page_header", "furniture", "A. Sender, Lower Marsh"), ("text", "body", "Dear reader, " * 20))
    sender, text = letter.blocks
    place = replace(sender.prov[0], bbox=[400.0, 64.0, 500.0, 76.0])
    read = [
        replace(sender, prov=[place], font_size=size, method=method),
        replace(text, font_size=10.0, method=method),
    ]
    assert layers([replace(letter, blocks=read)])[0][0][1] == layer


@pytest.mark.parametrize(
    ("text", "top", "size", "layer"),
    [
        ("Annual report", 40.0, 8.0, "furniture"),
        ("Annual report", 40.0, 9.5, "body"),
        ("Annual report", 64.0, 8.0, "body"),
        ("1.2 Results", 40.0, 8.0, "body"),
    ],
)
def test_a_heading_in_the_top_margin_in_small_type_is_a_header(text: str, top: float, size: float, layer: str) -> None:
    made = page(1, ("section_header", "body", text), ("text", "body", "Some words of a text. " * 20))
    head, body = made.blocks
    box = [50.0, top, 300.0, top + 10.0]
    line = Line(bbox=box, text=text)
    head = replace(head, font_size=size, lines=[line], prov=[replace(head.prov[0], bbox=box)])
    assert layers([replace(made, blocks=[head, replace(body, font_size=10.0)])])[0][0][1] == layer


@pytest.mark.parametrize(
    ("text", "confidence", "y", "layer"),
    [
        ("い", 0.34, 760.0, "furniture"),
        ("い", None, 760.0, "body"),
        ("い", 0.34, 700.0, "body"),
        ("Appendix", 0.9, 760.0, "body"),
    ],
)
def test_a_sign_that_was_read_where_other_pages_have_their_number_is_one(
    text: str, confidence: float | None, y: float, layer: str
) -> None:
    """A small Roman number of a scan is read as anything."""
    first = page(1, ("text", "body", "It begins here."), ("text", "body", "i"))
    second = page(2, ("text", "body", "And it goes on."), ("text", "body", text))
    pages = [
        replace(
            one,
            blocks=[
                replace(one.blocks[0], prov=[_at(one, 400.0)]),
                replace(one.blocks[1], confidence=known, prov=[_at(one, place)]),
            ],
        )
        for one, known, place in ((first, 0.9, 760.0), (second, confidence, y))
    ]
    assert [block.content_layer for block in separated(pages)[1].blocks] == ["body", layer]


def _at(one: ComposedPage, y: float) -> Provenance:
    return Provenance(page_no=one.page.page_no, bbox=[50.0, y, 60.0, y + 12.0])


def test_a_running_header_right_above_a_table_is_not_its_caption() -> None:
    """So that the rest of a table, at the top of its page, is known as one."""
    pages = [page(n, HEADER, ("text", "body", text)) for n, text in enumerate(("One", "Another", "A third"), 1)]
    last = page(4, ("caption", "body", "Annual report 7"), ("table", "body", "a\tb"), BODY)
    caption, table, body = last.blocks
    tied = [replace(caption, parent_id=table.id), replace(table, caption_ids=[caption.id]), body]
    found = separated([*pages, replace(last, blocks=tied)])[3].blocks
    assert [(b.label, b.content_layer) for b in found[:2]] == [("page_header", "furniture"), ("table", "body")]
    assert (found[0].parent_id, found[1].caption_ids) == (None, [])
