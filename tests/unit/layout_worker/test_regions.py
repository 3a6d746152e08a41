"""Regions hold every line exactly once, whatever the network and the page say."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.layout_worker.boxes import area, share_inside
from services.layout_worker.found import FoundBox
from services.layout_worker.regions.clean import clean
from services.layout_worker.regions.columns import grouped
from services.layout_worker.regions.drafts import Draft, Drawn, Piece, Widget
from services.layout_worker.regions.regions import build
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 600.0, 800.0
LABELS = ["text", "title", "table", "picture", "caption", "page_header", "formula", "reference"]


def box(label, x0, y0, x1, y1, score=0.9):
    return FoundBox(label=label, raw_label=label, bbox=[x0, y0, x1, y1], score=score)


def line(x0, y0, x1, y1, text="x"):
    return TextLine(bbox=[x0, y0, x1, y1], text=text)


def built(boxes, lines, *, seals=(), figures=(), detected=True, max_regions=500, red=()):
    pieces = [Piece(item, index in red) for index, item in enumerate(lines)]
    kept = clean(boxes, WIDTH, HEIGHT, 0.3)
    drawn = Drawn(seals=list(seals), figures=list(figures))
    return build(kept, drawn, pieces, WIDTH, HEIGHT, detected=detected, max_regions=max_regions)


def region_with(drafts: list[Draft], text: str) -> Draft:
    (found,) = [d for d in drafts if any(item.text == text for item in d.lines)]
    return found


@st.composite
def rectangles(draw, largest=600):
    x0 = draw(st.floats(-20, WIDTH, width=32))
    y0 = draw(st.floats(-20, HEIGHT, width=32))
    return [x0, y0, x0 + draw(st.floats(0, largest, width=32)), y0 + draw(st.floats(0, largest, width=32))]


@settings(max_examples=150)
@given(
    boxes=st.lists(st.tuples(st.sampled_from(LABELS), rectangles(), st.floats(0, 1, width=32)), max_size=12),
    lines=st.lists(rectangles(largest=120), max_size=30),
    seals=st.lists(rectangles(largest=120), max_size=2),
    red=st.sets(st.integers(0, 29), max_size=5),
    detected=st.booleans(),
    max_regions=st.integers(1, 40),
)
def test_every_line_is_in_exactly_one_region(boxes, lines, seals, red, detected, max_regions):
    given_lines = [TextLine(bbox=bbox, text=str(index)) for index, bbox in enumerate(lines)]
    drafts = built(
        [box(label, *bbox, score) for label, bbox, score in boxes],
        given_lines,
        seals=seals,
        detected=detected,
        max_regions=max_regions,
        red=red,
    )
    assert Counter(item.text for d in drafts for item in d.lines) == Counter(item.text for item in given_lines)
    assert len(drafts) <= max_regions
    for draft in drafts:
        x0, y0, x1, y1 = draft.bbox
        assert 0 <= x0 <= x1 <= WIDTH
        assert 0 <= y0 <= y1 <= HEIGHT


@settings(max_examples=100)
@given(lines=st.lists(rectangles(largest=100), max_size=25), taken=st.lists(rectangles(), max_size=4))
def test_groups_are_a_partition_that_does_not_depend_on_order(lines, taken):
    given_lines = [TextLine(bbox=bbox, text=str(index)) for index, bbox in enumerate(lines)]
    groups = grouped(given_lines, taken)
    assert sorted(item.text for group in groups for item in group) == sorted(item.text for item in given_lines)
    assert grouped(given_lines[::-1], taken) == groups


def test_a_line_goes_to_the_box_that_contains_most_of_it():
    drafts = built([box("text", 0, 0, 300, 100), box("text", 300, 0, 600, 100)], [line(250, 10, 500, 20)])
    assert region_with(drafts, "x").bbox == [250, 10, 500, 20]
    assert len(drafts) == 1, "a text box without lines was a mistake of the network"


def test_of_two_boxes_that_contain_a_line_the_smaller_has_it():
    drafts = built(
        [box("text", 0, 0, 600, 400, 0.9), box("section_header", 10, 10, 200, 30, 0.5)],
        [line(12, 12, 190, 28, "head"), line(12, 50, 580, 64, "body")],
    )
    assert region_with(drafts, "head").label == "section_header"
    assert region_with(drafts, "body").label == "text"


def test_a_text_box_without_lines_stays_while_nobody_has_looked():
    assert [d.label for d in built([box("text", 0, 0, 600, 100)], [], detected=False)] == ["text"]


def test_weak_and_double_boxes_go():
    boxes = [
        box("text", 0, 0, 300, 100, 0.29),
        box("table", 0, 200, 300, 400, 0.5),
        box("picture", 2, 202, 300, 398, 0.8),
        box("text", 10, 210, 100, 230, 0.9),
    ]
    assert [b.label for b in clean(boxes, WIDTH, HEIGHT, 0.3)] == ["picture"]


def test_a_caption_inside_a_table_stays():
    boxes = [box("table", 0, 200, 300, 400), box("caption", 10, 205, 200, 220)]
    assert {b.label for b in clean(boxes, WIDTH, HEIGHT, 0.3)} == {"table", "caption"}


def test_text_in_a_picture_is_a_region_of_its_own():
    drafts = built([box("picture", 0, 0, 400, 400)], [line(20, 20, 120, 32), line(20, 300, 90, 312)])
    assert [(d.label, len(d.lines)) for d in drafts] == [("picture", 0), ("text", 2)]
    assert drafts[1].reason == "text inside a picture"


def test_a_weak_picture_over_text_is_none():
    lines = [line(20, 20 + 80 * row, 120, 32 + 80 * row) for row in range(5)]
    assert [d.label for d in built([box("picture", 0, 0, 400, 600, 0.4)], lines)] == ["text"] * 5
    assert [d.label for d in built([box("picture", 0, 0, 400, 600, 0.4)], lines[:2])] == ["picture", "text"]


def test_a_level_line_over_columns_of_vertical_text_is_none_of_them():
    down = [
        TextLine(bbox=[300 - 25 * n, 60, 316 - 25 * n, 700], text=f"v{n}", vertical=True) for n in range(6)
    ]  # fmt: skip
    head = TextLine(bbox=[274, 26, 326, 39], text="head")
    drafts = built([box("text", 134, 26, 474, 778)], [*down, head])
    assert region_with(drafts, "head").lines == [head]
    assert all("head" not in [one.text for one in d.lines] or len(d.lines) == 1 for d in drafts)


def test_a_picture_of_the_page_boxed_with_the_text_around_it_is_that_picture_and_text():
    lines = [line(50, 100 + 12 * row, 280, 110 + 12 * row, f"a{row}") for row in range(15)]
    lines += [line(310, 100 + 12 * row, 540, 110 + 12 * row, f"b{row}") for row in range(15)]
    lines += [line(50, 420 + 12 * row, 540, 430 + 12 * row, f"c{row}") for row in range(20)]
    drafts = built([box("picture", 50, 112, 545, 660, 0.61)], lines, figures=[[50, 300, 545, 400]])
    assert [d.bbox for d in drafts if d.label == "picture"] == [[50, 300, 545, 400]]
    assert sorted("".join(sorted({one.text[0] for one in d.lines})) for d in drafts if d.lines) == ["a", "b", "c"]


def test_a_picture_that_is_mostly_text_is_text():
    lines = [line(10, 10 + 20 * i, 390, 26 + 20 * i, str(i)) for i in range(9)]
    (draft,) = built([box("picture", 0, 0, 400, 200)], lines)
    assert (draft.label, len(draft.lines)) == ("text", 9)


@pytest.mark.parametrize(("score", "label"), [(0.5, "text"), (0.85, "text"), (0.95, "table")])
def test_a_doubtful_table_must_show_cells(score, label):
    paragraph = [line(10, 10 + 20 * i, 390, 26 + 20 * i, str(i)) for i in range(4)]
    assert built([box("table", 0, 0, 400, 200, score)], paragraph)[0].label == label
    bullets = [line(2, 10 + 20 * i, 8, 26 + 20 * i, "●") for i in range(4)]
    short = [line(10, 10 + 20 * i, 120, 26 + 20 * i, str(i)) for i in range(4)]
    listed = "list_item" if label == "text" else label
    assert built([box("table", 0, 0, 400, 200, score)], bullets + short)[0].label == listed
    cells = [line(10 + 200 * c, 10 + 20 * r, 90 + 200 * c, 26 + 20 * r, f"{r}{c}") for r in range(2) for c in range(2)]
    assert built([box("table", 0, 0, 400, 200, score)], cells)[0].label == "table"


@pytest.mark.parametrize("label", ["text", "picture"])
def test_rows_of_cells_are_a_table_that_the_network_missed(label):
    cells = [line(10 + 130 * c, 10 + 20 * r, 90 + 130 * c, 26 + 20 * r, f"{r}{c}") for r in range(6) for c in range(4)]
    (draft,) = built([box(label, 0, 0, 500, 130)], cells)
    assert (draft.label, len(draft.lines)) == ("table", 24)


def test_three_columns_of_prose_are_no_table():
    lines = [line(10 + 200 * c, 10 + 12 * r, 190 + 200 * c, 20 + 12 * r, f"{c}{r}") for c in range(3) for r in range(9)]
    assert [d.label for d in built([box("text", 0, 0, 600, 200)], lines)] == ["text"] * 3


@pytest.mark.parametrize(("score", "labels"), [(0.5, ["text", "text"]), (0.85, ["table"])])
def test_a_doubtful_table_of_prose_is_columns(score, labels):
    lines = [line(10 + 300 * c, 10 + 14 * r, 290 + 300 * c, 22 + 14 * r, f"{c}{r}") for c in range(2) for r in range(9)]
    assert [d.label for d in built([box("table", 0, 0, 600, 200, score)], lines)] == labels


def test_a_text_box_seen_twice_is_one():
    foot = line(285, 803, 309, 812, "Page 2")
    for detected in (False, True):
        boxes = [box("page_footer", 286, 803, 309, 811, 0.32), box("page_footer", 285, 806, 309, 815, 0.45)]
        assert len(built(boxes, [foot], detected=detected)) == 1


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("合计（大写）：人民币壹拾贰万叁仟", "text"),
        ("Received by Smith, checked by Jones", "text"),
        ("f(x) = sin 2x + 3y", "formula"),
        ("E = mc2", "formula"),
    ],
)
def test_prose_is_no_formula(text, label):
    assert built([box("formula", 0, 0, 300, 40)], [line(10, 10, 280, 24, text)])[0].label == label


@pytest.mark.parametrize(("count", "label"), [(3, "section_header"), (4, "text")])
def test_a_heading_of_many_lines_is_text(count, label):
    lines = [line(10, 10 + 20 * i, 200, 26 + 20 * i, str(i)) for i in range(count)]
    assert [d.label for d in built([box("section_header", 0, 0, 300, 100)], lines)] == [label]


def test_lines_outside_all_boxes_are_grouped_by_column():
    left = [line(50, 100 + 14 * i, 250, 112 + 14 * i, f"l{i}") for i in range(3)]
    right = [line(310, 100 + 14 * i, 500, 112 + 14 * i, f"r{i}") for i in range(3)]
    drafts = built([], [item for pair in zip(left, right, strict=True) for item in pair])
    assert [[item.text for item in d.lines] for d in drafts] == [["l0", "l1", "l2"], ["r0", "r1", "r2"]]
    assert all(d.found_by == "native" for d in drafts)


def test_lines_that_go_on_a_text_join_it():
    lines = [line(50, 100 + 13 * i, 300, 111 + 13 * i, str(i)) for i in range(8)]
    (draft,) = built([box("text", 48, 125, 302, 176)], lines)
    assert [item.text for item in draft.lines] == [str(i) for i in range(8)]
    assert draft.bbox == [50, 100, 300, 202]


def test_what_stands_apart_or_belongs_to_a_heading_does_not_join():
    body = [line(50, 140 + 13 * i, 300, 151 + 13 * i, f"b{i}") for i in range(3)]
    apart, beside = line(50, 200, 300, 211, "apart"), line(310, 140, 500, 151, "beside")
    drafts = built([box("text", 48, 138, 302, 180), box("section_header", 48, 120, 302, 138)], [*body, apart, beside])
    assert len(region_with(drafts, "b0").lines) == 3
    assert region_with(drafts, "apart").found_by == region_with(drafts, "beside").found_by == "native"


def test_a_leftover_group_does_not_grow_over_a_region():
    above, below = line(50, 100, 500, 112, "a"), line(50, 122, 500, 134, "b")
    drafts = built([box("section_header", 60, 113, 200, 121)], [above, below, line(62, 114, 198, 120, "head")])
    assert len(drafts) == 3


def test_detected_leftovers_carry_the_weakest_confidence():
    lines = [
        TextLine(bbox=[0, 0, 100, 10], quad=[0.0] * 8, confidence=0.9),
        TextLine(bbox=[0, 12, 100, 22], quad=[0.0] * 8, confidence=0.7),
    ]
    (draft,) = built([], lines)
    assert (draft.found_by, draft.confidence) == ("leftover", 0.7)


def test_a_seal_takes_red_lines_only():
    lines = [line(110, 110, 180, 125, "stamp"), line(100, 150, 200, 162, "date")]
    drafts = built([], lines, seals=[[100, 100, 200, 200]], red={0})
    assert region_with(drafts, "stamp").label == "seal"
    assert region_with(drafts, "date").label == "text"


def test_a_seal_replaces_the_box_the_network_gave_it():
    drafts = built([box("picture", 98, 99, 203, 204)], [], seals=[[100, 100, 200, 200]])
    assert [(d.label, d.found_by) for d in drafts] == [("seal", "colour")]


def test_share_of_a_flat_box_counts_by_its_centre():
    assert area([5, 5, 5, 9]) == 0
    assert share_inside([5, 5, 5, 9], [0, 0, 10, 10]) == 1.0
    assert share_inside([5, 5, 5, 9], [6, 0, 10, 10]) == 0.0


def test_a_box_of_the_network_on_the_words_of_a_tick_is_seen_twice():
    drawn = Drawn(widgets=[Widget([72, 168, 86, 182], checked=True)])
    pieces = [Piece(line(100, 169, 171, 183, "Needs a crane"))]
    drafts = build(
        [box("page_footer", 95, 172, 171, 181)], drawn, pieces, WIDTH, HEIGHT, detected=False, max_regions=500
    )
    assert [(d.label, len(d.lines)) for d in drafts] == [("checkbox", 2)]
