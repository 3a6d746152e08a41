"""Lines and words stand where the document says, and inside their boxes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docfleet.exporters.placed import PlacedLine, placed, words
from shared.contracts.document import Provenance
from shared.contracts.errors import DocfleetError
from shared.contracts.tables import table_of
from tests.support.parsed import block, cell, document, everything, page

pytestmark = pytest.mark.unit


def test_what_is_seen_is_on_its_page_in_reading_order() -> None:
    pages = placed(everything()[0])
    assert [one.page.page_no for one in pages] == [1, 2]
    labels = [b.block.label for b in pages[1].blocks]
    assert labels == [
        "table",
        "footnote",
        "table",
        "checkbox",
        "form_field",
        "seal",
        "reference",
        "aside_text",
        "page_footer",
        "page_number",
    ]
    assert [line.text for line in pages[0].blocks[3].lines] == ["Fish swim in the sea.", "Chips do not; “they” sink."]
    assert pages[0].blocks[7].lines[0].vertical


def test_a_table_over_two_pages_has_each_cell_on_its_own() -> None:
    pages = placed(everything()[0])
    tables = [next(b for b in one.blocks if b.block.table is not None) for one in pages]
    assert [line.text for line in tables[0].lines][:3] == ["Name", "Count", "r1 c0 & <b>"]
    assert [line.text for line in tables[1].lines] == [f"r{r} c{c} & <b>" for r in (3, 4) for c in (0, 1)]


def test_a_text_without_lines_is_spread_over_its_box() -> None:
    given_ = block(0, "text", "one\n\ntwo", lines=[])
    lines = placed(document([given_], [page(1)])[0])[0].blocks[0].lines
    assert [(line.text, line.box[1], line.box[3]) for line in lines] == [("one", 20.0, 38.0), ("two", 38.0, 56.0)]


def test_of_a_text_on_two_pages_each_has_its_own_part() -> None:
    places = [
        Provenance(page_no=n, bbox=[0.0, 0.0, 10.0, 10.0], char_span=span) for n, span in ((1, [0, 5]), (2, [6, 10]))
    ]
    pages = placed(document([block(0, "text", "first last", lines=[], prov=places)])[0])
    assert [one.blocks[0].lines[0].text for one in pages] == ["first", "last"]


def test_a_document_without_places_is_refused() -> None:
    flow, _ = document([block(0, "text", "words", prov=[Provenance(page_no=1)])], [page(1, unit=None)])
    with pytest.raises(DocfleetError, match="no places"):
        placed(flow)


@given(st.text(min_size=1, max_size=40).filter(str.strip), st.booleans())
def test_words_share_the_box_in_order(text: str, vertical: bool) -> None:
    line = PlacedLine([10.0, 20.0, 110.0, 220.0], text, vertical=vertical)
    found = list(words(line))
    assert [word for word, _ in found] == text.split()
    ends = [(box[1], box[3]) if vertical else (box[0], box[2]) for _, box in found]
    low, high = (20.0, 220.0) if vertical else (10.0, 110.0)
    flat = [value for pair in ends for value in pair]
    assert flat == sorted(flat)
    assert low <= flat[0]
    assert flat[-1] <= high + 1e-9


def test_cells_without_boxes_say_nothing_about_places() -> None:
    table = table_of([cell(0, 0, "a")])
    bare = table_of([type(c)(row=c.row, col=c.col, text=c.text) for c in table.cells])
    assert placed(document([block(0, "table", "", table=bare)], [page(1)])[0])[0].blocks[0].lines == []
