"""ALTO and hOCR: well-formed for any text, by the rules of their definitions, and with the words in place.

The XSD of ALTO is not in the repository (its licence is CC BY-SA), so the rules that concern what is written here are in this file, from
https://www.loc.gov/standards/alto/ (4.4): required attributes, order of elements, enumerations, types of ids and their references.
hOCR is also checked by its validator, in tests/integration/exporters.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given, settings

from docfleet.exporters.alto import NAMESPACE, alto
from docfleet.exporters.hocr import hocr
from docfleet.exporters.placed import placed
from shared.contracts.document import ParsedDocument
from tests.support.parsed import HEIGHT, WIDTH, block, document, documents, everything, page

pytestmark = pytest.mark.unit
CHILDREN = {
    "alto": "(Description )?(Styles )?(Tags )?(ReadingOrder )?Layout ",
    "Description": "MeasurementUnit (sourceImageInformation )?(OCRProcessing )*(Processing )*",
    "sourceImageInformation": "(fileName )?(fileIdentifier )*(documentIdentifier )*",
    "Processing": "(processingCategory )?(processingSoftware )?",
    "processingSoftware": "(softwareCreator )?(softwareName )?(softwareVersion )?",
    "Tags": "(LayoutTag )*",
    "Layout": "(Page )+",
    "Page": "(PrintSpace )?",
    "PrintSpace": "((TextBlock|Illustration|ComposedBlock) )*",
    "ComposedBlock": "((TextBlock|Illustration) )*",
    "TextBlock": "(TextLine )*",
    "TextLine": "(String (SP )?)+",
}
"""Element to the sequence of its children; all others have none."""
REQUIRED = {
    "Page": {"ID", "PHYSICAL_IMG_NR"},
    "TextBlock": {"ID"},
    "Illustration": {"ID"},
    "ComposedBlock": {"ID"},
    "String": {"CONTENT"},
    "Processing": {"ID"},
    "LayoutTag": {"ID", "LABEL"},
}
PLACES = {"HPOS", "VPOS", "WIDTH", "HEIGHT"}
OTHERS = {"ID", "TAGREFS", "TYPE", "CONTENT", "WC", "BASEDIRECTION", "ROTATION", "PHYSICAL_IMG_NR", "LABEL"}
IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]*\Z")


def check_alto(data: bytes) -> Element:
    root = ElementTree.fromstring(data)
    ids = Counter(element.get("ID") for element in root.iter() if element.get("ID") is not None)
    assert all(count == 1 and IDENTIFIER.match(id_ or "") for id_, count in ids.items())
    for element in root.iter():
        assert element.tag.startswith("{" + NAMESPACE + "}")
        name = element.tag.rpartition("}")[2]
        children = "".join(child.tag.rpartition("}")[2] + " " for child in element)
        assert re.fullmatch(CHILDREN.get(name, ""), children), (name, children)
        assert REQUIRED.get(name, set()) <= set(element.attrib)
        if name == "alto":
            continue
        assert set(element.attrib) <= PLACES | OTHERS
        for attribute in PLACES & set(element.attrib):
            assert float(element.attrib[attribute]) >= 0
        for reference in element.get("TAGREFS", "").split():
            assert reference in ids
        assert element.get("BASEDIRECTION") in (None, "ttb")
        assert 0 <= float(element.get("WC", "0")) <= 1
    unit = root.find(f"{{{NAMESPACE}}}Description/{{{NAMESPACE}}}MeasurementUnit")
    assert unit is not None
    assert unit.text in ("pixel", "inch1200")
    return root


def texts(parsed: ParsedDocument) -> list[str]:
    return [" ".join(line.text.split()) for one in placed(parsed) for b in one.blocks for line in b.lines]


def xml_safe(text: str) -> str:
    return "".join(c if c in "\t\n\r" or 0x20 <= ord(c) <= 0xFFFD or ord(c) > 0xFFFF else "\ufffd" for c in text)


@settings(max_examples=60)
@given(documents())
def test_alto_keeps_every_word_of_any_document(made: tuple[ParsedDocument, str]) -> None:
    parsed, _ = made
    root = check_alto(alto(parsed))
    lines = [
        " ".join(s.attrib["CONTENT"] for s in line.iter(f"{{{NAMESPACE}}}String"))
        for line in root.iter(f"{{{NAMESPACE}}}TextLine")
    ]
    assert lines == [xml_safe(text) for text in texts(parsed)]


def test_alto_places_are_in_parts_of_an_inch() -> None:
    parsed, _ = everything()
    root = check_alto(alto(parsed))
    pages = root.findall(f".//{{{NAMESPACE}}}Page")
    assert [(p.get("WIDTH"), p.get("HEIGHT")) for p in pages] == [("10000", "13333.33")] * 2
    title = next(s for s in root.iter(f"{{{NAMESPACE}}}String") if s.get("CONTENT") == "Fish")
    assert (title.get("HPOS"), title.get("VPOS"), title.get("HEIGHT")) == ("833.33", "1000", "600")
    assert title.get("WC") == "0.9"


def test_alto_of_an_image_is_in_pixels() -> None:
    parsed, _ = document([block(0, "text", "a b")], [page(1, unit="px")])
    root = check_alto(alto(parsed))
    assert b"<MeasurementUnit>pixel<" in alto(parsed)
    assert [s.get("HPOS") for s in root.iter(f"{{{NAMESPACE}}}String")] == ["50", "383.33"]


def boxes(element: Element) -> list[int]:
    found = re.search(r"bbox (\d+) (\d+) (\d+) (\d+)(?:;|\Z)", element.get("title", ""))
    assert found, element.attrib
    return [int(value) for value in found.groups()]


@settings(max_examples=60)
@given(documents())
def test_hocr_keeps_every_word_of_any_document(made: tuple[ParsedDocument, str]) -> None:
    parsed, _ = made
    root = ElementTree.fromstring(hocr(parsed))
    by_class: dict[str, list[Element]] = {}
    for element in root.iter():
        if element.get("class"):
            by_class.setdefault(element.attrib["class"], []).append(element)
            x0, y0, x1, y1 = boxes(element)
            assert 0 <= x0 <= x1 <= round(WIDTH * 300 / 72)
            assert 0 <= y0 <= y1 <= round(HEIGHT * 300 / 72)
    assert len(by_class["ocr_page"]) == 2
    declared = next(e.attrib["content"] for e in root.iter() if e.get("name") == "ocr-capabilities").split()
    assert set(by_class) <= set(declared)
    lines = [" ".join(word.text or "" for word in line) for line in by_class.get("ocr_line", [])]
    assert lines == [xml_safe(text) for text in texts(parsed)]


def test_hocr_says_what_a_page_is() -> None:
    parsed, _ = document([block(0, "text", "a b")], [page(1, unit="px", dpi=150.0)])
    root = ElementTree.fromstring(hocr(parsed))
    sheet = next(e for e in root.iter() if e.get("class") == "ocr_page")
    assert sheet.get("title") == 'image "sample.pdf"; bbox 0 0 600 800; ppageno 0; scan_res 150 150'
    words = [e for e in root.iter() if e.get("class") == "ocrx_word"]
    assert [(w.text, w.get("title")) for w in words] == [
        ("a", "bbox 50 20 217 56; x_wconf 90"),
        ("b", "bbox 383 20 550 56; x_wconf 90"),
    ]
