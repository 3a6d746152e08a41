"""Searchable PDF: what was read can be found and copied, where it stands, and is never seen."""

from __future__ import annotations

import io
import unicodedata
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import given, settings
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


@settings(max_examples=40)
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


def source_of(path: Path, *, text: str = "", rotation: int = 0, crop: tuple[float, ...] = (0, 0, 600, 800)) -> Path:
    with pymupdf.open() as made:
        sheet = made.new_page(width=700, height=900)
        sheet.draw_rect(pymupdf.Rect(100, 100, 200, 200), fill=(1, 0, 0))
        if text:
            sheet.insert_text((crop[0] + 60, crop[1] + 40), text)
        sheet.insert_link({"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(300, 300, 400, 320), "uri": "https://a.org"})
        sheet.set_cropbox(pymupdf.Rect(crop))
        sheet.set_rotation(rotation)
        made.save(path)
    return path


def never(one: Page) -> bytes:
    raise AssertionError(f"page {one.page_no} is drawn")


def test_a_page_with_text_of_its_own_is_taken_over(tmp_path: Path) -> None:
    source = source_of(tmp_path / "source.pdf", text="own text")
    parsed, _ = document([block(0, "text", "own text", method="native")], [page(1, kind="native")])
    with pymupdf.open(stream=searchable(parsed, never, source)) as pdf:
        assert pdf[0].get_text().strip() == "own text"
        assert [font[3] for font in pdf[0].get_fonts()] == ["Helvetica"]
        assert [link["uri"] for link in pdf[0].get_links()] == ["https://a.org"]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [(0, 0, 600, 800), (40, 70, 640, 870)])
def test_what_was_read_is_added_where_it_is_seen(tmp_path: Path, rotation: int, crop: tuple[float, ...]) -> None:
    source = source_of(tmp_path / "source.pdf", rotation=rotation, crop=crop)
    width, height = (600.0, 800.0) if rotation in (0, 180) else (800.0, 600.0)
    read = block(3, "text", "read text")
    parsed, _ = document([read], [page(1, width=width, height=height, rotation=rotation)])
    with pymupdf.open(stream=searchable(parsed, never, source)) as pdf:
        sheet = pdf[0]
        ((text, box),) = lines(pdf, 0)
        assert text == "read text"
        assert list(pymupdf.Rect(box) * sheet.rotation_matrix) == pytest.approx(read.lines[0].bbox, abs=1.0)
        assert len(sheet.get_drawings()) == 1
        assert sheet.get_images() == []


def test_links_from_page_to_page_are_kept(tmp_path: Path) -> None:
    source = tmp_path / "source.pdf"
    with pymupdf.open() as made:
        for _ in range(2):
            made.new_page(width=600, height=800)
        made[0].insert_link(
            {"kind": pymupdf.LINK_GOTO, "from": pymupdf.Rect(9, 9, 99, 99), "page": 1, "to": pymupdf.Point(0, 0)}
        )
        made.save(source)
    parsed, _ = document([block(0, "text", "words", page_no=2)])
    with pymupdf.open(stream=searchable(parsed, never, source)) as pdf:
        assert [link["page"] for link in pdf[0].get_links()] == [1]
        assert pdf[1].get_text().strip() == "words"


def test_what_pages_share_is_copied_once(tmp_path: Path) -> None:
    source = tmp_path / "source.pdf"
    noise = io.BytesIO()
    Image.effect_noise((300, 300), 90).save(noise, "PNG")
    with pymupdf.open() as made:
        shared = 0
        for _ in range(8):
            shared = made.new_page(width=600, height=800).insert_image(
                pymupdf.Rect(0, 0, 300, 300), **({"xref": shared} if shared else {"stream": noise.getvalue()})
            )
        made.save(source)
    parsed, _ = document([block(0, "text", "words")], [page(n) for n in range(1, 9)])
    assert len(searchable(parsed, never, source)) < 1.3 * source.stat().st_size


def test_text_of_the_source_under_what_was_read_makes_the_page_a_picture(tmp_path: Path) -> None:
    source = source_of(tmp_path / "source.pdf", text="g#rb@ge")
    parsed, _ = document([block(0, "text", "as it was read")], [page(1)])
    with pymupdf.open(stream=searchable(parsed, sheet, source)) as pdf:
        assert pdf[0].get_text().strip() == "as it was read"
        assert len(pdf[0].get_images()) == 1


def test_a_page_that_was_turned_for_parsing_is_a_picture(tmp_path: Path) -> None:
    source = source_of(tmp_path / "source.pdf")
    parsed, _ = document([block(0, "text", "words")], [page(1, rotation=180)])
    with pymupdf.open(stream=searchable(parsed, sheet, source)) as pdf:
        assert len(pdf[0].get_images()) == 1


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
