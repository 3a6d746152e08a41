"""Parsed documents for tests of what is made from them: one with everything in it, and strategies for any."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from services.assembler.document import sections
from services.assembler.document.markdown import written
from shared.contracts.document import (
    Block,
    Cell,
    ContentLayer,
    Label,
    Line,
    Lineage,
    OutlineEntry,
    Page,
    ParsedDocument,
    Provenance,
    TablePart,
)
from shared.contracts.records import SourceInfo
from shared.contracts.tables import table_of

WIDTH, HEIGHT = 600.0, 800.0


def page(page_no: int, **more: Any) -> Page:
    given = {"width": WIDTH, "height": HEIGHT, "unit": "pt", "status": "ok", "kind": "scanned", **more}
    return Page(page_no=page_no, **given)


def block(index: int, label: Label, text: str = "", *, page_no: int = 1, **more: Any) -> Block:
    """A block below those with a smaller index, its lines those of its text."""
    top = 20.0 + 40.0 * (index % 19)
    lines = text.splitlines() if "table" not in more else []
    step = 36.0 / max(1, len(lines))
    given: dict[str, Any] = {
        "id": f"p{page_no:05d}-b{index:03d}",
        "prov": [Provenance(page_no=page_no, bbox=[50.0, top, 550.0, top + 36.0], char_span=[0, len(text)])],
        "lines": [
            Line(bbox=[50.0, top + i * step, 550.0, top + (i + 1) * step], text=line, confidence=0.9)
            for i, line in enumerate(lines)
        ],
        "method": "det_rec",
        "confidence": 0.9,
        **more,
    }
    return Block(order=index, label=label, raw_label=label, text=text, **given)


def cell(row: int, col: int, text: str, page_no: int = 1, **more: Any) -> Cell:
    box = [50.0 + 100 * col, 300.0 + 20 * row, 150.0 + 100 * col, 320.0 + 20 * row]
    return Cell(row=row, col=col, text=text, bbox=box, page_no=page_no, **more)


def document(blocks: list[Block], pages: list[Page] | None = None, **more: Any) -> tuple[ParsedDocument, str]:
    """A document of these blocks, and its Markdown, both as the assembler writes them."""
    placed, tree = sections.tree(blocks)
    text, spans = written(placed)
    given: dict[str, Any] = {
        "document_id": "sample",
        "generation": 0,
        "source": SourceInfo(
            bucket="in",
            key="a/sample.pdf",
            filename="sample.pdf",
            mime_type="application/pdf",
            sha256="ab" * 32,
            size=9,
        ),
        "status": "success",
        "lineage": Lineage(pipeline_version="1", pipeline_fingerprint="f", options_hash="o"),
        "pages": pages if pages is not None else [page(1), page(2)],
        "outline": [],
        **more,
    }
    return ParsedDocument(blocks=placed, sections=tree, markdown=spans, **given), text


def everything() -> tuple[ParsedDocument, str]:
    """Two pages with every label, a table over both of them, and all layers."""
    header = [cell(0, c, name, column_header=True) for c, name in enumerate(("Name", "Count"))]
    rows = [cell(r, c, f"r{r} c{c} & <b>", 1 if r < 3 else 2) for r in range(1, 5) for c in range(2)]
    long = table_of([*header, *rows])
    long = type(long)(
        num_rows=long.num_rows,
        num_cols=long.num_cols,
        cells=long.cells,
        html=long.html,
        parts=[TablePart(page_no=1, rows=[0, 3]), TablePart(page_no=2, rows=[3, 5])],
    )
    spanned = table_of([cell(0, 0, "both", col_span=2), cell(1, 0, "left"), cell(1, 1, "right")])
    places = [Provenance(page_no=n, bbox=[50.0, 300.0, 550.0, 380.0]) for n in (1, 2)]
    blocks = [
        block(0, "page_header", "Annual report", content_layer="furniture"),
        block(1, "title", "Fish & chips <2026>", level=0),
        block(2, "section_header", "1 Fish", level=1),
        block(3, "text", "Fish swim in the sea.\nChips do not; “they” sink.", caption_ids=[]),
        block(4, "list_item", "• salt"),
        block(5, "list_item", "2. vinegar"),
        block(6, "section_header", "1.1 河豚", level=2),
        block(7, "text", "河豚有毒。不要吃它。", writing_mode="vertical_rl"),
        block(8, "table", "", table=long, prov=places, caption_ids=["p00001-b009"], footnote_ids=["p00002-b014"]),
        block(9, "caption", "Table 1: what there is"),
        block(10, "picture", "EXIT", image_uri="images/1.png", caption_ids=["p00001-b011"]),
        block(11, "caption", "Figure 1: a door"),
        block(12, "formula", "x2", latex="x^2 < 3"),
        block(13, "code", "if a < b:\n    c()"),
        block(14, "footnote", "1 Counted twice.", page_no=2),
        block(15, "table", "", page_no=2, table=spanned),
        block(16, "checkbox", "☑ agreed", page_no=2, method="form"),
        block(17, "form_field", "Ada", page_no=2, method="form"),
        block(18, "seal", "公司章", page_no=2),
        block(19, "reference", "[1] A. Author, 2020.", page_no=2),
        block(20, "aside_text", "an aside", page_no=2),
        block(21, "page_footer", "confidential", page_no=2, content_layer="furniture"),
        block(22, "page_number", "2", page_no=2, content_layer="furniture"),
        block(23, "text", "hidden words", page_no=2, content_layer="invisible", reason="tiny"),
        block(24, "text", "a comment", page_no=2, content_layer="notes"),
    ]
    return document(blocks, outline=[OutlineEntry(level=1, title="1 Fish", page_no=1)])


TEXTS = st.text(max_size=60)
"""Any Unicode but halves of surrogate pairs, controls included."""


@st.composite
def blocks(draw: st.DrawFn, texts: st.SearchStrategy[str] = TEXTS) -> list[Block]:
    """Blocks of any label and layer on two pages, some with tables, some without a place."""
    out = []
    for index in range(draw(st.integers(0, 8))):
        label: Label = draw(st.sampled_from(get_args(Label)))
        more: dict[str, Any] = {"content_layer": draw(st.sampled_from(get_args(ContentLayer)))}
        if label == "table":
            shape = draw(st.integers(1, 4)), draw(st.integers(1, 3))
            more["table"] = table_of([cell(r, c, draw(texts)) for r in range(shape[0]) for c in range(shape[1])])
        if label == "formula":
            more["latex"] = draw(st.none() | texts)
        if draw(st.integers(0, 9)) == 0:
            more["prov"] = [Provenance(page_no=1)]
        made = block(index, label, draw(texts), page_no=draw(st.integers(1, 2)), **more)
        out.append(made)
    return out


@st.composite
def documents(draw: st.DrawFn, texts: st.SearchStrategy[str] = TEXTS) -> tuple[ParsedDocument, str]:
    """Any document of these blocks, with its Markdown."""
    return document(draw(blocks(texts)))
