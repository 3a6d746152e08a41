"""What a region of a page's own text is, where the network's word alone is wrong: one kind of fault a test."""

import numpy as np
import pytest

from services.layout_worker.found import FoundBox
from services.layout_worker.regions import drawing
from services.layout_worker.regions.drafts import Drawn, Piece
from services.layout_worker.regions.leftover import Ink
from services.layout_worker.regions.regions import build
from services.layout_worker.regions.style import style_of
from services.layout_worker.tables.extent import without_far
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 595.0, 842.0


def line(x0, y0, text, *, size=10.0, width=None, **more):
    width = width or len(text) * size * 0.5
    return TextLine(bbox=[float(x0), float(y0), float(x0 + width), y0 + 1.2 * size], text=text, font_size=size, **more)


def paragraph(x0, y0, count=5, name="p", width=360.0, size=10.0):
    step = 1.3 * size
    return [
        line(x0, y0 + step * i, f"{name}{i} some words of a text that goes on", width=width, size=size)
        for i in range(count)
    ]


def box(label, lines, score=0.9, margin=2.0, bbox=None):
    columns = list(zip(*(one.bbox for one in lines), strict=True)) if lines else []
    x0, y0, x1, y1 = bbox or (min(columns[0]), min(columns[1]), max(columns[2]), max(columns[3]))
    return FoundBox(
        label=label, raw_label=label, bbox=[x0 - margin, y0 - margin, x1 + margin, y1 + margin], score=score
    )


def built(boxes, lines, **drawn):
    return build(boxes, Drawn(**drawn), [Piece(one) for one in lines], WIDTH, HEIGHT, detected=True, max_regions=500)


def label_of(drafts, first):
    (found,) = [d.label for d in drafts if any((one.text or "").startswith(first) for one in d.lines)]
    return found


def lines_of(drafts, first):
    (found,) = [d.lines for d in drafts if any((one.text or "").startswith(first) for one in d.lines)]
    return [one.text for one in found]


def cells(top, rows, columns=3, size=8.0):
    return [line(80 + 140 * c, top + 14 * r, f"cell {r}{c}", size=size) for r in range(rows) for c in range(columns)]


def test_the_usual_size_is_that_of_running_text_and_not_of_cells_or_code():
    code = [line(72, 500 + 10 * i, "for name in names: print(name)", size=8, monospace=True) for i in range(20)]
    assert style_of([*cells(100, 20), *code, *paragraph(72, 400, 3)]).size == 10.0


def test_small_print_of_a_form_does_not_make_headings_of_its_names():
    names = [line(72, 100 + 30 * i, f"Name of field {i}:") for i in range(12)]
    small = paragraph(72, 600, 4, size=7.0)
    assert style_of([*names, *small]).size == 10.0
    assert label_of(built([], [*names, *small]), "Name of field 3") == "text"


def test_a_heading_in_the_usual_type_is_text_where_others_stand_out():
    heading, plain = line(72, 100, "Results", size=14.0), line(72, 300, "Ref. 2017/87")
    text = [*paragraph(72, 130), *paragraph(72, 330, name="q")]
    boxes = [box("section_header", [plain]), box("text", text[:5]), box("text", text[5:])]
    assert label_of(built(boxes, [plain, *text]), "Ref.") == "section_header"
    assert label_of(built([*boxes, box("section_header", [heading])], [heading, plain, *text]), "Ref.") == "text"


def test_an_address_is_no_heading():
    address = [line(72, 150, "T. Whitcombe"), line(72, 163, "Stonebridge 16563")]
    found = built([box("section_header", address)], [*address, *paragraph(72, 300)])
    assert label_of(found, "Stonebridge") == "text"


@pytest.mark.parametrize(
    ("y", "more", "label"),
    [
        (90, {}, "text"),
        (90, {"italic": True}, "page_header"),
        (90, {"size": 8.0}, "page_header"),
        (40, {}, "page_header"),
    ],
    ids=["usual type below the margin", "slanted", "small", "in the margin"],
)
def test_what_stands_at_the_top_in_the_usual_type_is_a_header_only_in_the_margin(y, more, label):
    top = line(300, y, "Prof. Marsh, Stonebridge", **more)
    assert label_of(built([box("page_header", [top])], [top, *paragraph(72, 200, 10)]), "Prof.") == label


def test_a_numbered_heading_at_the_top_is_one():
    top = line(72, 90, "（二）主要结果", width=80)
    assert label_of(built([box("page_header", [top])], [top, *paragraph(72, 130, 10)]), "（二）") == "section_header"


def test_a_note_beside_the_first_line_of_a_page_is_no_header():
    text, note = paragraph(150, 60, 10), line(60, 62, "Results", size=7.5)
    assert label_of(built([box("page_header", [note]), box("text", text)], [note, *text]), "Results") == "aside_text"


def test_notes_in_the_box_of_the_text_are_apart():
    text = paragraph(72, 200, 8, width=340.0)
    notes = [line(440, 201, "Results", size=7.5), line(440, 260, "Method", size=7.5)]
    found = built([box("text", [*text, *notes])], [*text, *notes])
    assert [label_of(found, one) for one in ("Results", "Method", "p3")] == ["aside_text", "aside_text", "text"]


def test_the_number_of_a_page_with_wide_margins():
    number = line(290, 690, "12")
    found = built([box("text", [number])], [*paragraph(130, 150, 30), number])
    assert label_of(found, "12") == "page_number"
    inside = line(290, 700, "12")
    assert (
        label_of(built([box("text", [inside])], [*paragraph(130, 150, 30), inside, *paragraph(130, 730, 3, "q")]), "12")
        == "text"
    )


def test_markers_left_of_a_box_belong_to_its_items():
    items = [
        line(100, 100 + 26 * i + 13 * j, f"item {i}{j} has words enough", width=300) for i in range(3) for j in range(2)
    ]
    bullets = [line(80, 100 + 26 * i, "•") for i in range(3)]
    found = built([box("text", items)], [*bullets, *items])
    assert [(d.label, len(d.lines)) for d in found] == [("list_item", 9)]


def test_a_dot_alone_between_lines_of_code_is_code():
    code = [
        line(80, 100 + 12 * i, text, monospace=True)
        for i, text in enumerate(("License:", ".", "All of it", ".", "is free"))
    ]
    found = built([box("text", code)], [*code, *paragraph(72, 300)])
    assert lines_of(found, "License") == ["License:", ".", "All of it", ".", "is free"]
    assert label_of(found, "License") == "code"


def test_notes_under_the_text_of_one_box_are_footnotes():
    text = paragraph(72, 560, 6)
    notes = [
        line(72, 660 + 10 * i, f"{'1 ' if i == 0 else ''}what the note says", size=7.5, width=300) for i in range(2)
    ]
    found = built([box("text", [*text, *notes])], [*text, *notes])
    assert (label_of(found, "p0"), label_of(found, "1 what")) == ("text", "footnote")


def test_a_caption_whose_number_is_set_apart_is_one():
    table = cells(300, 5)
    caption = [
        line(72, 240, "Table", bold=True),
        line(110, 240, "1.", bold=True),
        line(140, 240, "How the models of all sizes do", width=260),
    ]
    caption.append(line(72, 253, "in what was measured.", width=200))
    found = built([box("text", caption), box("table", table)], [*caption, *table])
    assert label_of(found, "How the") == "caption"


def test_a_sure_table_of_columns_of_prose_is_text():
    columns = [one for c in range(2) for one in paragraph(60 + 250 * c, 100, 14, f"c{c}", 220.0, 8.0)]
    assert {d.label for d in built([box("table", columns, 0.95)], columns)} == {"text"}


def test_narrow_columns_of_prose_are_no_table_and_columns_of_cells_are():
    columns = [one for c in range(3) for one in paragraph(60 + 130 * c, 100, 20, f"c{c}", 110.0, 9.0)]
    assert {d.label for d in built([box("table", columns, 0.95)], columns)} == {"text"}
    ragged = [
        line(60 + 170 * c, 100 + 12 * r, "some words", size=9.0, width=40 + 23 * ((r * 7 + c * 3) % 5))
        for r in range(20)
        for c in range(3)
    ]
    assert {d.label for d in built([box("table", ragged, 0.95)], ragged)} == {"table"}


def test_lines_of_an_aligned_table_are_its_own_whatever_else_boxes_them():
    table = cells(100, 6)
    below = paragraph(72, 200, 4)
    found = built([box("reference", [*table[-3:], *below], 0.3)], [*table, *below])
    assert len(lines_of(found, "cell 00")) == 18
    assert label_of(found, "cell 50") == "table"


def test_a_header_in_the_box_of_a_table_is_apart():
    header, table = line(250, 40, "Cost of the year", size=8.0), cells(83, 10)
    kept, far = without_far([header, *table])
    assert (kept, far) == (table, [header])
    assert without_far(table) == (table, [])


def ink_of(lines):
    """A coarse map, 4 points a cell, with ink where lines are."""
    found = np.zeros((211, 149), dtype=np.uint8)
    for one in lines:
        x0, y0, x1, y1 = (round(v / 4) for v in one.bbox)
        found[y0:y1, x0:x1] = 8
    return Ink(found, 4.0, 4.0)


def test_a_picture_of_nothing_but_text_is_a_table_where_that_stands_in_rows_and_nothing_else():
    table, note = cells(100, 4, columns=2), line(300, 400, "a single note")
    ink = ink_of([*table, note])
    around_note = box("picture", [note], margin=20)
    assert drawing.seen(box("picture", table), ink, table).label == "table"
    assert drawing.seen(around_note, ink, [*table, note]) is None
    assert drawing.seen(around_note, ink_of([*table, note, line(310, 412, "ink")]), [*table, note]) == around_note


def test_the_heading_of_vertical_text_in_one_box_is_apart():
    heading = TextLine(bbox=[500.0, 80.0, 518.0, 180.0], text="总体要求", font_size=18.0, vertical=True)
    columns = [
        TextLine(bbox=[460.0 - 22 * i, 80.0, 472.0 - 22 * i, 600.0], text="文" * 43, font_size=12.0, vertical=True)
        for i in range(6)
    ]
    found = built([box("text", [heading, *columns])], [heading, *columns])
    assert sorted((d.label, len(d.lines)) for d in found) == [("section_header", 1), ("text", 6)]


@pytest.mark.parametrize(("y", "label"), [(30, "page_header"), (800, "page_footer")])
def test_what_is_alone_on_its_page_is_header_or_footer_by_its_place(y, label):
    alone = [line(280, y, "Annual report", size=8)]
    assert [draft.label for draft in built([box("page_footer", alone)], alone)] == [label]
    assert [draft.label for draft in built([box("page_header", alone)], alone)] == [label]


def test_a_column_beside_vertical_text_is_no_note():
    def column(x, width=12.0):
        quad = [x, 100.0, x + width, 100.0, x + width, 600.0, x, 600.0]
        return TextLine(bbox=[x, 100.0, x + width, 600.0], quad=quad, vertical=True)

    text, title = [column(60.0 + 18 * n) for n in range(18)], column(450.0, 16.0)
    found = built([box("text", text), box("text", [title])], [*text, title])
    assert {draft.label for draft in found} == {"text"}


def test_the_end_of_a_paragraph_in_the_box_of_a_heading_is_text():
    """The box of the network held the last line above the heading too."""
    above, heading = line(304, 94, "the end of it.", size=6.5), line(304, 114, "Results", size=10.0, bold=True)
    text = paragraph(304, 137, 8, width=220.0, size=6.5)
    found = built([box("section_header", [above, heading], 0.4), box("text", text)], [above, heading, *text])
    assert label_of(found, "the end") == "text"
    assert lines_of(found, "Results") == ["Results"]
    assert label_of(found, "Results") == "section_header"


def test_a_heading_of_two_lines_in_one_type_stays_one():
    heading = [line(72, 100 + 20 * n, f"Long heading {n}", size=15.0, bold=True) for n in range(2)]
    text = paragraph(72, 150)
    found = built([box("section_header", heading), box("text", text)], [*heading, *text])
    assert lines_of(found, "Long heading 0") == ["Long heading 0", "Long heading 1"]


def test_the_first_word_of_a_heading_whose_box_began_after_it_belongs_to_it():
    word, rest = line(55, 190, "付録", size=16.0, width=32), line(88, 190, "A 倉庫について", size=16.0, width=114)
    text = paragraph(55, 220)
    found = built([box("section_header", [rest], margin=0.0), box("text", text)], [word, rest, *text])
    assert lines_of(found, "付録") == ["付録", "A 倉庫について"]
    far = line(-40, 190, "付録", size=16.0, width=32)
    assert lines_of(built([box("section_header", [rest], margin=0.0)], [far, rest, *text]), "付録") == ["付録"]


def seen(x0, y0, x1, y1):
    """A line that was detected, not read."""
    return TextLine(bbox=[x0, y0, x1, y1], quad=[x0, y0, x1, y0, x1, y1, x0, y1])


def test_a_heading_over_the_other_of_two_wide_columns_is_no_note():
    columns = [[seen(x, 200.0 + 12 * n, x + 252.0, 210.0 + 12 * n) for n in range(20)] for x in (40.0, 310.0)]
    heading = seen(40.0, 170.0, 150.0, 186.0)
    boxes = [box("text", columns[0]), box("text", columns[1]), box("text", [heading])]
    found = built(boxes, [heading, *columns[0], *columns[1]])
    assert {draft.label for draft in found} == {"text"}
    note = seen(480.0, 300.0, 560.0, 310.0)
    body = [seen(60.0, 200.0 + 12 * n, 460.0, 210.0 + 12 * n) for n in range(20)]
    assert [d.label for d in built([box("text", body), box("text", [note])], [note, *body])] == ["text", "aside_text"]


def test_rows_of_a_table_and_the_end_of_the_next_column_are_no_table_together():
    table = [seen(50.0 + 65 * c, 190.0 + 14 * r, 90.0 + 65 * c, 200.0 + 14 * r) for r in range(5) for c in range(3)]
    beside = [seen(260.0, 204.0, 310.0, 214.0), seen(318.0, 204.0, 340.0, 214.0)]
    beside += [seen(320.0 + 30 * n, 232.0, 340.0 + 30 * n, 242.0) for n in range(4)]
    sure = built([box("table", table)], [*table, *beside])
    assert [len(draft.lines) for draft in sure if draft.label == "table"] == [15]
    (weak,) = (d for d in built([box("table", table, 0.6)], [*table, *beside]) if d.label == "table")
    assert len(weak.lines) > 15
