"""Whether a page's own text is used, line by line: it must be there, be visible and be sane Unicode.

Decided per line, because real pages are mixed: a native header over a scanned body, one broken font among good ones. What is visible
but can't be used is read from the picture at its place; what can't be seen is kept apart as `invisible` and never becomes body text.
An OCR layer (invisible text over the picture of a whole page) is text of unknown quality: the picture is read instead, except with
`ocr: off`, where it is all there is.
"""

from __future__ import annotations

import msgspec

from shared.contracts.document import PageKind, Warning
from shared.contracts.layout import TextLine
from shared.contracts.options import Options
from shared.documents.page import NativeLine, OpenedPage

LEAST_IMAGE = (12.0, 36.0)
"""Points, short and long side: a smaller picture on a page holds no line of text worth a look."""


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """What a page's own text is worth."""

    trusted: list[TextLine] = []
    red: list[bool] = []
    """For each trusted line, whether its colour is red."""
    untrusted: list[TextLine] = []
    """Visible, but to be read from the picture; without text."""
    invisible: list[TextLine] = []
    reasons: list[str] = []
    warnings: list[Warning] = []


def judge(page: OpenedPage, ocr: str, page_no: int) -> Trust:
    """Sort the native lines of a page. `ocr` is `Options.ocr`."""
    lines = [line for line in page.lines if line.text.strip()]
    seen = [line for line in lines if line.visible]
    hidden = [line for line in lines if not line.visible]
    layer = bool(hidden) and page.full_page_image and not seen
    if ocr == "force":
        return Trust(
            untrusted=[_text_line(line, text=False) for line in seen],
            invisible=[_text_line(line) for line in hidden],
            reasons=["ocr=force"],
        )
    if ocr == "off":
        used = hidden if layer else seen
        broken = sum(line.bad_unicode for line in used)
        return Trust(
            trusted=[_text_line(line) for line in used],
            red=[_is_red(line) for line in used],
            invisible=[] if layer else [_text_line(line) for line in hidden],
            reasons=["ocr=off", *(["ocr_layer used"] if layer else [])],
            warnings=[_bad_unicode(broken, page_no, "was kept, because ocr is off")] if broken else [],
        )
    good = [line for line in seen if not line.bad_unicode]
    bad = [line for line in seen if line.bad_unicode]
    reasons = [f"native_lines={len(good)}"]
    reasons += [f"bad_unicode_lines={len(bad)}"] if bad else []
    reasons += [f"invisible_lines={len(hidden)}"] if hidden else []
    reasons += ["ocr_layer not used"] if layer else []
    return Trust(
        trusted=[_text_line(line) for line in good],
        red=[_is_red(line) for line in good],
        untrusted=[_text_line(line, text=False) for line in bad],
        invisible=[_text_line(line) for line in hidden],
        reasons=reasons,
        warnings=[_bad_unicode(len(bad), page_no, "was read from the picture")] if bad else [],
    )


def pictures_to_read(page: OpenedPage, options: Options) -> list[list[float]]:
    """Boxes (page units) of pictures on the page that may hold text. Empty with `ocr: off`; the whole page for an image file."""
    if options.ocr == "off":
        return []
    if page.unit == "px":
        return [[0.0, 0.0, page.width, page.height]]
    short, long = LEAST_IMAGE
    sizes = [(box, box[2] - box[0], box[3] - box[1]) for box in page.image_boxes]
    return [box for box, width, height in sizes if min(width, height) >= short and max(width, height) >= long]


def kind_of(native: int, read: int, regions: int) -> PageKind:
    """Kind of a page by how many of its lines came from its own text and how many are read from the picture."""
    if native and read:
        return "mixed"
    if native:
        return "native"
    return "scanned" if read or regions else "blank"


def _text_line(line: NativeLine, *, text: bool = True) -> TextLine:
    return TextLine(
        bbox=line.bbox,
        text=_printed(line.text) if text else None,
        font_size=line.font_size,
        bold=line.bold,
        italic=line.italic,
        monospace=line.monospace,
        vertical=line.vertical,
    )


def _printed(text: str) -> str:
    """Soft hyphens inside a line are hyphens on paper (many fonts have no other); at its end they say that the word goes on."""
    return text[:-1].replace("\u00ad", "-") + text[-1:]


def _is_red(line: NativeLine) -> bool:
    red, green, blue = bytes.fromhex(line.color.removeprefix("#"))
    return red > 120 and red - max(green, blue) > 60


def _bad_unicode(lines: int, page_no: int, what: str) -> Warning:
    return Warning(
        code="bad_unicode", page_no=page_no, message=f"text without a usable character map ({lines} lines) {what}"
    )
