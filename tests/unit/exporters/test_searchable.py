"""Searchable PDF: what was read can be found and copied, where it stands, and is never seen."""

from __future__ import annotations

import io
import unicodedata
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from docfleet.exporters.glyphless import Codes
from docfleet.exporters.searchable import searchable
from shared.contracts.document import Line, Page, ParsedDocument
from shared.contracts.errors import DocfleetError
from tests.support.parsed import block, document, everything, page

pytestmark = pytest.mark.unit
SCRIPTS = [
    "Plain words, 3.50 € — “quoted”.",
    "汉字与 Latin 混排，第１页",
    "Ελληνικά и русский",
    "日本語のテキスト カタカナ",
    "한국어 문장",
    "ไทย",
    "𝒳 ∈ ℝ² 𠮷野家 🙂",
]
WORDS = st.text(
    st.characters(categories=["Lu", "Ll", "Lo", "Nd", "Sm", "So", "Po"], exclude_characters="\ufffd"),
    min_size=1,
    max_size=12,
)


def sheet(page: Page) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (round(page.width / 4), round(page.height / 4)), "#d0e0f0").save(out, "JPEG")
    return out.getvalue()


def lines(pdf: Any, number: int) -> list[tuple[str, tuple[float, ...]]]:
    return [
        ("".join(span["text"] for span in line["spans"]).strip(), line["bbox"])
        for found in pdf[number].get_text("dict")["blocks"]
        if found["type"] == 0
        for line in found["lines"]
    ]


def one_page(texts: list[str], **more: Any) -> ParsedDocument:
    return document([block(i, "text", text, **more) for i, text in enumerate(texts)], [page(1)])[0]


def test_every_script_comes_out_as_it_went_in_where_it_stands() -> None:
    with pymupdf.open(stream=searchable(one_page(SCRIPTS), sheet)) as pdf:
        found = lines(pdf, 0)
        assert [text for text, _ in found] == SCRIPTS
        for index, (_, box) in enumerate(found):
            top = 20.0 + 40.0 * index
            assert box == pytest.approx([50.0, top, 550.0, top + 36.0], abs=1.0)
        assert pdf[0].search_for("русский")[0] in pymupdf.Rect(49, 99, 551, 137)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(WORDS, min_size=1, max_size=10))
def test_any_letters_come_out(words: list[str]) -> None:
    with pymupdf.open(stream=searchable(one_page(words), sheet)) as pdf:
        got = unicodedata.normalize("NFKD", "".join(pdf[0].get_text("text").split()))
        wanted = unicodedata.normalize("NFKD", "".join("".join(words).split()))
        assert set(wanted) <= set(got), (
            "MuPDF orders right-to-left scripts and takes ligatures apart, so characters are compared"
        )


def test_nothing_of_the_text_is_seen() -> None:
    parsed = one_page(SCRIPTS)
    with pymupdf.open(stream=searchable(parsed, sheet)) as pdf:
        pixels = pdf[0].get_pixmap(dpi=36)
        assert len({pixels.pixel(x, y) for x in range(0, pixels.width, 3) for y in range(0, pixels.height, 3)}) == 1


def test_vertical_lines_run_down() -> None:
    column = Line(bbox=[500.0, 100.0, 520.0, 300.0], text="縦書きの文", confidence=0.9)
    parsed, _ = document([block(0, "text", "縦書きの文", writing_mode="vertical_rl", lines=[column])], [page(1)])
    with pymupdf.open(stream=searchable(parsed, sheet)) as pdf:
        ((text, box),) = lines(pdf, 0)
        assert text == "縦書きの文"
        assert box == pytest.approx([500.0, 100.0, 520.0, 300.0], abs=1.0)


def test_an_image_has_its_size_on_paper() -> None:
    parsed, _ = document([block(0, "text", "words")], [page(1, unit="px", dpi=100.0)])
    with pymupdf.open(stream=searchable(parsed, sheet)) as pdf:
        assert (round(pdf[0].rect.width), round(pdf[0].rect.height)) == (432, 576)
        assert lines(pdf, 0)[0][1] == pytest.approx([36.0, 14.4, 396.0, 40.3], abs=1.0)


def test_pages_with_text_of_their_own_are_taken_over(tmp_path: Path) -> None:
    source = tmp_path / "source.pdf"
    with pymupdf.open() as made:
        for text in ("own text", "read text"):
            made.new_page(width=600, height=800).insert_text((50, 50), text)
        made.save(source)
    blocks = [block(0, "text", "own text", method="native"), block(1, "text", "as it was read", page_no=2)]
    parsed, _ = document(blocks, [page(1, kind="native"), page(2)])
    asked: list[int] = []

    def picture(one: Page) -> bytes:
        asked.append(one.page_no)
        return sheet(one)

    with pymupdf.open(stream=searchable(parsed, picture, source)) as pdf:
        assert [pdf[n].get_text().strip() for n in range(2)] == ["own text", "as it was read"]
        assert pdf[0].get_fonts()[0][3] == "Helvetica"
    assert asked == [2]


def test_a_page_that_cannot_be_copied_or_drawn_keeps_its_text(tmp_path: Path) -> None:
    source = tmp_path / "loop.pdf"
    with pymupdf.open() as made:
        made.new_page().insert_text((50, 50), "own")
        made.new_page()
        pages = made.xref_get_key(made.pdf_catalog(), "Pages")[1]
        made.xref_set_key(int(pages.split()[0]), "Kids", f"[{made[0].xref} 0 R {pages}]")
        made.save(source)
    parsed, _ = document(
        [block(0, "text", "as it was read", method="native")], [page(1, kind="native"), page(2, kind="blank")]
    )
    with pymupdf.open(stream=searchable(parsed, lambda _: None, source)) as pdf:
        assert pdf.page_count == 2
        assert pdf[0].get_text().strip() in ("own", "as it was read")
        assert pdf[1].get_images() == []


def test_bookmarks_are_the_source_s_or_the_headings() -> None:
    parsed, _ = everything()
    with pymupdf.open(stream=searchable(parsed, sheet)) as pdf:
        assert pdf.get_toc() == [[1, "1 Fish", 1]]
    heads, _ = document([block(0, "section_header", "A", level=1), block(1, "section_header", "B", level=3)])
    with pymupdf.open(stream=searchable(heads, sheet)) as pdf:
        assert pdf.get_toc() == [[1, "A", 1], [2, "B", 1]]


def test_equal_inputs_give_equal_bytes() -> None:
    parsed, _ = everything()
    assert searchable(parsed, sheet) == searchable(parsed, sheet)


def test_a_source_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"not a PDF")
    with pytest.raises(DocfleetError, match="no PDF"):
        searchable(one_page(["a"]), sheet, broken)


def test_codes_are_unicode_order_narrow_first_and_never_zero() -> None:
    codes = Codes("b汉a")
    assert codes.shown(" ab\ufffd汉") == "0001" + "0002" + "0003" + "0004" + "0005"
    assert codes.shown("x") == codes.shown("\ufffd"), "a character that has no code"
    assert codes.width("ab汉") == 2.0
