"""Markdown: what it shows, by an independent parser, and who wrote which characters."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from services.assembler.document.markdown import written
from services.assembler.document.spans import SpanWriter
from shared.contracts.document import Block, Cell, Provenance
from shared.contracts.tables import table_of

pytestmark = pytest.mark.unit
PARSER = MarkdownIt("commonmark").enable("table").enable("strikethrough")


def block(index: int, label: str, text: str, **more: Any) -> Block:
    return Block(
        id=f"b{index}", order=index, label=label, raw_label=label, text=text, prov=[Provenance(page_no=1)], **more
    )  # type: ignore[arg-type]


def shown(markdown: str) -> list[str]:
    """Texts of the paragraphs, headings and cells that a reader sees."""
    out = []
    for token in PARSER.parse(markdown):
        if token.type == "inline":
            out.append(
                "".join("\n" if c.type in ("hardbreak", "softbreak") else c.content for c in token.children or [])
            )
            assert all(c.type in ("text", "text_special", "hardbreak") for c in token.children or []), token.children
        assert token.type not in ("html_block", "code_block", "hr", "blockquote_open"), token
    return out


def test_each_kind_of_block() -> None:
    table = table_of([Cell(row=r, col=c, text=f"{r}|{c}", column_header=r == 0) for r in range(2) for c in range(2)])
    spanned = table_of(
        [Cell(row=0, col=0, col_span=2, text="a"), Cell(row=1, col=0, text="b"), Cell(row=1, col=1, text="c")]
    )
    blocks = [
        block(0, "title", "The title", level=0),
        block(1, "section_header", "1 One", level=1),
        block(2, "text", "Some *words*."),
        block(3, "list_item", "• first"),
        block(4, "list_item", "2. second"),
        block(5, "list_item", "3、third"),
        block(6, "table", "t", table=table),
        block(7, "table", "t", table=spanned),
        block(8, "formula", "x", latex="x^2"),
        block(9, "code", "if a:\n    b()"),
        block(10, "picture", ""),
        block(11, "page_header", "head", content_layer="furniture"),
        block(12, "text", "hidden", content_layer="invisible"),
        block(13, "picture", "A cat", image_uri="cat.jpg"),
    ]
    text, markdown = written(blocks)
    assert text == (
        "# The title\n\n## 1 One\n\nSome \\*words\\*.\n\n- first\n2. second\n- 3、third\n\n"
        "| 0\\|0 | 0\\|1 |\n| --- | --- |\n| 1\\|0 | 1\\|1 |\n\n"
        '<table><tr><td colspan="2">a</td></tr><tr><td>b</td><td>c</td></tr></table>\n\n'
        "$$\nx^2\n$$\n\n```\nif a:\n    b()\n```\n\n![A cat](cat.jpg)\n"
    )
    assert [span.block_id for span in markdown.spans] == [
        "b0",
        "b1",
        "b2",
        "b3",
        "b4",
        "b5",
        "b6",
        "b7",
        "b8",
        "b9",
        "b13",
    ]
    by_id = {span.block_id: text[span.start : span.end] for span in markdown.spans}
    assert by_id["b1"] == "## 1 One"
    assert by_id["b9"] == "```\nif a:\n    b()\n```"


def test_nothing_gives_nothing() -> None:
    assert written([]) == ("", written([])[1])


lines = st.text(st.sampled_from("ab 1.2)#-+*_`~<>&;=|\\[]!()$:x/\"'中，。—"), min_size=1, max_size=30).filter(
    lambda t: t.strip() != ""
)


@given(st.lists(st.tuples(st.sampled_from(["text", "section_header", "caption", "footnote"]), lines), max_size=6))
def test_a_parser_shows_the_text_and_every_character_has_one_writer(content: list[tuple[str, str]]) -> None:
    blocks = [
        block(i, label, text, level=1 if label == "section_header" else None) for i, (label, text) in enumerate(content)
    ]
    text, markdown = written(blocks)
    normal = [re.sub(r"\s+", " ", t.strip()) for _, t in content]
    assert [re.sub(r"\s+", " ", t) for t in shown(text)] == normal
    position = 0
    for span in markdown.spans:
        assert text[position : span.start] in ("", "\n\n", "\n")
        position = span.end
    assert text[position:] == ("\n" if blocks else "")
    assert [span.block_id for span in markdown.spans] == [b.id for b in blocks]


@given(st.lists(lines, min_size=1, max_size=4))
def test_cells_show_their_text(texts: list[str]) -> None:
    cells = [Cell(row=r, col=c, text=t, column_header=r == 0) for r in range(2) for c, t in enumerate(texts)]
    text, _ = written([block(0, "table", "", table=table_of(cells))])
    assert [re.sub(r"\s+", " ", t) for t in shown(text)] == [re.sub(r"\s+", " ", t.strip()) for t in texts] * 2


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=5))))
def test_spans_are_disjoint_in_order_and_hold_what_was_written(pieces: list[tuple[bool, str]]) -> None:
    writer = SpanWriter()
    for index, (own, text) in enumerate(pieces):
        if own:
            writer.block(str(index), text)
        else:
            writer.syntax(text)
    text = writer.text()
    assert text == "".join(piece for _, piece in pieces)
    assert {span.block_id: text[span.start : span.end] for span in writer.spans} == {
        str(i): piece for i, (own, piece) in enumerate(pieces) if own and piece
    }
    assert all(a.end <= b.start for a, b in zip(writer.spans, writer.spans[1:], strict=False))
