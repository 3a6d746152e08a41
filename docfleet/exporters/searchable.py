"""Searchable PDF: what the document looks like, with the text that was found in it in place.

A page whose text is all its own is taken over from the source as it is, sharp and with its links. Every other page is its picture, with
each line as invisible text (rendering mode 3) in its box: search finds what was read, and what was garbage or hidden in the
source is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docfleet.exporters.glyphless import DESCENT, Codes
from docfleet.exporters.placed import PlacedLine, PlacedPage, placed
from shared.contracts.document import Page, ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode

DPI = 200
"""Resolution of pictures made of PDF pages; and assumed for images that do not say theirs."""
_OWN = ("native", "form")
"""Methods of blocks whose text is in the source."""
_MAX_SIDE, _MIN_SIDE = 14_400.0, 3.0
"""Points of a page's side (PDF 32000-1, annex C)."""
_FONT = "GlyphLess"


def keeps_source(page: PlacedPage) -> bool:
    """Whether a page of a PDF is taken over as it is: nothing on it had to be read."""
    return all(block.block.method in _OWN for block in page.blocks if block.lines) and page.page.kind in (
        "native",
        "blank",
    )


def searchable(
    document: ParsedDocument,
    picture_of: Callable[[Page], bytes | None],
    source: Path | None = None,
    password: str | None = None,
) -> bytes:
    """The PDF; equal inputs give equal bytes.

    `picture_of` gives a JPEG of a whole page as displayed, none where it cannot be drawn (its sheet stays empty); it is asked for each page
    that is not kept, in order. `source` is the PDF that pages are kept of; without one none is.
    Raises `DocfleetError`: `unsupported_type` for a document without geometry, `encrypted` and `corrupt` where the source cannot be
    opened, and what `picture_of` raises.
    """
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)  # what it says on stderr about broken files helps nobody here
    pages = placed(document)
    codes = Codes(c for page in pages for block in page.blocks for line in block.lines for c in _shown(line))
    original = _opened(source, password) if source is not None else None
    with pymupdf.open() as pdf:
        font = 0
        for page in pages:
            if original is not None and keeps_source(page) and _taken_over(pdf, original, page.page.page_no - 1):
                continue
            font = font or codes.embedded(pdf)
            _add(pdf, page, picture_of(page.page), codes, font)
        pdf.set_toc(_outline(document, [page.page.page_no for page in pages]))
        pdf.set_metadata({"title": document.source.filename or document.document_id, "producer": "docfleet"})
        data: bytes = pdf.tobytes(garbage=3, deflate=True, use_objstms=1, reproducible=True, no_new_id=True)
    if original is not None:
        original.close()
    return data


def _opened(source: Path, password: str | None) -> Any:
    import pymupdf

    try:
        original = pymupdf.open(str(source), filetype="pdf")
    except (pymupdf.FileDataError, pymupdf.EmptyFileError) as error:
        raise DocfleetError(ErrorCode.corrupt, "the source is no PDF that can be opened") from error
    if original.needs_pass and not original.authenticate(password or ""):
        raise DocfleetError(ErrorCode.encrypted, "the source needs a password")
    return original


def _taken_over(pdf: Any, original: Any, number: int) -> bool:
    """Copy a page, if it is there; what is left of one that cannot be copied whole is taken out again."""
    import pymupdf

    before: int = pdf.page_count
    if number >= original.page_count:
        return False
    try:
        pdf.insert_pdf(original, from_page=number, to_page=number)
        copied: int = pdf.page_count - before
        return copied == 1
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):  # PyMuPDF raises MuPDF's words in any of them
        if pdf.page_count > before:
            pdf.delete_page(-1)
        return False


def _add(pdf: Any, page: PlacedPage, picture: bytes | None, codes: Codes, font: int) -> None:
    import pymupdf

    scale = 1.0 if page.page.unit == "pt" else 72.0 / (page.page.dpi or DPI)
    scale = min(scale, _MAX_SIDE / max(page.page.width, page.page.height, 1e-6))
    width, height = (max(_MIN_SIDE, side * scale) for side in (page.page.width, page.page.height))
    sheet = pdf.new_page(width=width, height=height)
    if picture is not None:
        sheet.insert_image(pymupdf.Rect(0, 0, width, height), stream=picture, keep_proportion=False)
    lines = [line for block in page.blocks for line in block.lines]
    if not lines:
        return
    operators = ["q BT 3 Tr", *(_drawn(line, scale, height, codes) for line in lines), "ET Q"]
    text = pdf.get_new_xref()
    pdf.update_object(text, "<<>>")
    pdf.update_stream(text, "\n".join(operators).encode("ascii"), compress=True)
    kind, place = pdf.xref_get_key(sheet.xref, "Resources")
    holder, prefix = (int(place.split()[0]), "") if kind == "xref" else (sheet.xref, "Resources/")
    pdf.xref_set_key(holder, f"{prefix}Font", f"<</{_FONT} {font} 0 R>>")  # the page is ours and has no other font
    contents = " ".join(f"{xref} 0 R" for xref in [*sheet.get_contents(), text])
    pdf.xref_set_key(sheet.xref, "Contents", f"[{contents}]")


def _shown(line: PlacedLine) -> str:
    return " ".join(line.text.split())


def _drawn(line: PlacedLine, scale: float, height: float, codes: Codes) -> str:
    """The operators of a line: its text as long as its box, its size the box's height (of a vertical line, its width)."""
    x0, y0, x1, y1 = (value * scale for value in line.box)
    text = _shown(line)
    thick, long = (x1 - x0, y1 - y0) if line.vertical else (y1 - y0, x1 - x0)
    size = max(0.1, thick)
    stretch = 100 * max(0.1, long) / (codes.width(text) * size)
    if line.vertical:
        matrix = f"0 -1 1 0 {x0 + DESCENT * size:.2f} {height - y0:.2f}"
    else:
        matrix = f"1 0 0 1 {x0:.2f} {height - y1 + DESCENT * size:.2f}"
    return f"/{_FONT} {size:.2f} Tf {stretch:.3f} Tz {matrix} Tm <{codes.shown(text)}> Tj"


def _outline(document: ParsedDocument, pages: list[int]) -> list[list[Any]]:
    """Bookmarks: those of the source, else the headings; levels begin at 1 and go down one by one, as PDF libraries want them."""
    place = {number: index for index, number in enumerate(pages, 1)}
    entries = [(entry.level, entry.title, entry.page_no) for entry in document.outline]
    if not entries:
        stack = [(section, 1) for section in reversed(document.sections)]
        while stack:
            section, level = stack.pop()
            entries += [(level, section.title, section.page_start)] if section.title else []
            stack += [(child, level + bool(section.title)) for child in reversed(section.children)]
    out: list[list[Any]] = []
    for level, title, page_no in entries:
        if page_no in place:
            level = min(max(1, level), (out[-1][0] if out else 0) + 1)
            out.append([level, " ".join(title.split()), place[page_no]])
    return out
