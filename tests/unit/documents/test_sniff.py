"""What a file is, by content, and the advice for what cannot be read."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.sniff import DOCX, mime_type_of
from tests.support.pdfs import contents

pytestmark = pytest.mark.unit


def archive(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in names:
            file.writestr(name, "content")
    return out.getvalue()


def test_pdf_with_junk_before_or_without_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    whole = contents(["one"])
    for data in (whole, b"\r\nHTTP/1.1 200 OK\r\n\r\n" + whole, whole[whole.index(b"\n") :]):
        path.write_bytes(data)
        assert mime_type_of(path, "picture.png") == "application/pdf"


def test_word_documents_whatever_their_name(tmp_path: Path) -> None:
    path = tmp_path / "letter.pdf"
    for names in (("[Content_Types].xml", "word/document.xml"), ("Word\\Document2.xml",)):
        path.write_bytes(archive(*names))
        assert mime_type_of(path, "letter.pdf") == DOCX


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600


@pytest.mark.parametrize(
    ("data", "filename", "code", "says"),
    [
        (archive("xl/workbook.xml"), None, ErrorCode.unsupported_type, "Excel"),
        (archive("a.pdf"), None, ErrorCode.unsupported_type, "ZIP"),
        (archive("word/document.xml")[:-40], None, ErrorCode.corrupt, "broken"),
        (archive("x")[:-40], "letter.docx", ErrorCode.corrupt, "broken"),
        (archive("x")[:-40], None, ErrorCode.unsupported_type, "ZIP"),
        (OLE, None, ErrorCode.unsupported_type, "old binary"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), None, ErrorCode.encrypted, "password"),
        (b"just words", "words.docx", ErrorCode.unsupported_type, "plain text"),
        (b"<!DOCTYPE html><p>", None, ErrorCode.unsupported_type, "HTML"),
        ("纯文本".encode() * 900, None, ErrorCode.unsupported_type, "plain text"),
        (b"\0\0\0\x18ftypisom", None, ErrorCode.unsupported_type, "video"),
        (bytes(range(128, 256)), "scan.pdf", ErrorCode.unsupported_type, "unknown"),
        (b" \n\0\0", None, ErrorCode.empty_file, "nothing"),
    ],
)
def test_advice(tmp_path: Path, data: bytes, filename: str | None, code: ErrorCode, says: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(DocfleetError, match=says) as error:
        mime_type_of(path, filename)
    assert error.value.code is code


@pytest.mark.parametrize(
    ("brands", "kind"),
    [
        (b"heic\0\0\0\0mif1", "image/heic"),
        (b"mif1\0\0\0\0heic", "image/heic"),
        (b"mif1\0\0\0\0avif", "image/avif"),
        (b"avif\0\0\0\0mif1", "image/avif"),
    ],
)
def test_pictures_of_heif_are_told_by_their_brands(tmp_path: Path, brands: bytes, kind: str) -> None:
    path = tmp_path / "file"
    path.write_bytes((8 + len(brands)).to_bytes(4, "big") + b"ftyp" + brands + b"\0\0\0\x08mdat")
    assert mime_type_of(path) == kind
