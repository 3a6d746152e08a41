"""Fields of a PDF form (AcroForm) on a sheet: text fields and check boxes, with values."""

from __future__ import annotations

import pymupdf

from samples.generator import fonts
from samples.generator.sheet import Sheet
from samples.generator.truth import Box, Line, rounded

BORDER = 0.6
"""Points."""


def text_field(sheet: Sheet, box: Box, value: str, size: float) -> list[Line]:
    """A field with this value; its line, none for an empty one. Nothing else may be written in the box before."""
    widget = _widget(sheet, box, pymupdf.PDF_WIDGET_TYPE_TEXT)
    widget.text_font, widget.text_fontsize, widget.field_value = "Helv", size, value
    sheet.page.add_widget(widget)
    characters = [
        character
        for block in sheet.page.get_text("rawdict", clip=pymupdf.Rect(box))["blocks"]
        for line in block.get("lines", [])
        for span in line["spans"]
        for character in span["chars"]
    ]
    if not characters:
        return []
    left, baseline = characters[0]["origin"]
    edges = rounded([*(c["origin"][0] - left for c in characters), characters[-1]["bbox"][2] - left])
    text = "".join(c["c"] for c in characters)
    above, below = fonts.ink(text, size)
    x0, y0, x1, y1 = bbox = rounded([left, baseline - above, left + edges[-1], baseline + below])
    return [Line(text=text, bbox=bbox, quad=[x0, y0, x1, y0, x1, y1, x0, y1], edges=edges)]


def check_box(sheet: Sheet, box: Box, checked: bool) -> None:
    """A check box, ticked or not."""
    widget = _widget(sheet, box, pymupdf.PDF_WIDGET_TYPE_CHECKBOX)
    widget.field_value = checked
    sheet.page.add_widget(widget)


def _widget(sheet: Sheet, box: Box, kind: int) -> pymupdf.Widget:
    widget = pymupdf.Widget()
    widget.field_type, widget.rect = kind, pymupdf.Rect(box)
    sheet.fields += 1
    widget.field_name = f"field {sheet.number}.{sheet.fields}"
    widget.border_width, widget.border_color = BORDER, (0, 0, 0)
    return widget
