"""Searchable PDF: what the document looks like, with the text that was found in it in place.

A page of the source is taken over as it is, sharp and with its links, and what had to be read is added as invisible text (rendering mode 3),
each line in its box. Only where the source has text of its own under what was read (a bad text layer, fonts without Unicode) the page becomes
a picture with all its text added: search finds what was read, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
FONT = "DocfleetGlyphLess"
"""Name in the resources of pages, which may have fonts of their own."""


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
        kept = [original is not None and _keeps(original, page) for page in pages]
        numbers = [page.page.page_no for page in pages]
        # At once where it can be: links from page to page are kept only among pages that are copied together.
        whole = all(kept) and numbers == list(range(1, len(pages) + 1)) and _taken_over(pdf, original, 1, len(pages))
        for index, page in enumerate(pages):
            number = page.page.page_no
            if whole or (kept[index] and _taken_over(pdf, original, number, number)):
                _complete(pdf, index, page, codes)
            else:
                _add(pdf, page, picture_of(page.page), codes)
        pdf.set_toc(_outline(document, numbers))
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


def _keeps(original: Any, page: PlacedPage) -> bool:
    """Whether a page of the source can be taken over: it is shown as it was parsed, and has no text of its own under what was read."""
    import pymupdf

    number = page.page.page_no - 1
    if number >= original.page_count:
        return False
    try:
        sheet = original[number]
        if sheet.rotation % 360 != page.page.rotation or abs(sheet.rect.width - page.page.width) > 1.0:
            return False  # turned, or in units of its own (UserUnit)
        read = [block.box for block in page.blocks if block.lines and block.block.method not in _OWN]
        if not read:
            return True
        turned = sheet.rotation_matrix
        words = [pymupdf.Point((w[0] + w[2]) / 2, (w[1] + w[3]) / 2) * turned for w in sheet.get_text("words")]
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):  # PyMuPDF raises MuPDF's words in any of them
        return False
    return not any(x0 <= word.x <= x1 and y0 <= word.y <= y1 for word in words for x0, y0, x1, y1 in read)


def _taken_over(pdf: Any, original: Any, first: int, last: int) -> bool:
    """Copy pages (1-based, both included); what is left of those that cannot be copied whole is taken out again."""
    import pymupdf

    before: int = pdf.page_count
    try:
        pdf.insert_pdf(original, from_page=first - 1, to_page=last - 1, final=0)  # what pages share is copied once
        copied: int = pdf.page_count - before
        if copied == last - first + 1:
            return True
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
        pass
    if pdf.page_count > before:
        pdf.delete_pages(list(range(before, pdf.page_count)))
    return False


def _complete(pdf: Any, index: int, page: PlacedPage, codes: Codes) -> None:
    """Add what was read to a page of the source."""
    lines = [line for block in page.blocks if block.block.method not in _OWN for line in block.lines]
    if not lines:
        return
    sheet = pdf[index]
    sheet.wrap_contents()
    rotation, upright = sheet.rotation, sheet.derotation_matrix
    sheet.set_rotation(0)  # the other matrix is right for upright pages only
    to_page = upright * ~sheet.transformation_matrix
    sheet.set_rotation(rotation)
    _write(pdf, sheet, lines, 1.0, tuple(to_page), codes)


def _add(pdf: Any, page: PlacedPage, picture: bytes | None, codes: Codes) -> None:
    """Add a page that is a picture with its text."""
    import pymupdf

    scale = 1.0 if page.page.unit == "pt" else 72.0 / (page.page.dpi or DPI)
    scale = min(scale, _MAX_SIDE / max(page.page.width, page.page.height, 1e-6))
    width, height = (max(_MIN_SIDE, side * scale) for side in (page.page.width, page.page.height))
    sheet = pdf.new_page(width=width, height=height)
    if picture is not None:
        sheet.insert_image(pymupdf.Rect(0, 0, width, height), stream=picture, keep_proportion=False)
    lines = [line for block in page.blocks for line in block.lines]
    if lines:
        _write(pdf, sheet, lines, scale, (1.0, 0.0, 0.0, -1.0, 0.0, height), codes)


def _write(
    pdf: Any, sheet: Any, lines: Sequence[PlacedLine], scale: float, to_page: Sequence[float], codes: Codes
) -> None:
    """Append invisible lines to a page's contents; `to_page` leads from the page as displayed, origin top left, to its own frame."""
    matrix = " ".join(f"{value:.4f}" for value in to_page)
    operators = [f"q {matrix} cm BT 3 Tr", *(_drawn(line, scale, codes) for line in lines), "ET Q"]
    text = pdf.get_new_xref()
    pdf.update_object(text, "<<>>")
    pdf.update_stream(text, "\n".join(operators).encode("ascii"), compress=True)
    _name_font(pdf, sheet.xref, codes.embedded(pdf))
    contents = " ".join(f"{xref} 0 R" for xref in [*sheet.get_contents(), text])
    pdf.xref_set_key(sheet.xref, "Contents", f"[{contents}]")


def _name_font(pdf: Any, page: int, font: int) -> None:
    """Put the font into the page's resources, wherever these lie."""
    holder, path = page, ""
    for name in ("Resources", "Font"):
        kind, value = pdf.xref_get_key(holder, path + name)
        holder, path = (int(value.split()[0]), "") if kind == "xref" else (holder, f"{path}{name}/")
    pdf.xref_set_key(holder, path + FONT, f"{font} 0 R")


def _shown(line: PlacedLine) -> str:
    return " ".join(line.text.split())


def _drawn(line: PlacedLine, scale: float, codes: Codes) -> str:
    """The operators of a line: its text as long as its box, its size the box's height (of a vertical line, its width)."""
    x0, y0, x1, y1 = (value * scale for value in line.box)
    text = _shown(line)
    thick, long = (x1 - x0, y1 - y0) if line.vertical else (y1 - y0, x1 - x0)
    size = max(0.1, thick)
    stretch = 100 * max(0.1, long) / (codes.width(text) * size)
    if line.vertical:
        matrix = f"0 1 1 0 {x0 + DESCENT * size:.2f} {y0:.2f}"
    else:
        matrix = f"1 0 0 -1 {x0:.2f} {y1 - DESCENT * size:.2f}"
    return f"/{FONT} {size:.2f} Tf {stretch:.3f} Tz {matrix} Tm <{codes.shown(text)}> Tj"


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
