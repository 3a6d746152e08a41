"""Pages with known lines, drawn with fonts that come with MuPDF."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pymupdf

from shared.contracts.layout import Region, TextLine

DPI = 150
SCALE = DPI / 72


def page_of(texts: list[str], *, size: float = 11) -> tuple[npt.NDArray[np.uint8], list[TextLine]]:
    """A page with a text on each line, RGB, and where they stand, in points."""
    document = pymupdf.open()
    page = document.new_page(width=400, height=40 + 22 * len(texts))
    lines = []
    for number, text in enumerate(texts):
        font = pymupdf.Font("china-s" if any(ord(character) > 0x2E80 for character in text) else "helv")
        writer = pymupdf.TextWriter(page.rect)
        _, end = writer.append((30, 40 + 22 * number), text, font=font, fontsize=size)
        writer.write_text(page)
        lines.append(TextLine(bbox=[27, 27 + 22 * number, end.x + 3, 45 + 22 * number]))
    pixels = page.get_pixmap(dpi=DPI, colorspace=pymupdf.csRGB, alpha=False)
    picture = np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, 3).copy()
    document.close()
    return picture, lines


def region_of(picture: npt.NDArray[np.uint8], lines: list[TextLine]) -> Region:
    """The whole page as one region to be read."""
    height, width = picture.shape[:2]
    return Region(
        region_id="p00001-r000",
        label="text",
        raw_label="text",
        bbox=[0, 0, width / SCALE, height / SCALE],
        confidence=1.0,
        found_by="leftover",
        read_by="rec",
        lines=lines,
    )


def without_blanks(text: str) -> str:
    return "".join(text.split())
