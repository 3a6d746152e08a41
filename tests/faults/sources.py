"""The documents that are submitted: small files, the same bytes each time.

Light ones are of two kinds of page, native text and a scan with or without a dark lower half (which the synthetic layout takes for a table
and sends to the VL model). Real ones are pages of text drawn and photographed, for the true networks.
"""

from __future__ import annotations

import random

import msgspec
from PIL import Image, ImageDraw, ImageFont

from tests.support.pdfs import Pdf, text_at

WIDTH, HEIGHT = 108, 144
"""Points of a light page: 300 by 400 pixels at 200 dpi."""
PIXELS = (300, 400)
"""Of the scan on it."""


class Source(msgspec.Struct, frozen=True):
    """A file to be submitted. `poison` is the code with which its record becomes a dead letter."""

    name: str
    data: bytes
    status: str = "success"
    poison: str | None = None
    """Where it is set, the document ends as `failure` without a result."""


def light() -> list[Source]:
    """Sources of the light profile; the poison is the last."""
    return [
        Source("native", _native(2)),
        Source("scan", _scan([False, False])),
        Source("table", _scan([True])),
        Source("mixed", _scan([True, False, True])),
        Source("long", _scan([False, True, False, False, False])),
        Source("broken", b"%PDF-1.7\n" + b"this is no PDF, whatever its head says\n" * 20, "failure", "corrupt"),
    ]


def real() -> list[Source]:
    """Sources for the true networks: one page of native text, and small scans of a few lines."""
    return [
        Source("native", _native(1)),
        Source("drawn", _drawn(["The quick brown fox", "jumps over the lazy dog", "in the year 2026."], 1)),
        Source("two", _drawn(["Invoice 4711 of May", "Total 1,234.50 EUR", "Thank you very much."], 2)),
        Source("broken", b"%PDF-1.7\n" + b"this is no PDF, whatever its head says\n" * 20, "failure", "corrupt"),
    ]


def _native(pages: int) -> bytes:
    pdf = Pdf()
    for number in range(pages):
        content = "".join(
            text_at(11, 124 - 10 * line, f"Native line {line} of page {number + 1}", 6) for line in range(4)
        )
        pdf.page(content, f"/MediaBox [0 0 {WIDTH} {HEIGHT}]")
    return pdf.bytes()


def _scan(tables: list[bool]) -> bytes:
    """A page each; `tables` says which have a dark lower half."""
    pdf = Pdf()
    for number, table in enumerate(tables):
        noise = random.Random(number * 2 + table)
        image = Image.new("RGB", PIXELS, (245, 244, 240))
        for line in range(3):
            top = 44 + line * 40
            for _ in range(12):
                left = noise.randrange(30, 260)
                image.paste((30, 30, 35), (left, top, left + noise.randrange(4, 14), top + 20))
        if table:
            image.paste((60, 60, 60), (30, 220, 270, 360))
        picture, _ = pdf.image(image)
        content = f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /Im Do Q"
        pdf.page(content, f"/MediaBox [0 0 {WIDTH} {HEIGHT}]", f"/XObject << /Im {picture} 0 R >>")
    return pdf.bytes()


def _drawn(lines: list[str], pages: int) -> bytes:
    pdf = Pdf()
    for number in range(pages):
        image = Image.new("L", (800, 500), 250)
        draw = ImageDraw.Draw(image)
        for at, line in enumerate(lines):
            draw.text((60, 60 + at * 90), f"{line} {number + 1}", fill=20, font=ImageFont.load_default(36))
        picture, _ = pdf.image(image.convert("RGB"))
        content = "q 400 0 0 250 0 0 cm /Im Do Q"
        pdf.page(content, "/MediaBox [0 0 400 250]", f"/XObject << /Im {picture} 0 R >>")
    return pdf.bytes()
