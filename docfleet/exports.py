"""Exports on disk: what a format needs is read, made, and written in place of an older one.

Pages are drawn by the document child, the process that opens hostile bytes everywhere in docfleet, and come here as JPEG.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image

from docfleet.background import Background
from docfleet.exporters import FORMATS, Name
from docfleet.exporters.chunks import MAX_CHARS
from docfleet.files import write_whole
from shared.contracts.codec import decode, encode
from shared.contracts.document import Page, ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents import sniff
from shared.documents.opener import Documents
from shared.settings import Limits

VIEW_DPI = 96
"""Resolution of pages in the HTML view: an A4 page is 800 pixels wide, half of a screen."""
VIEW_QUALITY = 70
"""JPEG quality there: an A4 page of text is about 100 kB."""
VIEW_WIDTH = 1_200
"""Pixels across there, at most: images of high resolution are made smaller."""


@dataclass(frozen=True)
class Given:
    """What an export is made of: the document; where its Markdown and its source lie, as far as they are there."""

    document: ParsedDocument
    markdown: Path | None = None
    source: Path | None = None
    password: str | None = None


def read(path: Path) -> ParsedDocument:
    """A `document.json`. Raises `OSError`, `DocfleetError(invalid_message)` that names the file."""
    try:
        return decode(path.read_bytes(), ParsedDocument)
    except DocfleetError as error:
        raise DocfleetError(error.code, f"{path} is no parsed document: {error.message}") from error


def is_export(path: Path) -> bool:
    """Whether a file is named as an export is."""
    return any(path.name.endswith(form.suffix) for form in FORMATS.values())


def existing(path: Path) -> Path | None:
    """The path if a file is there."""
    return path if path.is_file() else None


def beside(path: Path, document: ParsedDocument) -> Path | None:
    """The source of a document where it lies beside it under its own name; never outside that folder."""
    name = Path(document.source.filename or document.source.key).name
    return existing(path.with_name(name)) if name else None


def checked_source(document: ParsedDocument, source: Path) -> Path:
    """The path again. Raises `DocfleetError(source_changed)` when the file is not the one that was parsed, `OSError`."""
    with source.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if document.source.sha256 not in (None, found):
        raise DocfleetError(ErrorCode.source_changed, f"{source.name} is not the file that was parsed")
    return source


def export(given: Given, name: Name, limits: Limits, *, max_chars: int = MAX_CHARS) -> bytes:
    """The bytes of an export.

    Raises `DocfleetError`: `source_missing` where Markdown or source is needed and not given, `unsupported_type` where the
    document has nothing the format could hold, and what opening the source raises; `ChildDied` when that killed the child.
    """
    document = given.document
    if name == "docling":
        from docfleet.exporters.docling import docling

        return _json(docling(document))
    if name == "content-list":
        from docfleet.exporters.content_list import content_list

        return _json(content_list(document))
    if name == "elements":
        from docfleet.exporters.elements import elements

        return _json(elements(document))
    if name == "alto":
        from docfleet.exporters.alto import alto

        return alto(document)
    if name == "hocr":
        from docfleet.exporters.hocr import hocr

        return hocr(document)
    if name == "chunks":
        from docfleet.exporters.chunks import chunks

        return b"".join(encode(chunk) + b"\n" for chunk in chunks(document, _markdown(given), max_chars))
    if name == "pdf":
        return _pdf(given, limits)
    return _html(given, limits)


async def written_beside(
    document: Path, source: Path, names: Sequence[Name], limits: Limits, password: str | None
) -> tuple[list[Path], list[str]]:
    """Export a parsed document that lies on disk, beside itself, in a thread of its own: the files, and why others could not be made.

    Raises what says that the child is at fault (`ChildDied`, `ChildFault`, `ChildStalled`), and `OSError`; what is written stays.
    """

    def work() -> tuple[list[Path], list[str]]:
        given = Given(read(document), existing(document.with_suffix(".md")), source, password)
        files, refused = [], []
        for name in names:
            try:
                files.append(write_whole(target_of(document, name, None), export(given, name, limits)))
            except DocfleetError as error:
                refused.append(f"{name}: {error.message}")
        return files, refused

    return await asyncio.to_thread(work)


def target_of(document: Path, name: Name, out: Path | None) -> Path:
    """Where an export goes: the file `out` when it is named with a suffix, else beside the document or in the folder `out`."""
    stem = document.name.removesuffix(".json")
    if out is None:
        return document.with_name(stem + FORMATS[name].suffix)
    return out / (stem + FORMATS[name].suffix) if out.is_dir() or not out.suffix else out


def _json(value: Any) -> bytes:
    """For people and programs: indented, keys in the order they are written in."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _markdown(given: Given) -> str:
    if given.document.markdown.text is not None:
        return given.document.markdown.text
    if given.markdown is None:
        raise DocfleetError(ErrorCode.source_missing, "the Markdown of the document is needed and not there")
    return given.markdown.read_text(encoding="utf-8")


def _html(given: Given, limits: Limits) -> bytes:
    from docfleet.exporters.html import html

    pictures: Mapping[int, bytes] = {}
    if given.source is not None:
        pages = [page for page in given.document.pages if page.unit is not None and page.status != "skipped"]
        with _Artist(given, limits) as artist:
            drawn = {page.page_no: artist.picture(page, VIEW_DPI) for page in pages}
        pictures = {page_no: _smaller(jpeg) for page_no, jpeg in drawn.items() if jpeg is not None}
    return html(given.document, pictures)


def _pdf(given: Given, limits: Limits) -> bytes:
    from docfleet.exporters.searchable import DPI, searchable

    if given.source is None:
        raise DocfleetError(ErrorCode.source_missing, "the file that was parsed is needed and not there")
    is_pdf = given.document.source.mime_type == sniff.PDF
    with _Artist(given, limits) as artist:
        picture_of: Callable[[Page], bytes | None] = lambda page: artist.picture(page, DPI)
        return searchable(given.document, picture_of, given.source if is_pdf else None, given.password)


_PAGE_FAULTS = (ErrorCode.corrupt, ErrorCode.resource_limit)
"""Errors that one page may have while the others can be drawn."""


class _Artist:
    """Draws pages of a source; the child starts with the first one. A context manager."""

    def __init__(self, given: Given, limits: Limits) -> None:
        self._given = given
        self._limits = limits
        self._background: Background | None = None
        self._documents: Documents | None = None

    def __enter__(self) -> _Artist:
        return self

    def __exit__(self, *_: object) -> None:
        if self._background is not None:
            if self._documents is not None:
                self._background.run(self._documents.close())
            self._background.close()

    def picture(self, page: Page, dpi: int) -> bytes | None:
        """A page as JPEG, none where it is broken or too large to be drawn. Raises what opening the whole source raises, and `ChildDied`."""
        if self._background is None:
            self._background = Background()
        try:
            return self._background.run(self._drawn(page, dpi))
        except DocfleetError as error:
            if error.code not in _PAGE_FAULTS:
                raise
            return None

    async def _drawn(self, page: Page, dpi: int) -> bytes:
        if self._documents is None:
            self._documents = Documents(self._limits, name="export")
        source = self._given.source
        assert source is not None  # asked for only where there is one
        _, pictures = await self._documents.open_page(
            source,
            self._given.document.source.mime_type or "",
            page.page_no,
            password=self._given.password,
            picture="always",
            layout_picture=False,
            dpi=dpi,
            jpeg=True,
            rotation=page.rotation,
        )
        with pictures:
            assert pictures.jpeg is not None  # asked for by jpeg=True
            return pictures.jpeg[1].tobytes()


def _smaller(jpeg: bytes) -> bytes:
    """A picture for a screen."""
    with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as image:
        image.draft("RGB", (VIEW_WIDTH, VIEW_WIDTH))
        picture = image.convert("RGB")
    if picture.width > VIEW_WIDTH:
        picture = picture.resize((VIEW_WIDTH, max(1, round(picture.height * VIEW_WIDTH / picture.width))))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=VIEW_QUALITY)
    return out.getvalue()
