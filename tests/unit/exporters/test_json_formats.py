"""docling, MinerU and Unstructured: the structure each asks for. docling-core itself loads them in tests/integration/exporters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from docfleet.exporters.common import marked
from docfleet.exporters.content_list import content_list
from docfleet.exporters.docling import docling
from docfleet.exporters.elements import elements
from shared.contracts.codec import encode
from shared.contracts.document import Link, ParsedDocument
from tests.support.parsed import block, document, documents, everything, page

pytestmark = pytest.mark.unit
ANY = settings(max_examples=60)
KINDS = ("texts", "pictures", "tables", "groups")


def tree(made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every item by its pointer, after checking that parents and children agree and each item hangs in the tree once."""
    items = {item["self_ref"]: item for kind in KINDS for item in made[kind]}
    for kind in KINDS:
        assert [item["self_ref"] for item in made[kind]] == [f"#/{kind}/{i}" for i in range(len(made[kind]))]
    reached = []
    todo = [made["body"]]
    while todo:
        item = todo.pop()
        for reference in item["children"]:
            child = items[reference["$ref"]]
            assert child["parent"] == {"$ref": item["self_ref"]}
            reached.append(child["self_ref"])
            todo.append(child)
    assert sorted(reached) == sorted(items)
    return items


@ANY
@given(documents())
def test_docling_has_every_block_once(made: tuple[ParsedDocument, str]) -> None:
    parsed, _ = made
    exported = docling(parsed)
    encode(exported)
    items = tree(exported)
    count = sum(not item["self_ref"].startswith("#/groups") for item in items.values())
    words = sum(b.label == "picture" and b.table is None and bool(b.text.strip()) for b in parsed.blocks)
    assert count == len(parsed.blocks) + words


def test_docling_of_everything() -> None:
    made = docling(everything()[0])
    items = tree(made)
    labels = [items[child["$ref"]]["label"] for child in made["body"]["children"]]
    assert labels[:6] == ["page_header", "title", "section_header", "text", "list", "section_header"]
    table = made["tables"][0]
    assert [items[ref["$ref"]]["text"] for ref in table["captions"]] == ["Table 1: what there is"]
    assert [items[ref["$ref"]]["text"] for ref in table["footnotes"]] == ["1 Counted twice."]
    assert (table["data"]["num_rows"], table["data"]["num_cols"], len(table["data"]["table_cells"])) == (5, 2, 10)
    assert [place["page_no"] for place in table["prov"]] == [1, 2]
    items_ = [(t["marker"], t["text"], t["enumerated"]) for t in made["texts"] if t["label"] == "list_item"]
    assert items_ == [("•", "salt", False), ("2.", "vinegar", True)]
    assert {t["label"] for t in made["texts"]} >= {"checkbox_selected", "formula", "code", "footnote", "reference"}
    assert next(t for t in made["texts"] if t["label"] == "formula")["text"] == "x^2 < 3"
    number = next(t for t in made["texts"] if t["text"] == "2")
    assert (number["label"], number["content_layer"]) == ("page_header", "furniture"), "it stands in the upper half"
    assert {t["content_layer"] for t in made["texts"]} == {"body", "furniture", "invisible", "notes"}
    ticked = next(t for t in made["texts"] if t["label"] == "checkbox_selected")
    assert (ticked["orig"], ticked["text"]) == ("☑ agreed", "agreed")
    assert made["origin"]["binary_hash"] == 0xABABABABABABABAB
    assert made["pages"]["2"] == {"size": {"width": 600.0, "height": 800.0}, "page_no": 2}


def test_docling_survives_captions_in_a_ring() -> None:
    blocks = [
        block(0, "caption", "a", caption_ids=["p00001-b001"]),
        block(1, "caption", "b", caption_ids=["p00001-b000"]),
    ]
    assert len(tree(docling(document(blocks)[0]))) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("• a", ("•", "a", False)),
        ("•a", ("•", "a", False)),
        ("- a", ("-", "a", False)),
        ("-5 degrees", ("", "-5 degrees", False)),
        ("12. a", ("12.", "a", True)),
        ("(3) a", ("(3)", "a", True)),
        ("b) a", ("b)", "a", True)),
        ("③ a", ("③", "a", True)),
        ("一、不", ("", "一、不", False)),
        ("3.5 kg", ("", "3.5 kg", False)),
        ("", ("", "", False)),
    ],
)
def test_markers(text: str, found: tuple[str, str, bool]) -> None:
    assert marked(text) == found


TEXT_TYPES = {"text", "header", "footer", "page_number", "aside_text", "page_footnote"}


@ANY
@given(documents())
def test_content_list_entries_are_as_mineru_has_them(made: tuple[ParsedDocument, str]) -> None:
    for entry in content_list(made[0]):
        kind = entry["type"]
        assert isinstance(entry["page_idx"], int)
        assert entry["page_idx"] >= 0
        if "bbox" in entry:
            x0, y0, x1, y1 = entry["bbox"]
            assert all(isinstance(value, int) for value in entry["bbox"])
            assert 0 <= x0 <= x1 <= 1000
            assert 0 <= y0 <= y1 <= 1000
        if kind in TEXT_TYPES:
            assert entry["text"]
        elif kind == "list":
            assert entry["sub_type"] in ("text", "ref_text")
            assert all(entry["list_items"])
        elif kind == "table":
            assert entry["table_body"].startswith("<table>")
        else:
            assert kind in ("image", "equation", "code")


def test_content_list_of_everything() -> None:
    made = content_list(everything()[0])
    assert [(e["type"], e["page_idx"]) for e in made] == [
        ("header", 0),
        ("text", 0),
        ("text", 0),
        ("text", 0),
        ("list", 0),
        ("text", 0),
        ("text", 0),
        ("table", 0),
        ("image", 0),
        ("equation", 0),
        ("code", 0),
        ("table", 1),
        ("text", 1),
        ("text", 1),
        ("image", 1),
        ("list", 1),
        ("aside_text", 1),
        ("footer", 1),
        ("page_number", 1),
    ]
    assert [e.get("text_level") for e in made[1:4]] == [1, 1, None]
    assert made[4]["list_items"] == ["• salt", "2. vinegar"]
    assert (made[7]["table_caption"], made[7]["table_footnote"]) == (["Table 1: what there is"], ["1 Counted twice."])
    assert made[8]["image_caption"] == ["Figure 1: a door"]
    assert made[1]["bbox"] == [83, 75, 916, 120]


@ANY
@given(documents())
def test_elements_are_as_unstructured_has_them(made: tuple[ParsedDocument, str]) -> None:
    found = elements(made[0])
    ids = [one["element_id"] for one in found]
    assert len(set(ids)) == len(ids)
    for one in found:
        assert set(one) == {"type", "element_id", "text", "metadata"}
        assert one["metadata"].get("parent_id") in (None, *ids)
        assert None not in one["metadata"].values()


def test_elements_of_everything() -> None:
    parsed, _ = everything()
    found = elements(parsed)
    assert [one["type"] for one in found] == [
        "Header",
        "Title",
        "Title",
        "NarrativeText",
        "ListItem",
        "ListItem",
        "Title",
        "NarrativeText",
        "Table",
        "FigureCaption",
        "Image",
        "FigureCaption",
        "Formula",
        "CodeSnippet",
        "Footer",
        "Table",
        "UncategorizedText",
        "UncategorizedText",
        "Image",
        "NarrativeText",
        "UncategorizedText",
        "Footer",
        "PageNumber",
    ]
    title, fish, text = (found[i] for i in (1, 2, 3))
    assert (fish["metadata"]["parent_id"], text["metadata"]["parent_id"]) == (title["element_id"], fish["element_id"])
    assert [one["metadata"]["category_depth"] for one in (title, fish, found[6])] == [0, 1, 2]
    assert found[8]["metadata"]["text_as_html"].startswith("<table><tr><th>Name</th>")
    assert text["metadata"]["coordinates"] == {
        "points": [[50.0, 140.0], [50.0, 176.0], [550.0, 176.0], [550.0, 140.0]],
        "system": "PixelSpace",
        "layout_width": 600.0,
        "layout_height": 800.0,
    }


def test_links() -> None:
    whole = block(0, "text", "our site", links=[Link(start=0, end=8, uri="https://example.org/")])
    part = block(1, "text", "see our site", links=[Link(start=4, end=12, uri="https://example.org/")])
    bad = block(2, "text", "run", links=[Link(start=0, end=3, uri="javascript:x")])
    parsed, _ = document([whole, part, bad])
    assert [text.get("hyperlink") for text in docling(parsed)["texts"]] == ["https://example.org/", None, None]
    metadata = [one["metadata"] for one in elements(parsed)]
    assert [one.get("link_texts") for one in metadata] == [["our site"], ["our site"], None]
    assert metadata[0]["link_urls"] == ["https://example.org/"]


def test_documents_without_places_have_all_their_text() -> None:
    flow, _ = document([block(0, "text", "words")], [page(1, unit=None, width=0.0, height=0.0)])
    assert docling(flow)["texts"][0]["prov"] == []
    assert content_list(flow) == [{"type": "text", "text": "words", "page_idx": 0}]
    assert elements(flow)[0]["metadata"]["page_number"] == 1
