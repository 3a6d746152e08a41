"""A generated page with its truth drawn over it: for the eye of who changes a template, and for the worst pages of a benchmark."""

from __future__ import annotations

import pymupdf
from PIL import Image, ImageDraw

from samples.generator.truth import Page

COLORS = {
    "title": "#c00000",
    "section_header": "#ff6600",
    "text": "#0050c0",
    "list_item": "#009090",
    "table": "#00a000",
    "picture": "#a000a0",
    "caption": "#806000",
    "seal": "#ff0080",
    "footnote": "#606060",
    "formula": "#3000ff",
    "code": "#408000",
}
OTHER = "#999900"
DPI = 90


def overlay(pdf: bytes, page_no: int, truth: Page) -> Image.Image:
    """RGB picture of a page (from 1) at `DPI`, elements as boxes with number and label in reading order, lines as thin boxes."""
    with pymupdf.open(stream=pdf) as document:
        pixels = document[page_no - 1].get_pixmap(dpi=DPI)
    image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
    draw, scale = ImageDraw.Draw(image), DPI / 72
    for index, element in enumerate(truth.elements):
        color = COLORS.get(element.label, OTHER)
        draw.rectangle([value * scale for value in element.bbox], outline=color, width=2)
        for line in element.lines:
            corners = [value * scale for value in line.quad]
            draw.polygon(list(zip(corners[0::2], corners[1::2], strict=True)), outline="#80c0ff")
        for cell in element.table.cells if element.table else []:
            draw.rectangle([value * scale for value in cell.bbox], outline="#60d060")
        draw.text((element.bbox[0] * scale + 1, element.bbox[1] * scale - 10), f"{index} {element.label}", fill=color)
    return image
