"""What a DOCX may cost, and what it may not do: bombs, lies about sizes, entities, parts outside, broken archives."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path

import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from tests.support.docx import docx, p, part, r, read, texts

pytestmark = pytest.mark.unit


def refused(data: bytes, folder: Path, **limits: int) -> DocfleetError:
    with pytest.raises(DocfleetError) as caught:
        read(data, folder, **limits)
    return caught.value


def test_a_member_that_grows_too_much_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = docx("", raw=part("w:document", f"<w:body>{p(' ' * 4_000_000)}</w:body>"))
    error = refused(bomb, tmp_path)
    assert error.code is ErrorCode.resource_limit
    assert "max_archive_ratio" in error.message
    assert texts(read(bomb, tmp_path, max_archive_ratio=5_000).blocks) == []


def test_bytes_are_counted_as_they_come(tmp_path: Path) -> None:
    noise = os.urandom(150_000).hex()
    data = docx(p(noise))
    error = refused(data, tmp_path, max_unpacked_bytes=200_000)
    assert error.code is ErrorCode.resource_limit
    assert "max_unpacked_bytes" in error.message
    assert texts(read(data, tmp_path, max_unpacked_bytes=400_000).blocks) == [noise]


def test_a_lie_about_the_size_does_not_help(tmp_path: Path) -> None:
    """The directory says 100 bytes; `zipfile` then gives 100 bytes at most, and the XML is cut."""
    content = part("w:document", f"<w:body>{p('x' * 3_000_000)}</w:body>").encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", content)
    data = out.getvalue().replace(struct.pack("<I", len(content)), struct.pack("<I", 100))
    assert refused(data, tmp_path).code is ErrorCode.corrupt


def test_members_are_counted(tmp_path: Path) -> None:
    data = docx(p("x"), parts={f"media/{index}.png": "x" for index in range(20)})
    error = refused(data, tmp_path, max_archive_members=20)
    assert error.code is ErrorCode.resource_limit
    assert "max_archive_members" in error.message
    assert texts(read(data, tmp_path).blocks) == ["x"]


def test_characters_are_counted_in_text_tables_and_notes(tmp_path: Path) -> None:
    data = docx(p("x" * 60) + p("y" * 60))
    error = refused(data, tmp_path, max_flow_characters=100)
    assert error.code is ErrorCode.resource_limit
    assert "max_flow_characters" in error.message
    assert len(read(data, tmp_path, max_flow_characters=120).blocks) == 2


def test_entities_are_not_expanded_and_files_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    declared = (
        f'<!DOCTYPE w [<!ENTITY f SYSTEM "{secret.as_uri()}"><!ENTITY a "{"lol" * 100}"><!ENTITY b "{"&a;" * 100}">]>'
    )
    raw = part("w:document", f"<w:body>{p('before &f; between &b; after')}{p('last')}</w:body>")
    raw = raw.replace("<w:document", declared + "<w:document", 1)
    shown = "\n".join(texts(read(docx("", raw=raw), tmp_path).blocks))
    assert "last" in shown
    assert "the secret" not in shown
    assert "lol" not in shown


def test_pictures_of_other_files_are_not_read(tmp_path: Path) -> None:
    drawing = '<w:r><w:drawing><a:blip r:embed="i"/></w:drawing></w:r>'
    (tmp_path / "outside.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    for target in ("../../outside.png", "/etc/passwd", (tmp_path / "outside.png").as_uri()):
        answer = read(docx(p(drawing), links={"i": ("image", target)}), tmp_path, pictures=True)
        assert answer.pictures == []
        assert "missing" in (answer.blocks[0].reason or "")


def test_depth_beyond_the_parser_and_texts_beyond_it_are_limits(tmp_path: Path) -> None:
    deep = "<w:sdt><w:sdtContent>" * 200 + p("deep") + "</w:sdtContent></w:sdt>" * 200
    assert refused(docx(deep), tmp_path).code is ErrorCode.resource_limit
    below = "<w:sdt><w:sdtContent>" * 100 + p("deep") + "</w:sdtContent></w:sdt>" * 100
    assert texts(read(docx(below), tmp_path).blocks) == ["deep"]


@pytest.mark.parametrize(
    "raw",
    [
        "<w:document",
        "",
        "not xml",
        part("w:document", "<w:body><w:p>"),
        part("w:document", f"<w:body>{p('x')}</w:body>")[:-30],
    ],
)
def test_broken_xml_is_corrupt(tmp_path: Path, raw: str) -> None:
    assert refused(docx("", raw=raw or " "), tmp_path).code is ErrorCode.corrupt


def test_broken_archives_are_corrupt(tmp_path: Path) -> None:
    whole = docx(p(r("x")))
    flipped = bytearray(whole)
    at = whole.index(b"word/document.xml") + 40
    for index in range(at, at + 30):
        flipped[index] ^= 0x5A
    for data in (whole[: len(whole) // 2], bytes(flipped), b"PK\3\4"):
        assert refused(data, tmp_path).code is ErrorCode.corrupt


def test_an_archive_that_does_not_name_its_text_is_corrupt(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("word/styles.xml", part("w:styles", ""))
    assert refused(out.getvalue(), tmp_path).code is ErrorCode.corrupt


def test_parts_are_found_whatever_the_case_and_slashes_of_their_names(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        info = zipfile.ZipInfo("Word/Document.xml")
        info.filename = "Word\\Document.xml"
        file.writestr(info, part("w:document", f"<w:body>{p('found')}</w:body>"))
    assert texts(read(out.getvalue(), tmp_path).blocks) == ["found"]
