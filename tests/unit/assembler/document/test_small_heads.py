"""A line of small type alone in the margin of a scan is running matter, whatever the layout took it for."""

from __future__ import annotations

import pytest

from services.assembler.document.furniture import separated
from services.assembler.document.regions import blocks_of
from shared.contracts.document import Block, Label, Line, Page, Provenance
from shared.contracts.layout import ComposedPage, PageLayout, ReadLine, Region, RegionReading

pytestmark = pytest.mark.unit


def block(label: Label, y: float, size: float, text: str, confidence: float | None = 0.95, lines: int = 1) -> Block:
    box = [60.0, y, 300.0, y + 1.2 * size * lines]
    return Block(
        id=f"b{y:g}",
        order=round(y),
        label=label,
        raw_label=label,
        text=text,
        confidence=confidence,
        prov=[Provenance(page_no=1, bbox=box)],
        lines=[Line(bbox=box, text=text)] * lines,
        font_size=size,
    )


def labels(*blocks: Block) -> list[tuple[str, str]]:
    known = Page(page_no=1, width=600.0, height=800.0, unit="pt", status="ok", kind="scanned")
    (page,) = separated([ComposedPage(document_id="d", generation=0, page=known, blocks=list(blocks))])
    return [(b.label, b.content_layer) for b in page.blocks]


BODY = block("text", 140, 12, "A paragraph that says what it has to say. " * 4, lines=4)


def test_a_line_in_either_margin() -> None:
    found = labels(block("text", 36, 9, "Annual report"), BODY, block("text", 765, 9, "Harbour works"))
    assert found == [("page_header", "furniture"), ("text", "body"), ("page_footer", "furniture")]


@pytest.mark.parametrize(
    "line",
    [
        block("text", 36, 12, "As large as the text"),
        block("text", 90, 9, "Not in the margin"),
        block("text", 36, 9, "Its own text, whose place says less", confidence=None),
        block("text", 36, 9, "Two lines of it", lines=2),
        block("text", 36, 9, "1.2 A numbered heading"),
    ],
)
def test_what_stays(line: Block) -> None:
    assert labels(line, BODY) == [("text", "body"), ("text", "body")]


def test_what_the_body_comes_near() -> None:
    assert labels(
        block("text", 52, 9, "The first line of a letter"), block("text", 66, 12, "goes on here", lines=3)
    ) == [
        ("text", "body"),
        ("text", "body"),
    ]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("History of Eastbury", "text"),
        ("\u5de5\u4f5c\u65b9\u6cd5", "text"),
        ("E = mc2 + energy", "formula"),
        ("a+b", "formula"),
    ],
)
def test_a_formula_of_words_is_text(text: str, label: str) -> None:
    region = Region(
        region_id="p00001-r000", label="formula", raw_label="equation", bbox=[60, 36, 200, 48], confidence=0.4,
        found_by="model", read_by="rec", route="",
    )  # fmt: skip
    line = ReadLine(bbox=[60, 36, 200, 48], text=text, confidence=0.97)
    reading = RegionReading(region_id=region.region_id, method="det_rec", lines=[line])
    layout = PageLayout(document_id="d", generation=0, page_no=1, width=600, height=800, unit="pt", kind="scanned")
    assert [one.label for one in blocks_of(region, reading, layout)] == [label]
