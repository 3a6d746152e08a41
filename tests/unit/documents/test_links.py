"""Links of a page: where, where to, and the characters under them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from shared.contracts.layout import LinkArea
from shared.documents import links
from shared.documents.frame import Frame
from shared.documents.limits import bounds_of
from shared.documents.page import PageCall
from shared.documents.pdf import PdfFile
from shared.settings import Limits

pytestmark = pytest.mark.unit


def document_of(*kinds: dict[str, Any], rotation: int = 0) -> Any:
    made = pymupdf.open()
    made.new_page(width=400, height=300)
    made.new_page()
    page = made[0]
    page.insert_text((50, 50), "Read the manual, then write to us.", fontsize=12)
    for kind in kinds:
        page.insert_link(kind)
    page.set_rotation(rotation)
    return pymupdf.open(stream=made.tobytes())


def on(words: str) -> pymupdf.Rect:
    with document_of() as document:
        return document[0].search_for(words)[0]


def found(tmp_path: Path, *kinds: dict[str, Any], rotation: int = 0, shown: int | None = None) -> list[LinkArea]:
    """Links of a page that has this rotation, opened as it is or `shown` at another."""
    with document_of(*kinds, rotation=rotation) as document:
        document.save(tmp_path / "links.pdf")
    call = PageCall(path="", mime_type="application/pdf", page_no=1, dpi=72, picture="none", rotation=shown)
    file = PdfFile(tmp_path / "links.pdf", None, bounds_of(Limits()))
    try:
        return file.open_page(call)[0].page.links
    finally:
        file.close()


def test_addresses_with_the_words_under_them(tmp_path: Path) -> None:
    areas = found(
        tmp_path,
        {"kind": pymupdf.LINK_URI, "from": on("the manual"), "uri": "https://example.org/a?b=1"},
        {"kind": pymupdf.LINK_URI, "from": on("write"), "uri": "mailto:us@example.org"},
    )
    assert {(one.text, one.uri) for one in areas} == {
        ("the manual", "https://example.org/a?b=1"),
        ("write", "mailto:us@example.org"),
    }
    assert [one.bbox for one in areas if one.text == "write"] == [pytest.approx(list(on("write")), abs=0.1)]


def test_pages_of_the_document(tmp_path: Path) -> None:
    (area,) = found(tmp_path, {"kind": pymupdf.LINK_GOTO, "from": on("manual"), "page": 1, "to": pymupdf.Point(0, 0)})
    assert (area.uri, area.text) == ("#page=2", "manual")


def test_programs_and_files_are_no_links(tmp_path: Path) -> None:
    assert found(tmp_path, {"kind": pymupdf.LINK_LAUNCH, "from": on("manual"), "file": "a.exe"}) == []
    assert found(tmp_path, {"kind": pymupdf.LINK_GOTOR, "from": on("manual"), "file": "b.pdf", "page": 0}) == []


@pytest.mark.parametrize("own", [0, 90, 180, 270])
@pytest.mark.parametrize("shown", [None, 0, 90, 180, 270])
def test_boxes_are_those_of_the_page_as_displayed(tmp_path: Path, own: int, shown: int | None) -> None:
    rect = on("manual")
    (area,) = found(
        tmp_path, {"kind": pymupdf.LINK_URI, "from": rect, "uri": "https://a.org"}, rotation=own, shown=shown
    )
    assert area.text == "manual"
    wanted = Frame(400, 300, own if shown is None else shown).box(list(rect))
    assert area.bbox == pytest.approx(wanted, abs=0.1)


def test_named_places_are_pages_and_places_that_are_not_there_are_none(tmp_path: Path) -> None:
    kinds = [{"kind": pymupdf.LINK_NAMED, "from": on("manual"), "name": name} for name in ("nowhere",)]
    assert found(tmp_path, *kinds) == []


def test_a_link_on_a_picture_has_no_words(tmp_path: Path) -> None:
    (area,) = found(
        tmp_path, {"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(10, 200, 90, 280), "uri": "https://a.org"}
    )
    assert area.text == ""


def test_more_than_the_most_and_longer_than_the_longest_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "MOST", 3)
    many = [{"kind": pymupdf.LINK_URI, "from": on("manual"), "uri": f"https://a.org/{n}"} for n in range(5)]
    assert len(found(tmp_path, *many)) == 3
    monkeypatch.setattr(links, "_MAX_URI", 12)
    assert found(tmp_path, {"kind": pymupdf.LINK_URI, "from": on("manual"), "uri": "https://a.org/long"}) == []
