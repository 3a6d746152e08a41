"""PDF files through MuPDF: open, look at all pages, open one of them. Runs in the document child only.

PyMuPDF is imported by nothing else, because its import takes 0.7 s of CPU that a child which only sees images can save.
"""

from __future__ import annotations

import contextlib
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pymupdf
from pymupdf import mupdf

from shared.children.block import Block
from shared.contracts.document import OutlineEntry, Warning, rounded
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import PageGeometry
from shared.documents import sniff
from shared.documents.annotations import annotations_of, field_lines, storable
from shared.documents.blame import raised_in
from shared.documents.frame import Frame
from shared.documents.limits import Bounds, check_pages, check_pixels
from shared.documents.links import links_of
from shared.documents.marks import Marks, prepare
from shared.documents.page import Inspected, OpenedPage, PageAnswer, PageCall
from shared.documents.pictures import SMALL_SIDE, packed
from shared.documents.raster import Drawn, draw, render
from shared.documents.showing import shows_more_than_it_says
from shared.documents.streams import Streams
from shared.documents.text import native_lines, raw_text

_FULL_PAGE = 0.9
"""Image coverage from which a page counts as one picture; scanners leave a margin."""
_MIN_SIDE, _MAX_SIDE = 1.0, 1e7
"""Points of a page's side that can be worked with; PDF itself allows 3 to 14,400 times UserUnit."""
_PATH = re.compile(r"'[^']*'|/\S+")
"""Names of files in MuPDF's words: ours are temporary, and an error message is shown to anybody."""
_MAX_OUTLINE = 10_000
_KNOWN_PAGES = 4
"""As many as a layout worker has in flight by default."""
_LETTER = PageGeometry(width=612.0, height=792.0)
"""Geometry of a page that cannot be opened, as PDF readers assume it."""
prepare()


class PdfFile:
    """An open PDF."""

    def __init__(self, path: Path, password: str | None, limits: Bounds) -> None:
        """Raises `encrypted`, `corrupt`, `too_large`, `MemoryError`."""
        self._limits = limits
        self._guessed: dict[int, bool] = {}
        self._known: OrderedDict[tuple[int, int], tuple[OpenedPage, Marks, list[Warning]]] = OrderedDict()
        with _reading(None):
            self._document = _opened(path, password)
            count = self._document.page_count
            self._streams = Streams(self._document, limits)
        if count == 0:
            raise DocfleetError(ErrorCode.corrupt, "the PDF has no page that can be found")
        check_pages(count, limits)

    def close(self) -> None:
        self._document.close()

    def inspect(self) -> Inspected:
        """Geometry of all pages and the outline. Raises `corrupt` when no page can be opened, `MemoryError`."""
        pages: list[PageGeometry] = []
        broken = 0
        for number in range(self._document.page_count):
            try:
                with _reading(number + 1):
                    frame, _ = self._open(number)
                pages.append(PageGeometry(width=frame.width, height=frame.height, rotation=frame.rotation))
            except DocfleetError:
                # The page is listed all the same; opening it gives its own error.
                broken += 1
                pages.append(_LETTER)
        if broken == len(pages):
            raise DocfleetError(ErrorCode.corrupt, "no page of the PDF can be opened")
        return Inspected(
            mime_type=sniff.PDF, unit="pt", pages=pages, outline=self._outline(), warnings=self._warnings()
        )

    def open_page(self, call: PageCall) -> tuple[PageAnswer, list[Block]]:
        """Text, marks and pictures of a page. Raises `corrupt`, `resource_limit`, `MemoryError`."""
        if not 1 <= call.page_no <= self._document.page_count:
            raise DocfleetError(ErrorCode.corrupt, f"there is no page {call.page_no}", page_no=call.page_no)
        complaints = _Complaints()
        with _reading(call.page_no), self._turned(call.page_no - 1, call.rotation) as own:
            frame, page = self._open(call.page_no - 1)
            opened, marks, noted = self._looked_at(page, frame, own, call.page_no)
            drawn = None
            later = call.layout_picture and marks.transparent  # who sees the small picture says what is wanted
            wanted = call.picture == "always" or (call.picture == "auto" and shows_more_than_it_says(opened, later))
            if wanted or call.layout_picture:
                for info in marks.infos:
                    check_pixels(info["width"], info["height"], self._limits, call.page_no)
            if wanted:
                drawn = draw(page, frame, marks, call.dpi, self._limits, call.parts)
            small = None
            if call.layout_picture and drawn is None:
                small = render(page, SMALL_SIDE / max(frame.width, frame.height))
        warnings = complaints.warnings(call.page_no) or list(noted)
        if drawn is not None:
            if drawn.scaled:
                message = "the page is larger than limits.max_page_pixels; its picture was made smaller"
                warnings.append(Warning(code="render_scaled", message=message, page_no=call.page_no))
            opened = msgspec.structs.replace(opened, scale=drawn.scale, dpi=rounded(drawn.scale * 72.0))
        opened = msgspec.structs.replace(opened, warnings=warnings)
        jpeg = drawn.jpeg() if drawn is not None and call.jpeg and not _may_wait(drawn, opened, call) else None
        if drawn is None:
            return packed(opened, small=small, full=None, jpeg=None)
        return packed(opened, small=small, full=drawn.pixels, jpeg=jpeg, box=drawn.box, whole=drawn.whole)

    @contextlib.contextmanager
    def _turned(self, number: int, rotation: int | None) -> Iterator[int]:
        """The page at another rotation for a while; gives its own. MuPDF keeps it with the document, which stays open for the next call."""
        page = self._document.load_page(number)
        own = page.rotation % 360
        if rotation is None or own == rotation:
            yield own
            return
        page.set_rotation(rotation)
        try:
            yield own
        finally:
            page.set_rotation(own)

    def _open(self, number: int) -> tuple[Frame, Any]:
        page = self._document.load_page(number)
        rect, rotation = page.rect, page.rotation % 360
        if not (_MIN_SIDE <= rect.width <= _MAX_SIDE and _MIN_SIDE <= rect.height <= _MAX_SIDE):
            raise DocfleetError(ErrorCode.corrupt, "the page has no area, or one beyond measure", page_no=number + 1)
        size = (rect.height, rect.width) if rotation in (90, 270) else (rect.width, rect.height)
        return Frame(*size, rotation), page

    def _looked_at(self, page: Any, frame: Frame, own: int, page_no: int) -> tuple[OpenedPage, Marks, list[Warning]]:
        """The page's text and marks, and what MuPDF noted on the way. A page is often opened a second time for its picture, when somebody
        has seen that one is needed: the last few are remembered."""
        key = (page_no, frame.rotation)
        known = self._known.pop(key, None)
        if known is None:
            complaints = _Complaints()
            opened, marks = self._look(page, frame, own, page_no)
            known = opened, marks, complaints.warnings(page_no)
            while len(self._known) >= _KNOWN_PAGES:
                self._known.popitem(last=False)
        self._known[key] = known
        return known

    def _look(self, page: Any, frame: Frame, own: int, page_no: int) -> tuple[OpenedPage, Marks]:
        self._streams.check(page, page_no)
        turned = frame.rotation != 0
        if turned:
            page.set_rotation(0)
        try:
            marks = Marks(page, *frame.unrotated, self._limits.max_page_drawings)
            text = raw_text(page, self._limits, page_no)
            lines = native_lines(page, frame, marks, text)
            annotations = annotations_of(page, frame, lines)
            links = links_of(page, frame, own, [line for origin, line in text.lines if origin == "contents"])
            fields = [one for one in annotations if one.kind == "widget" and one.shown]
            if fields:
                shown = field_lines([line for line in lines if line.origin == "widget"], fields)
                lines = [*(line for line in lines if line.origin != "widget"), *shown]
        finally:
            if turned:
                page.set_rotation(frame.rotation)
        coverage = marks.image_coverage
        drawn = marks.drawn_coverage
        seen = any(line.visible for line in lines) or any(one.shown for one in annotations)
        fonts = page.get_fonts(full=True) if any(line.visible for line in lines) else []
        opened = OpenedPage(
            page_no=page_no,
            width=frame.width,
            height=frame.height,
            unit="pt",
            rotation=frame.rotation,
            lines=lines,
            guessed_fonts=self._guessed_fonts(fonts),
            unembedded_fonts=sorted(
                {storable(name) for _, kind, subtype, name, *_ in fonts if kind == "n/a" and subtype != "Type3"}
            ),
            image_coverage=coverage,
            full_page_image=coverage >= _FULL_PAGE,
            drawn_coverage=drawn,
            blank=not seen and (marks.nothing or (not marks.images and drawn == 0.0)),
            rules=marks.rules(frame),
            filled_boxes=marks.filled_boxes(frame),
            image_boxes=marks.image_boxes(frame),
            annotations=annotations,
            links=links,
        )
        return opened, marks

    def _guessed_fonts(self, fonts: Sequence[tuple[Any, ...]]) -> list[str]:
        """Names of embedded fonts without ToUnicode whose codes mean nothing by themselves: TrueType without an encoding, and Type 3, whose
        names of glyphs are anybody's. Only their shapes say what they are."""
        names = set()
        for xref, kind, subtype, name, _, encoding, *_ in fonts:
            if subtype != "Type3" and (subtype != "TrueType" or kind == "n/a" or encoding):
                continue
            if xref not in self._guessed:
                keys = ("ToUnicode",) if subtype == "Type3" else ("ToUnicode", "Encoding")
                self._guessed[xref] = all(self._document.xref_get_key(xref, key)[0] == "null" for key in keys)
            if self._guessed[xref]:
                names.add(f"Type3 ({xref} 0 R)" if subtype == "Type3" else storable(name))  # as MuPDF calls it
        return sorted(names)

    def _outline(self) -> list[OutlineEntry]:
        with contextlib.suppress(DocfleetError), _reading(None):
            entries = self._document.get_toc(simple=True)[:_MAX_OUTLINE]
            return [
                OutlineEntry(level=level, title=storable(title), page_no=page_no if page_no > 0 else None)
                for level, title, page_no in entries
            ]
        return []

    def _warnings(self) -> list[Warning]:
        if not self._document.is_repaired:
            return []
        message = "the PDF's structure is damaged and was rebuilt; parts may be missing"
        return [Warning(code="repaired", message=message)]


def _opened(path: Path, password: str | None) -> Any:
    document = pymupdf.open(str(path), filetype="pdf")
    if document.needs_pass:
        if password is None:
            raise DocfleetError(
                ErrorCode.encrypted, "the PDF needs a password; name its secret in options.password_ref"
            )
        if not document.authenticate(password):
            raise DocfleetError(
                ErrorCode.encrypted, "the password that options.password_ref names does not open the PDF"
            )
    return document


def _may_wait(drawn: Drawn, opened: OpenedPage, call: PageCall) -> bool:
    """Whether the picture need not be encoded yet: the page has text of its own, so perhaps nobody will read its picture."""
    return call.jpeg_may_wait and drawn.encoded is None and any(line.visible for line in opened.lines)


class _Complaints:
    """What MuPDF notes while it goes on: it leaves out what it cannot decode, also for want of memory, and raises nothing."""

    def __init__(self) -> None:
        pymupdf.TOOLS.reset_mupdf_warnings()

    def warnings(self, page_no: int) -> list[Warning]:
        """A warning where something was left out. Raises `MemoryError` when it was left out for want of memory."""
        noted = pymupdf.TOOLS.mupdf_warnings(reset=True)
        if any(words in noted for words in _OUT_OF_MEMORY):
            raise MemoryError
        if not any(words in noted for words in _LEFT_OUT):
            return []
        message = "parts of the page's content are damaged and may be missing"
        return [Warning(code="repaired", message=message, page_no=page_no)]


_OUT_OF_MEMORY = ("malloc", "calloc", "realloc", "out of memory", "exceeds system limits")
"""Words of MuPDF's allocator, and of OpenJPEG when a tile cannot be allocated."""
_LEFT_OUT = ("Ignoring error", "gnored error", "may not be correct", "premature end", "library error")


@contextlib.contextmanager
def _reading(page_no: int | None) -> Iterator[None]:
    """What the library raises about a file is the file's fault and becomes `corrupt`; what we raise stays what it is."""
    try:
        yield
    except (DocfleetError, MemoryError):
        raise
    except Exception as error:
        if not (isinstance(error, mupdf.FzErrorBase) or raised_in(error, "pymupdf")):
            raise
        words = _PATH.sub("the file", str(error))
        if isinstance(error, mupdf.FzErrorSystem) and "alloc" in words:
            raise MemoryError from error
        raise DocfleetError(
            ErrorCode.corrupt, f"the PDF cannot be read: {type(error).__name__}: {words[:120]}", page_no=page_no
        ) from error
