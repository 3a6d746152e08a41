"""Exports that show pages: drawn by the document child from the file that was parsed, whatever state it is in."""

from __future__ import annotations

import base64
import dataclasses
import io
import re
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from msgspec.structs import replace
from PIL import Image

from docfleet import exports
from shared.contracts.document import ParsedDocument
from shared.contracts.errors import DocfleetError
from shared.settings import Limits
from tests.support.parsed import block, document, page

pytestmark = pytest.mark.integration
RED = (1.0, 0.0, 0.0)


def source(path: Path, **saving: Any) -> Path:
    """Two pages, each red in its upper left quarter."""
    with pymupdf.open() as made:
        for _ in range(2):
            made.new_page(width=600, height=800).draw_rect(pymupdf.Rect(0, 0, 300, 400), fill=RED, color=RED)
        made.save(path, **saving)
    return path


def parsed() -> ParsedDocument:
    return document([block(0, "text", "words"), block(1, "text", "more words", page_no=2)])[0]


def pictures(view: bytes) -> list[Image.Image]:
    found = re.findall(rb'href="data:image/jpeg;base64,([^"]+)"', view)
    return [Image.open(io.BytesIO(base64.b64decode(one))) for one in found]


def test_the_view_shows_the_pages(tmp_path: Path) -> None:
    given = exports.Given(parsed(), source=source(tmp_path / "a.pdf"))
    shown = pictures(exports.export(given, "html", Limits()))
    assert [picture.size for picture in shown] == [(800, 1067)] * 2
    red, white = shown[0].getpixel((200, 200)), shown[0].getpixel((600, 800))
    assert isinstance(red, tuple)
    assert red[0] > 240 > 20 > red[1]
    assert white == (255, 255, 255)


def test_a_page_that_cannot_be_drawn_leaves_the_others(tmp_path: Path) -> None:
    given = exports.Given(parsed(), source=source(tmp_path / "a.pdf"))
    three = replace(given.document, pages=[*given.document.pages, page(3)])
    view = exports.export(dataclasses.replace(given, document=three), "html", Limits())
    assert len(pictures(view)) == 2
    assert view.count(b"<svg") == 3


def test_an_encrypted_source_needs_its_password(tmp_path: Path) -> None:
    path = source(tmp_path / "a.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="other")
    with pytest.raises(DocfleetError, match="password"):
        exports.export(exports.Given(parsed(), source=path), "html", Limits())
    with pytest.raises(DocfleetError, match="password"):
        exports.export(exports.Given(parsed(), source=path), "pdf", Limits())
    given = exports.Given(parsed(), source=path, password="secret")
    assert len(pictures(exports.export(given, "html", Limits()))) == 2
    with pymupdf.open(stream=exports.export(given, "pdf", Limits())) as pdf:
        assert not pdf.needs_pass
        assert [sheet.get_text().strip() for sheet in pdf] == ["words", "more words"]


def test_an_image_becomes_a_page_with_its_text(tmp_path: Path) -> None:
    path = tmp_path / "scan.png"
    Image.new("RGB", (600, 800), "white").save(path, dpi=(100, 100))
    made, _ = document([block(0, "text", "words")], [page(1, unit="px", dpi=100.0)])
    made = replace(made, source=replace(made.source, mime_type="image/png", filename="scan.png"))
    with pymupdf.open(stream=exports.export(exports.Given(made, source=path), "pdf", Limits())) as pdf:
        assert pdf[0].get_text().strip() == "words"
        assert len(pdf[0].get_images()) == 1
        assert (pdf[0].rect.width, pdf[0].rect.height) == (432, 576)
