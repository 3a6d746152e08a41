"""Links of a page: where, where to, and the characters under them."""

from __future__ import annotations

from typing import Any

import pymupdf
import pytest

from shared.contracts.layout import LinkArea
from shared.documents import links
from shared.documents.frame import Frame

pytestmark = pytest.mark.unit


def document_of(*kinds: dict[str, Any]) -> Any:
    made = pymupdf.open()
    made.new_page(width=400, height=300)
    made.new_page()
    page = made[0]
    page.insert_text((50, 50), "Read the manual, then write to us.", fontsize=12)
    for kind in kinds:
        page.insert_link(kind)
    return pymupdf.open(stream=made.tobytes())


def on(words: str) -> pymupdf.Rect:
    with document_of() as document:
        return document[0].search_for(words)[0]


def found(*kinds: dict[str, Any], rotation: int = 0) -> list[LinkArea]:
    with document_of(*kinds) as document:
        return links.links_of(document[0], Frame(400, 300, rotation))


def test_addresses_with_the_words_under_them() -> None:
    areas = found(
        {"kind": pymupdf.LINK_URI, "from": on("the manual"), "uri": "https://example.org/a?b=1"},
        {"kind": pymupdf.LINK_URI, "from": on("write"), "uri": "mailto:us@example.org"},
    )
    assert {(one.text, one.uri) for one in areas} == {
        ("the manual", "https://example.org/a?b=1"),
        ("write", "mailto:us@example.org"),
    }
    assert [one.bbox for one in areas if one.text == "write"] == [pytest.approx(list(on("write")), abs=0.1)]


def test_pages_of_the_document() -> None:
    (area,) = found({"kind": pymupdf.LINK_GOTO, "from": on("manual"), "page": 1, "to": pymupdf.Point(0, 0)})
    assert (area.uri, area.text) == ("#page=2", "manual")


def test_programs_and_files_are_no_links() -> None:
    assert found({"kind": pymupdf.LINK_LAUNCH, "from": on("manual"), "file": "a.exe"}) == []
    assert found({"kind": pymupdf.LINK_GOTOR, "from": on("manual"), "file": "b.pdf", "page": 0}) == []


def test_boxes_are_those_of_the_page_as_displayed() -> None:
    rect = on("manual")
    (area,) = found({"kind": pymupdf.LINK_URI, "from": rect, "uri": "https://a.org"}, rotation=90)
    assert area.bbox == pytest.approx([300 - rect.y1, rect.x0, 300 - rect.y0, rect.x1], abs=0.1)
    assert area.text == "manual"


def test_a_link_on_a_picture_has_no_words() -> None:
    (area,) = found({"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(10, 200, 90, 280), "uri": "https://a.org"})
    assert area.text == ""


def test_more_than_the_most_and_longer_than_the_longest_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST", 3)
    many = [{"kind": pymupdf.LINK_URI, "from": on("manual"), "uri": f"https://a.org/{n}"} for n in range(5)]
    assert len(found(*many)) == 3
    monkeypatch.setattr(links, "_MAX_URI", 12)
    assert found({"kind": pymupdf.LINK_URI, "from": on("manual"), "uri": "https://a.org/long"}) == []
