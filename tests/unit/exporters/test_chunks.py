"""Pieces for retrieval: bounded, complete, cut where they may be."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from docfleet.exporters.chunks import MAX_CHARS, MIN_CHARS, Chunk, chunks
from shared.contracts.document import Link, Markdown, ParsedDocument
from shared.contracts.errors import DocfleetError
from shared.contracts.tables import table_of
from tests.support.parsed import block, cell, document, documents, everything

pytestmark = pytest.mark.unit
PROSE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from(" .。\n"), max_size=400)


def said(parsed: ParsedDocument, markdown: str, max_chars: int = MAX_CHARS) -> list[Chunk]:
    """The pieces, after what always holds."""
    found = chunks(parsed, markdown, max_chars)
    covered = [False] * len(markdown)
    for one in found:
        assert one.text == markdown[one.start : one.end]
        assert one.text.strip()
        assert one.oversized == (len(one.text) > max_chars)
        assert one.block_ids
        covered[one.start : one.end] = [True] * (one.end - one.start)
    assert all(a.end <= b.start for a, b in pairwise(found)), "pieces are in order and apart"
    for span in parsed.markdown.spans:
        missing = "".join(markdown[i] for i in range(span.start, span.end) if not covered[i])
        assert not missing.strip(), missing
    return found


@settings(max_examples=80)
@given(documents(PROSE), st.integers(MIN_CHARS, 300))
def test_any_document_comes_whole_in_pieces_that_are_bounded(made: tuple[ParsedDocument, str], max_chars: int) -> None:
    parsed, markdown = made
    by_id = {b.id: b for b in parsed.blocks}
    for one in said(parsed, markdown, max_chars):
        if one.oversized:
            owner = by_id[one.block_ids[-1]]
            assert owner.latex or (owner.table is not None and one.text.rstrip("\n").count("\n") <= 1), (
                "one row, or a formula"
            )


def test_headings_stay_with_their_text_and_sections_apart() -> None:
    parsed, markdown = everything()
    found = said(parsed, markdown)
    assert [one.text.split("\n")[0] for one in found] == ["# Fish & chips <2026>", "### 1.1 河豚"]
    assert [one.section_path for one in found] == [
        ["Fish & chips <2026>", "1 Fish"],
        ["Fish & chips <2026>", "1 Fish", "1.1 河豚"],
    ]
    assert (found[0].pages, found[1].pages) == ([1], [1, 2])
    assert "Fish swim" in found[0].text
    assert {"table", "formula", "code"} <= set(found[1].labels)


def test_prose_is_cut_between_sentences() -> None:
    text = " ".join(f"This is sentence number {i} of a long text." for i in range(20))
    parsed, markdown = document([block(0, "text", text)])
    found = said(parsed, markdown, 200)
    assert len(found) > 3
    assert all(one.text.endswith(".") and one.text.startswith("This") for one in found)


def test_a_link_stays_in_one_piece() -> None:
    text = "word " * 30 + "the manual" + " word" * 30
    links = [Link(start=150, end=160, uri="https://example.org/a/rather/long/address/of/a/manual")]
    for max_chars in range(100, 220, 7):
        parsed, markdown = document([block(0, "text", text, links=links)])
        whole = "[the manual](https://example.org/a/rather/long/address/of/a/manual)"
        assert any(whole in one.text for one in said(parsed, markdown, max_chars)), max_chars


def test_cjk_is_cut_between_sentences_and_words_where_there_is_none() -> None:
    parsed, markdown = document([block(0, "text", "河豚有毒，不要吃它。" * 20)])
    assert all(one.text.endswith("。") for one in said(parsed, markdown, 60))
    parsed, markdown = document([block(0, "text", "word " * 40)])
    assert all(set(one.text.split()) == {"word"} for one in said(parsed, markdown, 60))


@pytest.mark.parametrize("spanned", [False, True])
def test_a_table_is_never_cut_inside_a_row(spanned: bool) -> None:
    cells = [cell(0, c, f"head {c}", column_header=True) for c in range(3)]
    cells += [cell(r, c, f"row {r} column {c}") for r in range(1, 40) for c in range(3)]
    if spanned:
        cells[-2:] = [cell(39, 1, "row 39 columns 1 and 2", col_span=2)]
    parsed, markdown = document(
        [block(0, "section_header", "1 Table", level=1), block(1, "table", table=table_of(cells))]
    )
    found = said(parsed, markdown, 300)
    assert len(found) > 5
    assert found[0].text.startswith("## 1 Table\n\n")
    for one in found[1:]:
        assert "head 0" in (one.table_header or "")
        rows = re.findall(r"<tr>.*?</tr>", one.text) if spanned else one.text.split("\n")
        assert "".join(rows).replace("\n", "") == one.text.removesuffix("</table>").replace("\n", "")
        assert all(row.count("<td>") == 3 or row.count("|") == 4 or "columns 1 and 2" in row for row in rows)


def test_a_row_longer_than_the_bound_is_a_piece_of_its_own() -> None:
    cells = [cell(0, 0, "head"), cell(1, 0, "word " * 100), cell(2, 0, "tail")]
    cells += [cell(r, 1, "x") for r in range(3)]
    parsed, markdown = document([block(0, "table", table=table_of(cells))])
    found = said(parsed, markdown, 100)
    assert [one.oversized for one in found] == [False, True, False]


def test_rows_say_which_page_they_are_on() -> None:
    parsed, markdown = everything()
    at = {}
    for one in said(parsed, markdown, 60):
        for row in re.findall(r"r(\d) c0", one.text):
            at[int(row)] = one.pages
    assert at[1] == [1]
    assert at[3] == [2]


def test_what_cannot_be_is_refused() -> None:
    parsed, markdown = everything()
    with pytest.raises(DocfleetError, match="not the one"):
        chunks(parsed, markdown[:20])
    with pytest.raises(DocfleetError, match="without Markdown"):
        chunks(replace(parsed, markdown=Markdown()), "")
    with pytest.raises(DocfleetError, match="50 characters"):
        chunks(parsed, markdown, MIN_CHARS - 1)
