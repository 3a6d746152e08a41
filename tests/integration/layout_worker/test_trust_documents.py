"""The same decisions in what people get: `document.json` and Markdown of a whole embedded fleet (field reports B3, B4, B5, and a form)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest

from shared.contracts.document import ParsedDocument
from tests.support import trust_pages
from tests.support.schema import assert_valid_document
from tests.support.trust_pages import CHINESE, ENGLISH, FOOTER, HEADER, OTHER, SECRET

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]


EMPTY_FIELD = (200, 226, 400, 246)


def form() -> bytes:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 100), "Name of the ship")
    page.insert_text((100, 180), "Needs a crane")
    page.insert_text((72, 240), "Draught in metres")
    for kind, name, value, box in (
        (pymupdf.PDF_WIDGET_TYPE_TEXT, "ship", "Storm and Wave", (200, 86, 400, 106)),
        (pymupdf.PDF_WIDGET_TYPE_CHECKBOX, "crane", True, (72, 168, 86, 182)),
        (pymupdf.PDF_WIDGET_TYPE_TEXT, "draught", "", EMPTY_FIELD),
    ):
        widget = pymupdf.Widget()
        widget.field_type, widget.field_name, widget.field_value = kind, name, value
        widget.rect = pymupdf.Rect(box)
        page.add_widget(widget)
    page.add_freetext_annot((300, 300, 500, 330), "Please call back")
    page.add_text_annot((450, 50), "ask the harbour master")
    return bytes(document.tobytes())


FILES: dict[str, Callable[[], bytes]] = {
    "header_over_raster": trust_pages.header_over_raster,
    "native_scan_native": trust_pages.native_scan_native,
    "shifted_chinese": trust_pages.shifted_chinese,
    "shifted_heading": trust_pages.shifted_heading,
    "six_lines": trust_pages.six_lines,
    "layer_with_lie": trust_pages.layer_with_lie,
    "outside": trust_pages.outside,
    "form": form,
}


class Parsed:
    def __init__(self, folder: Path, name: str) -> None:
        self.document: ParsedDocument = assert_valid_document((folder / f"{name}.json").read_bytes())
        self.markdown = _plain((folder / f"{name}.md").read_text())
        self.body = _plain("".join(b.text for b in self.document.blocks if b.content_layer in ("body", "furniture")))

    def layer(self, name: str) -> dict[str, str | None]:
        return {block.text: block.reason for block in self.document.blocks if block.content_layer == name}


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isalnum()).lower()


@pytest.fixture(scope="module")
def parsed(tmp_path_factory) -> Callable[[str], Parsed]:
    folder = tmp_path_factory.mktemp("trust")
    files = []
    for name, make in FILES.items():
        files.append(folder / f"{name}.pdf")
        files[-1].write_bytes(make())
    command = [sys.executable, "-m", "docfleet.cli.main", "parse", *map(str, files), "-o", str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return lambda name: Parsed(folder / "out", name)


def test_b3_a_native_header_does_not_switch_reading_off(parsed):
    page = parsed("header_over_raster")
    for text in (HEADER, FOOTER, *ENGLISH):
        assert page.body.count(_plain(text)) == 1, text
    for text in ENGLISH:
        assert page.markdown.count(_plain(text)) == 1, text
    assert [p.kind for p in page.document.pages] == ["mixed"]
    assert {b.method for b in page.document.blocks if b.text} == {"native", "det_rec"}


def test_b3_every_page_of_a_document_is_decided_by_itself(parsed):
    document = parsed("native_scan_native")
    assert [page.kind for page in document.document.pages] == ["native", "scanned", "native"]
    assert all(page.kind_reason for page in document.document.pages)
    for text, count in [(ENGLISH[0], 2), (ENGLISH[5], 2), (OTHER[0], 1)]:
        assert document.body.count(_plain(text)) == document.markdown.count(_plain(text)) == count


def test_b4_a_font_that_claims_the_wrong_characters_is_read(parsed):
    chinese = parsed("shifted_chinese")
    for text in CHINESE:
        assert chinese.body.count(_plain(text)) == chinese.markdown.count(_plain(text)) == 1
    assert {block.method for block in chinese.document.blocks} == {"det_rec"}
    assert [warning.code for warning in chinese.document.warnings] == ["bad_unicode"]
    assert any("not believed" in reason for reason in chinese.document.pages[0].kind_reason)
    heading = parsed("shifted_heading")
    assert heading.body.count(_plain(HEADER)) == 1
    assert {b.method for b in heading.document.blocks if _plain(ENGLISH[0]) in _plain(b.text)} == {"native"}


def test_b5_hidden_text_is_kept_with_its_reason_and_out_of_the_body(parsed):
    page = parsed("six_lines")
    assert page.layer("invisible") == {
        "white ink": "background_colour",
        "red ink": "background_colour",
        "under a box": "covered",
        "mode three": "render_mode",
    }
    assert page.body == _plain("".join(ENGLISH[:2]))
    assert "ink" not in page.markdown
    lie = parsed("layer_with_lie")
    assert list(lie.layer("invisible")) == ["The official total is one dollar"]
    assert lie.body == _plain("".join(ENGLISH))


def test_b12_text_off_the_page_is_background(parsed):
    page = parsed("outside")
    assert page.layer("background") == {SECRET: "outside"}
    assert page.body == page.markdown == _plain("".join(ENGLISH))


def test_a_form_keeps_what_was_filled_in_and_what_was_noted(parsed):
    page = parsed("form")
    for text in ("Name of the ship", "Storm and Wave", "Needs a crane", "Please call back"):
        assert page.body.count(_plain(text)) == 1, text
    (empty,) = (block for block in page.document.blocks if block.label == "form_field" and not block.text)
    assert empty.method == "form"
    assert empty.prov[0].bbox == pytest.approx(EMPTY_FIELD, abs=1.0)
    assert page.layer("notes") == {"ask the harbour master": None}
    assert "harbourmaster" not in page.markdown
