"""A layout as a picture and in words: trust, readers and order by colour and name."""

from __future__ import annotations

import numpy as np
import pytest

from docfleet import drawing, look
from docfleet.look import OWN, TO_READ, UNSEEN, Cost, Looked
from shared.contracts.document import Warning
from shared.contracts.errors import Category, ErrorCode, ErrorInfo, Phase
from shared.contracts.layout import PageLayout, Region, TextLine
from shared.contracts.records import TaskRef

pytestmark = pytest.mark.unit

NATIVE = TextLine(bbox=[20, 20, 180, 40], text="own text")
SCANNED = TextLine(bbox=[20, 60, 180, 80], quad=[40, 120, 360, 124, 360, 164, 40, 160], confidence=0.9)
DOUBTFUL = TextLine(bbox=[20, 90, 180, 110], quad=[0.0] * 8, confidence=0.4)
HIDDEN = TextLine(bbox=[20, 150, 180, 170], text="hidden", hidden="render_mode")
OUTSIDE = TextLine(bbox=[20, -50, 180, -30], text="off", hidden="outside")


def region(index: int, label, read_by, *lines: TextLine, **more) -> Region:
    return Region(
        region_id=f"p00001-r{index:03d}",
        label=label,
        raw_label=label,
        bbox=[10, 10 + 50 * index, 190, 50 + 50 * index],
        confidence=0.87,
        found_by="model",
        read_by=read_by,
        lines=list(lines),
        **more,
    )


def page(*regions: Region, **more) -> Looked:
    layout = PageLayout(
        document_id="alone",
        generation=0,
        page_no=1,
        width=200,
        height=300,
        unit="pt",
        kind="mixed",
        kind_reason=["native_lines=1"],
        picture_width=400,
        picture_height=600,
        regions=list(regions),
        **more,
    )
    steps = [Cost(name="open", wall_s=0.0123, cpu_s=0.01), Cost(name="look", wall_s=0.1, cpu_s=0.2)]
    return Looked(page_no=1, pages_total=9, layout=layout, steps=steps)


def test_regions_lines_trust_and_readers_have_their_colours():
    sheet = look.sheet_of(
        page(region(0, "text", "native", NATIVE), region(1, "text", "rec", SCANNED), invisible=[HIDDEN, OUTSIDE]),
        "a.pdf",
    )
    assert [mark.name for mark in sheet.marks] == ["1 text 0.87", "2 text 0.87"]
    assert [mark.chip for mark in sheet.marks] == [look.READERS["native"], look.READERS["rec"]]
    assert [[fill.colour for fill in mark.fills] for mark in sheet.marks] == [[OWN], [TO_READ]]
    assert [fill.colour for fill in sheet.fills] == [UNSEEN], "what is off the page cannot be drawn"
    assert sheet.marks[1].fills[0].quad == [20, 60, 180, 62, 180, 82, 20, 80], "as the line lies, in units of the page"
    meanings = [meaning for key in sheet.legend for _, meaning in key.entries]
    assert meanings == [
        "text",
        "its own text",
        "recogniser",
        "own text, trusted",
        "to be read from the picture",
        "own text that cannot be seen",
    ]


def test_doubtful_detections_stand_out():
    (mark,) = look.sheet_of(page(region(0, "text", "rec", SCANNED, DOUBTFUL)), "a.pdf").marks
    assert [fill.colour for fill in mark.fills] == [TO_READ, look.DETECTED_WEAK]


def test_the_picture_shows_them():
    image, left = drawing.draw(
        np.full((600, 400, 3), 255, np.uint8),
        look.sheet_of(page(region(0, "table", "vl", NATIVE)), "a.pdf"),
    )
    pixels = np.asarray(image)[:, left : left + 400].astype(int)
    assert pixels[60, 300, 1] > pixels[60, 300, 0] + 10, "own text is tinted green"
    assert (pixels[20, 200] == [0x0B, 0x8A, 0x3C]).all(), "a table's outline"


def test_the_summary_names_all_that_matters():
    table = region(1, "table", "vl", SCANNED, route="model")
    odd = region(2, "text", "none", reason="text inside a picture")
    text = look.summary(
        page(
            region(0, "text", "native", NATIVE),
            table,
            odd,
            invisible=[HIDDEN],
            tasks=[TaskRef(task_id="vl-1", stage="vl")],
            warnings=[Warning(code="bad_unicode", message="two lines")],
            rotation=90,
        ),
        "a.pdf",
    )
    joined = "\n".join(text)
    assert text[0] == "a.pdf, page 1 of 9: mixed, 200 x 300 pt, turned by 90"
    for said in ("native_lines=1", "0/1", "model", "text inside a picture", "tasks: 1 vl", "1 render_mode", "CPU 210"):
        assert said in joined
    assert text[-1] == "  bad_unicode: two lines"


def test_a_page_without_a_layout_says_why():
    error = ErrorInfo(
        code=ErrorCode.corrupt,
        category=Category.input,
        phase=Phase.layout,
        page_no=3,
        retryable=False,
        message="the page has no area",
    )
    assert look.summary(Looked(page_no=3, error=error), "a.pdf") == ["a.pdf, page 3: corrupt: the page has no area"]
