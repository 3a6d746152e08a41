"""A small PDF with a page of each nature: native, scanned, mixed, blank, rotated, and a scan under an OCR layer."""

from __future__ import annotations

import io

import pymupdf

WIDTH, HEIGHT = 595.0, 842.0
HEADER = "Quarterly report of the northern harbour office"
BODY = [
    "The harbour took in four hundred and twelve ships during the spring,",
    "which is more than in any other spring since the counting began.",
    "Most of them carried timber and grain, some of them carried wool,",
    "and three of them carried nothing at all and left again next day.",
    "The crane on the second pier was out of order for eleven days, so",
    "that six ships had to wait for more than a week before they left.",
]
PAGES = ("native", "scan", "mixed", "blank", "rotated", "layer")


def document() -> bytes:
    """The PDF, a page for each name in `PAGES`."""
    out = pymupdf.open()
    draw_text(out.new_page(width=WIDTH, height=HEIGHT))
    picture_on(out.new_page(width=WIDTH, height=HEIGHT), scanned(HEADER, BODY))
    mixed = out.new_page(width=WIDTH, height=HEIGHT)
    picture_on(mixed, scanned(None, BODY, top=0), pymupdf.Rect(60, 180, 60 + 475, 180 + 672))
    mixed.insert_text((72, 80), HEADER, fontsize=12)
    out.new_page(width=WIDTH, height=HEIGHT)
    rotated = out.new_page(width=WIDTH, height=HEIGHT)
    draw_text(rotated)
    rotated.set_rotation(90)
    layer = out.new_page(width=WIDTH, height=HEIGHT)
    picture_on(layer, scanned(HEADER, BODY))
    layer.insert_text((72, 80), "what some other engine thought it read", fontsize=12, render_mode=3)
    return bytes(out.tobytes(no_new_id=True))


def draw_text(page: pymupdf.Page, header: str | None = HEADER, body: list[str] | None = None, top: float = 120) -> None:
    if header:
        page.insert_text((72, 80), header, fontsize=12)
    for index, line in enumerate(body or BODY):
        page.insert_text((72, top + 18 * (index + 1)), line, fontsize=11)


def scanned(header: str | None, body: list[str], top: float = 120) -> bytes:
    """JPEG of such a page at 200 dpi."""
    paper = pymupdf.open()
    draw_text(paper.new_page(width=WIDTH, height=HEIGHT), header, body, top)
    stream = io.BytesIO(paper[0].get_pixmap(dpi=200).tobytes("jpg", jpg_quality=85))
    return stream.getvalue()


def picture_on(page: pymupdf.Page, jpeg: bytes, where: pymupdf.Rect | None = None) -> None:
    page.insert_image(where or page.rect, stream=jpeg)
