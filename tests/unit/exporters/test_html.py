"""The view is one page that loads nothing, shows every text as text, and is right in what it says."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from docfleet.exporters.html import html
from shared.contracts.document import Link, ParsedDocument
from tests.support.parsed import block, document, documents, everything, page

pytestmark = pytest.mark.unit
# fmt: off
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "h4", "h5", "h6", "p",
    "details", "summary", "ul", "li", "a", "main", "section", "div", "svg", "rect", "image", "span", "pre",
    "code", "br", "table", "tr", "td", "th", "script",
}
# fmt: on
VOID = {"meta", "br"}


class Page(HTMLParser):
    """What a browser makes of it: elements, text by block, pairs of opening and closing tags."""

    def __init__(self, data: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: dict[str, str] = {}
        self.inside: str | None = None
        self.raw: dict[str, str] = {}
        self.feed(data.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        self.attributes += [(tag, name, value) for name, value in attrs]
        classes = dict(attrs).get("class") or ""
        if "block" in classes.split():
            self.inside = dict(attrs)["data-block"]
            self.text[self.inside or ""] = ""
            self.depth = len(self.open)
        if tag == "br" and self.inside:
            self.text[self.inside] += "\n"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("rect", "image")
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if self.inside is not None and len(self.open) == self.depth:
            self.inside = None

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            self.raw[self.open[-1]] = self.raw.get(self.open[-1], "") + data
        elif self.inside is not None:
            self.text[self.inside] += data


def plain(text: str) -> str:
    """As the view writes it: controls that HTML lacks replaced, `\\r` among them."""
    return "".join(c if c in "\n\t" or not (ord(c) < 32 or 127 <= ord(c) < 160) else "\ufffd" for c in text)


@settings(max_examples=80)
@given(documents())
def test_any_text_is_shown_as_text(made: tuple[ParsedDocument, str]) -> None:
    parsed, _ = made
    seen = Page(html(parsed, {}))
    assert set(seen.text) == {b.id for b in parsed.blocks}
    for b in parsed.blocks:
        shown = seen.text[b.id]
        if b.table is not None:
            assert shown == "".join(plain(c.text) for c in b.table.cells)
        elif b.label == "list_item" and b.content_layer == "body":
            left = plain(b.text).split()
            assert "".join(left).endswith("".join(shown.removeprefix("• ").split())[-1:] if shown.strip() else "")
        elif b.label != "code" and b.latex:
            assert shown == plain(b.latex)
        else:
            assert shown.removeprefix(f"[{b.label}]").strip() == plain(b.text).strip()


def test_nothing_is_loaded_and_only_what_is_named_runs() -> None:
    parsed, _ = everything()
    data = html(parsed, {1: b"\xff\xd8 no picture at all"})
    seen = Page(data)
    loads = [value or "" for tag, name, value in seen.attributes if name in ("href", "src", "action") and tag != "a"]
    assert loads
    assert all(load.startswith("data:image/jpeg;base64,") for load in loads)
    assert not [name for _, name, _ in seen.attributes if name.startswith("on") or name == "style"]
    policy = next(
        value or "" for tag, name, value in seen.attributes if tag == "meta" and "default-src" in (value or "")
    )
    for element in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(seen.raw[element].encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_boxes_and_texts_belong_together() -> None:
    parsed, _ = everything()
    seen = Page(html(parsed, {}))
    names = [value for tag, name, value in seen.attributes if tag == "rect" and name == "data-block"]
    assert sorted(set(names)) == sorted(b.id for b in parsed.blocks)
    assert names.count("p00001-b008") == 2, "the table stands on two pages"
    assert b'viewBox="0 0 600 800"' in html(parsed, {})
    big, small = names.index("p00001-b008"), names.index("p00001-b010")
    assert big < small, "the smaller box is on top"


def test_structure_is_elements() -> None:
    text = html(everything()[0], {}).decode()
    assert re.search(r"<h2 [^>]*is-title[^>]*>Fish &amp; chips &lt;2026&gt;</h2>", text)
    assert re.search(r"<h3 [^>]*is-section_header[^>]*>1 Fish</h3>", text)
    assert text.count("<table>") == 2
    assert '<td colspan="2">both</td>' in text
    assert '<a href="#p00001-b006">1.1 河豚</a>' in text
    assert "not visible on the page (1)" in text
    assert "notes (1)" in text


def test_only_links_that_are_safe_to_follow_can_be_followed() -> None:
    uris = [
        'https://a.org/?b=1&c="2',
        "javascript:alert(1)",
        "#page=3",
        " JAVASCRIPT:x",
        "data:text/html,x",
        "mailto:a@b.org",
    ]
    uris += ["https://a.org/\nx", "file:///etc/passwd", "#page=3x", "//a.org"]
    for label in ("text", "list_item", "section_header"):
        links = [Link(start=2 * i, end=2 * i + 1, uri=uri) for i, uri in enumerate(uris)]
        text = " ".join("abcdefghij"[: len(uris)])
        seen = Page(html(document([block(0, label, text, links=links)], [page(1)])[0], {}))  # type: ignore[arg-type]
        found = [value for tag, name, value in seen.attributes if tag == "a" and name == "href"]
        assert [one for one in found if one != "#p00001-b000"] == [
            'https://a.org/?b=1&c="2',
            "#page-3",
            "mailto:a@b.org",
        ]
        assert seen.text["p00001-b000"].removeprefix("• ") == text


def test_items_of_a_list_in_a_list_are_further_in() -> None:
    text = html(document([block(0, "list_item", "a", level=0), block(1, "list_item", "b", level=2)])[0], {}).decode()
    assert 'class="block is-list_item" data-block="p00001-b000"' in text
    assert 'class="block is-list_item l2" data-block="p00001-b001"' in text


def test_a_page_without_places_has_no_sheet() -> None:
    flow, _ = document([block(0, "text", "words")], [page(1, unit=None, width=0.0, height=0.0)])
    assert b"<svg" not in html(flow, {})
