"""A document that is text without places: from its flow to blocks, sections and Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from services.assembler.document.document import DocumentInput, compose_document
from services.assembler.document.page import PageInput, compose_page
from services.layout_worker.flowing import layout_of
from shared.contracts.document import ParsedDocument
from shared.contracts.layout import FlowBlock, Inspection, PageGeometry, PageLayout, Region, TextLine
from shared.contracts.options import Options
from shared.contracts.records import SourceInfo
from tests.support.docx import docx, gone, listed, p, part, r, read, tbl, tc

pytestmark = pytest.mark.unit

INSPECTION = Inspection(
    document_id="d",
    generation=0,
    source=SourceInfo(bucket="b", key="letter.docx"),
    options=Options(pictures=True),
    options_hash="o",
    pipeline_fingerprint="f",
    unit=None,
    pages=[PageGeometry(width=0.0, height=0.0)],
    selected="1",
)
STYLES = part(
    "w:styles",
    "".join(
        f'<w:style w:type="paragraph" w:styleId="{i}"><w:name w:val="{name}"/></w:style>'
        for i, name in (("T", "Title"), ("H1", "heading 1"), ("H3", "heading 3"), ("C", "caption"))
    ),
)
NUMBERING = part(
    "w:numbering",
    '<w:abstractNum w:abstractNumId="0">'
    + "".join(
        f'<w:lvl w:ilvl="{i}"><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for i, (form, text) in enumerate((("decimal", "%1."), ("bullet", "\uf0b7"), ("lowerLetter", "%3)")))
    )
    + '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
)


def composed(body: str, folder: Path, **more: object) -> tuple[ParsedDocument, str]:
    """The document and its Markdown, through the same functions as in the fleet."""
    parts = {"styles.xml": STYLES, "numbering.xml": NUMBERING, **more.pop("parts", {})}  # type: ignore[dict-item]
    answer = read(docx(body, parts=parts, **more), folder, pictures=True)  # type: ignore[arg-type]
    layout, _ = layout_of(answer, b"\x89PNG\r\n\x1a\n" * 9, INSPECTION, 1)
    page = compose_page(
        PageInput(document_id="d", generation=0, page_no=1, width=0.0, height=0.0, unit=None, layout=layout)
    )
    given = DocumentInput(inspection=INSPECTION, selected="1", now=0.0, pipeline_version="test")
    document, markdown = compose_document(given, [page])
    assert markdown is not None
    for span in document.markdown.spans:
        assert markdown[span.start : span.end].strip(), "a span is never blank"
    return document, markdown


def test_headings_keep_the_levels_of_the_document_and_make_its_sections(tmp_path: Path) -> None:
    body = p("Title", style="T") + p("2.1 One", style="H1") + p("text") + p("Deep", style="H3") + p("Two", style="H1")
    document, markdown = composed(body, tmp_path)
    assert [(b.level, b.text) for b in document.blocks if b.label in ("title", "section_header")] == [
        (0, "Title"),
        (1, "2.1 One"),
        (3, "Deep"),
        (1, "Two"),
    ]
    assert [(one.title, [deeper.title for deeper in one.children]) for one in document.sections[0].children] == [
        ("2.1 One", ["Deep"]),
        ("Two", []),
    ]
    assert markdown.splitlines()[:3] == ["# Title", "", "## 2.1 One"]


def test_the_one_page_has_no_geometry_and_every_block_says_where_it_comes_from(tmp_path: Path) -> None:
    document, _ = composed(p("one") + tbl([tc("a"), tc("b")]), tmp_path)
    assert document.status == "success"
    assert [(page.unit, page.width, page.status, page.kind) for page in document.pages] == [(None, 0.0, "ok", "native")]
    for block in document.blocks:
        assert (block.method, block.prov[0].page_no, block.prov[0].bbox) == ("docx", 1, None)
    assert document.blocks[1].text == "a\tb"
    assert document.blocks[1].table is not None
    assert [part.rows for part in document.blocks[1].table.parts] == [[0, 1]]


def test_lists_nest_in_the_tree_and_in_markdown(tmp_path: Path) -> None:
    levels = [0, 1, 1, 2, 0]
    body = "".join(p(f"item {i}", properties=listed(1, at)) for i, at in enumerate(levels)) + p("after")
    document, markdown = composed(body, tmp_path)
    names = [block.id for block in document.blocks]
    parents = [names.index(block.parent_id) if block.parent_id else None for block in document.blocks]
    assert parents == [None, 0, 0, 2, None, None]
    assert markdown == "1. item 0\n   - item 1\n   - item 2\n     - a) item 3\n2. item 4\n\nafter\n"
    depth, deepest = 0, []
    for token in MarkdownIt().parse(markdown):
        depth += token.nesting if token.type.startswith(("bullet_list", "ordered_list")) else 0
        if token.type == "inline":
            deepest.append(depth)
    assert deepest == [1, 2, 2, 3, 1, 0], "CommonMark sees the same nesting"


def test_notes_follow_the_body_and_are_tied_both_ways(tmp_path: Path) -> None:
    notes = part("w:footnotes", f'<w:footnote w:id="1">{p("see there")}</w:footnote>')
    body = p("said", '<w:r><w:footnoteReference w:id="1"/></w:r>') + p("last ", gone("lost"))
    document, markdown = composed(body, tmp_path, parts={"footnotes.xml": notes})
    cited, note = document.blocks[0], next(b for b in document.blocks if b.label == "footnote")
    assert (note.content_layer, note.parent_id, cited.footnote_ids) == ("notes", cited.id, [note.id])
    assert markdown == "said¹\n\nlast\n\n¹ see there\n"
    lost = next(b for b in document.blocks if b.content_layer == "invisible")
    assert (lost.text, lost.reason) == ("lost", "tracked deletion")


def test_captions_and_pictures(tmp_path: Path) -> None:
    drawing = '<w:r><w:drawing><wp:docPr descr="a duck"/><a:blip r:embed="i"/></w:drawing></w:r>'
    document, markdown = composed(
        p(drawing) + p("Figure 1", style="C"),
        tmp_path,
        parts={"media/i.png": b"\x89PNG\r\n\x1a\n"},
        links={"i": ("image", "media/i.png")},
    )
    picture, caption = document.blocks
    assert (caption.parent_id, picture.caption_ids) == (picture.id, [caption.id])
    assert picture.image_uri == "parsed/d/0/images/m0001.png"
    assert markdown == "![a duck](parsed/d/0/images/m0001.png)\n\nFigure 1\n"


def test_what_was_read_in_pictures_is_their_text(tmp_path: Path) -> None:
    def region(index: int, top: float, text: str) -> Region:
        line = TextLine(bbox=[30.0, top, 200.0, top + 20], text=text)
        return Region(
            region_id=f"p00001-r{index:03d}", label="text", raw_label="leftover", bbox=[30.0, top, 200.0, top + 20],
            confidence=1.0, found_by="leftover", read_by="native", lines=[line],
        )  # fmt: skip

    flow = [
        FlowBlock(label="text", raw_label="Normal", text="before"),
        FlowBlock(label="picture", raw_label="picture", text="a chart", place=[24.0, 24.0, 324.0, 124.0]),
        FlowBlock(label="picture", raw_label="picture", place=[24.0, 148.0, 324.0, 248.0]),
        FlowBlock(label="picture", raw_label="picture", text="again", place=[24.0, 24.0, 324.0, 124.0]),
    ]
    layout = PageLayout(
        document_id="d", generation=0, page_no=1, width=348.0, height=272.0, unit=None, kind="mixed", flow=flow,
        regions=[region(0, 40.0, "in the first"), region(1, 160.0, "in the second")],
    )  # fmt: skip
    page = compose_page(
        PageInput(document_id="d", generation=0, page_no=1, width=0.0, height=0.0, unit=None, layout=layout)
    )
    assert [(b.label, b.text) for b in page.blocks] == [
        ("text", "before"),
        ("picture", "a chart\nin the first"),
        ("picture", "in the second"),
        ("picture", "again\nin the first"),
    ]
    assert [b.prov[0].bbox for b in page.blocks] == [None] * 4
    assert (page.page.width, page.page.unit, page.page.kind, page.page.status) == (0.0, None, "mixed", "ok")


def test_links_are_links_unless_they_could_do_harm(tmp_path: Path) -> None:
    def link(name: str, words: str) -> str:
        return f'<w:hyperlink r:id="{name}">{r(words)}</w:hyperlink>'

    addresses = {"a": "https://x.example/a(b) c", "b": "javascript:alert(1)", "c": "mailto:me@x.example"}
    _, markdown = composed(
        p("[see] ", link("a", "here*"), ", ", link("b", "not here"), ", ", link("c", "me")),
        tmp_path,
        external={name: ("hyperlink", one) for name, one in addresses.items()},
    )
    tokens = MarkdownIt().parse(markdown)[1].children or []
    assert [one.attrGet("href") for one in tokens if one.type == "link_open"] == [
        "https://x.example/a%28b%29%20c",
        "mailto:me@x.example",
    ]
    assert "".join(one.content for one in tokens) == "[see] here*, not here, me"


def test_formulas_are_not_escaped_and_dollars_are_no_formulas(tmp_path: Path) -> None:
    square = (
        "<m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
    )
    _, markdown = composed(p("Let ", square, " cost $5 or *$6*") + p(square), tmp_path)
    assert markdown == "Let $x^{2}$ cost $5 or \\*$6\\*\n\n$$\nx^{2}\n$$\n"


def test_an_empty_document_is_blank(tmp_path: Path) -> None:
    document, markdown = composed(p(""), tmp_path)
    assert [page.status for page in document.pages] == ["blank"]
    assert (document.status, document.blocks, markdown) == ("success", [], "")
