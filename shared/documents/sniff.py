"""What a file is, by its content: names and declared types are only a hint for the message when it cannot be read."""

from __future__ import annotations

import zipfile
from pathlib import Path

from shared.contracts.errors import DocfleetError, ErrorCode

PDF = "application/pdf"
IMAGES = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/tiff": "TIFF",
    "image/webp": "WEBP",
    "image/gif": "GIF",
    "image/bmp": "BMP",
    "image/jp2": "JPEG2000",
    "image/avif": "AVIF",
    "image/heic": "HEIF",
}
"""Image types to their Pillow format."""

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_HEAD_BYTES = 2048
_TAIL_BYTES = 2048
_SCAN_BYTES = 4 * 2**20
_ZIP_KINDS = (
    ("xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "an Excel workbook"),
    ("ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation", "slides"),
    ("meta-inf/container.xml", "application/epub+zip", "an EPUB book"),
    ("content.xml", "application/vnd.oasis.opendocument", "an OpenDocument file"),
)
_AS_PDF = "; export it as PDF and submit that"


def mime_type_of(path: Path, filename: str | None = None) -> str:
    """The type of a readable document: PDF, DOCX or one of `IMAGES`.

    Raises `DocfleetError`: `unsupported_type` with advice, `encrypted` for an Office file behind a password, `corrupt` for an
    Office file whose container is broken, `empty_file`.
    """
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        tail = file.read()
    if not head.strip(b"\0 \t\r\n"):
        raise DocfleetError(ErrorCode.empty_file, "the file holds nothing but blanks or zeros")
    if found := _by_magic(head) or _pdf_without_header(head, tail):
        return found
    if head.startswith(b"PK"):
        return _of_zip(path, filename)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise _of_ole(path)
    raise DocfleetError(ErrorCode.unsupported_type, f"{_in_words(head)} cannot be read{_AS_PDF}")


def _by_magic(head: bytes) -> str | None:
    if b"%PDF-" in head[:1024] or head.startswith(b"%PDF"):
        return PDF
    for magic, kind in (
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (b"II+\0", "image/tiff"),
        (b"MM\0+", "image/tiff"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
        (b"\xff\x4f\xff\x51", "image/jp2"),
    ):
        if head.startswith(magic):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0":
        return "image/bmp"
    return _by_brands(head) if head[4:8] == b"ftyp" else None


def _by_brands(head: bytes) -> str | None:
    """A HEIF picture by its brands (ISO/IEC 23008-12): the major one, and the compatible ones where that is the general `mif1`."""
    length = min(int.from_bytes(head[:4], "big"), len(head))
    brands = {head[8:12], *(head[at : at + 4] for at in range(16, length - 3, 4) if head[8:12] in (b"mif1", b"msf1"))}
    if brands & {b"avif", b"avis"}:
        return "image/avif"
    return "image/heic" if brands & {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx"} else None


def _pdf_without_header(head: bytes, tail: bytes) -> str | None:
    """A PDF that lost its first line is still one that readers repair."""
    return PDF if b" obj" in head and (b"startxref" in tail or b"%%EOF" in tail or b"endobj" in tail) else None


def _of_zip(path: Path, filename: str | None) -> str:
    """`DOCX`, or an error: other archives are not read, broken ones cannot be."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.replace("\\", "/").lstrip("/").lower() for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeDecodeError):
        with open(path, "rb") as file:
            office = b"word/" in file.read(_SCAN_BYTES) or (filename or "").lower().endswith(
                (".docx", ".xlsx", ".pptx")
            )
        if office:
            raise DocfleetError(
                ErrorCode.corrupt, "the Office file's container is broken, its end seems to be missing"
            ) from None
        raise DocfleetError(
            ErrorCode.unsupported_type, "a ZIP archive cannot be read; submit the files in it one by one"
        ) from None
    if any(name.startswith("word/document") and name.endswith(".xml") for name in names):
        return DOCX
    for member, kind, words in _ZIP_KINDS:
        if member in names:
            raise DocfleetError(ErrorCode.unsupported_type, f"{words} ({kind}) cannot be read yet{_AS_PDF}")
    raise DocfleetError(ErrorCode.unsupported_type, "a ZIP archive cannot be read; submit the files in it one by one")


def _of_ole(path: Path) -> DocfleetError:
    with open(path, "rb") as file:
        content = file.read(_SCAN_BYTES)
    # Office wraps an encrypted OOXML file into an OLE container with a stream of this name ([MS-OFFCRYPTO] 2.3.4).
    if "EncryptedPackage".encode("utf-16-le") in content:
        return DocfleetError(ErrorCode.encrypted, f"the Office file is protected by a password{_AS_PDF}")
    return DocfleetError(ErrorCode.unsupported_type, f"an old binary Office file cannot be read{_AS_PDF}")


def _in_words(head: bytes) -> str:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for prefix, words in (
        (b"<!doctype html", "an HTML page"),
        (b"<html", "an HTML page"),
        (b"<svg", "an SVG drawing"),
        (b"<?xml", "an XML file"),
        (b"{\\rtf", "an RTF document"),
        (b"%!ps", "a PostScript file"),
        (b"from ", "a mail"),
    ):
        if start.startswith(prefix):
            return words
    if head[4:8] == b"ftyp":
        return "a video, or a picture of a kind of HEIF"
    try:
        head[:1024].decode("utf-8")
        return "plain text"
    except UnicodeDecodeError as error:
        return "plain text" if error.start > 1000 else "a file of unknown type"
