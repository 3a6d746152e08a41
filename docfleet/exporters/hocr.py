"""hOCR 1.2: XHTML whose classes and titles say where everything stands (kba.github.io/hocr-spec/1.2).

hOCR counts in whole pixels: points become pixels at `DPI` (stated as `scan_res`), images keep theirs. Confidences are per cent. Boxes of words are
estimates, see `placed.words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from docfleet.exporters.common import xml_bytes, xml_text
from docfleet.exporters.placed import PlacedBlock, PlacedLine, PlacedPage, placed, words
from shared.contracts.document import ParsedDocument

DPI = 300
"""Pixels per inch that points are turned into: what scanners deliver, and fine enough that rounding moves nothing by more than 0.12 pt."""
_AREAS = {
    "page_header": "ocr_header",
    "page_footer": "ocr_footer",
    "page_number": "ocr_pageno",
    "table": "ocr_table",
    "picture": "ocr_photo",
    "seal": "ocr_photo",
    "formula": "ocr_display",
    "caption": "ocr_caption",
}
"""Our label to a class of hOCR; all others are `ocr_carea`."""
_DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" '
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n'
)


def hocr(document: ParsedDocument) -> bytes:
    """The XHTML, UTF-8. Raises `DocfleetError(unsupported_type)` for a document without geometry."""
    pages = placed(document)
    classes = {"ocr_page", "ocr_par", "ocr_line", "ocrx_word"}
    classes |= {_AREAS.get(block.block.label, "ocr_carea") for page in pages for block in page.blocks}
    root = Element("html", {"xmlns": "http://www.w3.org/1999/xhtml"})
    head = SubElement(root, "head")
    name = document.source.filename or document.document_id
    SubElement(head, "title").text = xml_text(name)
    for key, content in (
        ("ocr-system", f"docfleet {document.lineage.pipeline_version}"),
        ("ocr-capabilities", " ".join(sorted(classes))),
        ("ocr-number-of-pages", str(len(pages))),
        ("ocr-langs", " ".join(sorted({name for page in pages for name in page.page.languages})) or "unknown"),
    ):
        SubElement(head, "meta", {"name": key, "content": xml_text(content)})
    SubElement(head, "meta", {"http-equiv": "Content-Type", "content": "text/html; charset=utf-8"})
    body = SubElement(root, "body")
    for page in pages:
        _page(body, page, name)
    return xml_bytes(root, _DOCTYPE)


def _page(body: Element, page: PlacedPage, name: str) -> None:
    number = page.page.page_no
    scale = DPI / 72 if page.page.unit == "pt" else 1.0
    resolution = DPI if page.page.unit == "pt" else round(page.page.dpi or 0)
    title = [
        f'image "{_quoted(name)}"',
        _bbox([0, 0, page.page.width, page.page.height], scale),
        f"ppageno {number - 1}",
    ]
    if resolution:
        title.append(f"scan_res {resolution} {resolution}")
    element = SubElement(body, "div", {"class": "ocr_page", "id": f"page_{number}", "title": "; ".join(title)})
    for index, block in enumerate(page.blocks):
        _area(element, block, f"{number}_{index}", scale)


def _area(page: Element, block: PlacedBlock, name: str, scale: float) -> None:
    box = _bbox(block.box, scale)
    kind = _AREAS.get(block.block.label, "ocr_carea")
    area = SubElement(page, "div", {"class": kind, "id": f"block_{name}", "title": box})
    if not block.lines:
        return
    paragraph = SubElement(area, "p", {"class": "ocr_par", "id": f"par_{name}", "title": box})
    for index, line in enumerate(block.lines):
        _line(paragraph, line, f"{name}_{index}", scale)


def _line(paragraph: Element, line: PlacedLine, name: str, scale: float) -> None:
    attributes = {"class": "ocr_line", "id": f"line_{name}", "title": _bbox(line.box, scale)}
    element = SubElement(paragraph, "span", attributes)
    confidence = None if line.confidence is None else round(100 * min(1.0, max(0.0, line.confidence)))
    for index, (word, box) in enumerate(words(line)):
        title = _bbox(box, scale) + ("" if confidence is None else f"; x_wconf {confidence}")
        attributes = {"class": "ocrx_word", "id": f"word_{name}_{index}", "title": title}
        SubElement(element, "span", attributes).text = xml_text(word)


def _bbox(box: Sequence[float], scale: float) -> str:
    return "bbox " + " ".join(str(max(0, round(value * scale))) for value in box)


def _quoted(name: str) -> str:
    """A file name inside a property: what would end it is left out."""
    return "".join(c for c in xml_text(name) if c not in '";\n\r\t\\')
