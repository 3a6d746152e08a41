"""ALTO 4.4 XML: one file with a page for each page of the document.

PDF pages are in 1/1200 of an inch (`inch1200`: 1 pt is 16 2/3 of them), images in pixels. Blocks carry their label as a `LayoutTag`; a block that
stands on several pages is on each of them with its part. Boxes of words are estimates, see `placed.words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from docfleet.exporters.common import xml_bytes, xml_text
from docfleet.exporters.placed import PlacedBlock, PlacedLine, PlacedPage, placed, words
from shared.contracts.document import ParsedDocument

NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"
SCHEMA_VERSION = "4.4"
_PER_POINT = 1200 / 72
_PICTURES = ("picture", "seal")


def alto(document: ParsedDocument) -> bytes:
    """The XML, UTF-8. Raises `DocfleetError(unsupported_type)` for a document without geometry."""
    pages = placed(document)
    points = any(page.page.unit == "pt" for page in pages)
    scale = _PER_POINT if points else 1.0
    root = Element("alto", {"xmlns": NAMESPACE, "SCHEMAVERSION": SCHEMA_VERSION})
    description = SubElement(root, "Description")
    SubElement(description, "MeasurementUnit").text = "inch1200" if points else "pixel"
    source = SubElement(description, "sourceImageInformation")
    SubElement(source, "fileName").text = xml_text(document.source.filename or document.source.key)
    SubElement(source, "documentIdentifier").text = xml_text(document.document_id)
    processing = SubElement(description, "Processing", {"ID": "docfleet"})
    SubElement(processing, "processingCategory").text = "contentGeneration"
    software = SubElement(processing, "processingSoftware")
    SubElement(software, "softwareName").text = "docfleet"
    SubElement(software, "softwareVersion").text = xml_text(document.lineage.pipeline_version)
    labels = sorted({block.block.label for page in pages for block in page.blocks})
    if labels:
        tags = SubElement(root, "Tags")
        for label in labels:
            SubElement(tags, "LayoutTag", {"ID": f"label-{label}", "LABEL": label})
    layout = SubElement(root, "Layout")
    for page in pages:
        _page(layout, page, scale)
    return xml_bytes(root)


def _page(layout: Element, page: PlacedPage, scale: float) -> None:
    number = page.page.page_no
    size = {"WIDTH": _number(page.page.width * scale), "HEIGHT": _number(page.page.height * scale)}
    element = SubElement(layout, "Page", {"ID": f"p{number}", "PHYSICAL_IMG_NR": str(number), **size})
    if page.page.rotation:
        element.set("ROTATION", str(page.page.rotation))
    space = SubElement(element, "PrintSpace", {"HPOS": "0", "VPOS": "0", **size})
    for index, block in enumerate(page.blocks):
        _block(space, block, f"p{number}b{index}", scale)


def _block(space: Element, placed: PlacedBlock, name: str, scale: float) -> None:
    label = placed.block.label
    common = {"ID": name, **_box(placed.box, scale), "TAGREFS": f"label-{label}"}
    if label in _PICTURES:
        if not placed.lines:
            SubElement(space, "Illustration", common)
            return
        space = SubElement(space, "ComposedBlock", {**common, "TYPE": label})
        SubElement(space, "Illustration", {"ID": f"{name}i", **_box(placed.box, scale)})
        common = {"ID": f"{name}t", **_box(placed.box, scale)}
    elif placed.block.table is not None:
        space = SubElement(space, "ComposedBlock", {**common, "TYPE": "table"})
        common = {"ID": f"{name}t", **_box(placed.box, scale)}
    text = SubElement(space, "TextBlock", common)
    for index, line in enumerate(placed.lines):
        _line(text, line, f"{name}l{index}", scale)


def _line(block: Element, line: PlacedLine, name: str, scale: float) -> None:
    attributes = {"ID": name, **_box(line.box, scale)}
    if line.vertical:
        attributes["BASEDIRECTION"] = "ttb"
    element = SubElement(block, "TextLine", attributes)
    reached: float | None = None
    for word, box in words(line):
        if reached is not None:
            gap = [line.box[0], reached, line.box[2], box[1]] if line.vertical else [reached, box[1], box[0], box[3]]
            SubElement(element, "SP", _box(gap, scale))
        string = SubElement(element, "String", {**_box(box, scale), "CONTENT": xml_text(word)})
        if line.confidence is not None:
            string.set("WC", _number(min(1.0, max(0.0, line.confidence))))
        reached = box[3] if line.vertical else box[2]


def _box(box: Sequence[float], scale: float) -> dict[str, str]:
    x0, y0, x1, y1 = (value * scale for value in box)
    return {
        "HPOS": _number(x0),
        "VPOS": _number(y0),
        "WIDTH": _number(max(0.0, x1 - x0)),
        "HEIGHT": _number(max(0.0, y1 - y0)),
    }


def _number(value: float) -> str:
    """Two decimals at most, never `-0`."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")
