"""Captions: in the box of what they name, by their beginning, and by their type under a picture."""

import pytest

from services.layout_worker.regions import captions
from services.layout_worker.regions.drafts import Draft
from services.layout_worker.regions.style import Style
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit

STYLE = Style(size=10.0)


def line(x0, y0, text, width=None, size=10.0, italic=False):
    return TextLine(bbox=[x0, y0, x0 + (width or 5.0 * len(text)), y0 + 12], text=text, font_size=size, italic=italic)


def draft(label, lines, bbox=None):
    bbox = bbox or [min(one.bbox[0] for one in lines), lines[0].bbox[1], 400.0, lines[-1].bbox[3]]
    return Draft(label=label, raw_label=label, bbox=bbox, confidence=0.9, found_by="model", lines=list(lines))


PICTURE = draft("picture", [], [100.0, 100.0, 400.0, 300.0])


@pytest.mark.parametrize(
    "text", ["Figure 2. The harbour", "图1 清水谷", "図2 まとめ", "Tab. 3: Preise", "表1 附则", "Abbildung 4"]
)
def test_what_begins_like_a_caption(text):
    assert captions.begins_caption(text)


@pytest.mark.parametrize(
    "text", ["Figures are given below", "Table for two", "The table shows", "图书馆的管理", "表彰大会"]
)
def test_what_does_not(text):
    assert not captions.begins_caption(text)


def test_a_caption_at_the_lower_edge_of_a_pictures_box_is_parted_from_it():
    axis = [line(120, 120, "75"), line(120, 180, "50")]
    named = [line(150, 276, "Figure 1. Ships by month"), line(150, 289, "and by harbour")]
    thing, caption = captions.parted(draft("picture", [*axis, *named], [100.0, 100.0, 400.0, 302.0]))
    assert (thing.label, caption.label) == ("picture", "caption")
    assert caption.lines == named
    assert thing.lines == axis
    assert thing.bbox[3] <= caption.bbox[1]


def test_a_caption_at_the_upper_edge_of_a_tables_box_is_parted_from_it():
    rows = [line(x, y, "cell") for y in (130, 148, 166) for x in (110, 210, 310)]
    thing, caption = captions.parted(draft("table", [line(180, 102, "Table 3: Prices"), *rows], [100, 98, 400, 180]))
    assert caption.label == "caption"
    assert thing.lines == rows
    assert thing.bbox[1] >= caption.bbox[3]


def test_a_cell_that_begins_like_a_caption_stays_in_its_table():
    rows = [line(110, 130, "Table 1"), line(210, 130, "oak"), line(110, 148, "Table 2"), line(210, 148, "ash")]
    table = draft("table", rows)
    assert captions.parted(table) == [table]


def test_a_picture_with_nothing_but_its_caption_in_it_keeps_its_box_and_loses_the_line():
    thing, caption = captions.parted(draft("picture", [line(180, 102, "图1 主要结果")], [100, 98, 400, 300]))
    assert (thing.label, thing.lines, caption.label) == ("picture", [], "caption")


def kind(label, lines, things=(PICTURE,)):
    return captions.kind_of(draft(label, lines), STYLE, things, 595.0)


def test_small_or_slanted_lines_right_under_a_picture_are_its_caption():
    assert kind("text", [line(110, 303, "The harbour at night", size=8.0)]) == "caption"
    assert kind("text", [line(110, 303, "The harbour at night", italic=True)]) == "caption"
    assert kind("text", [line(110, 303, "The harbour at night")]) is None
    assert kind("text", [line(110, 340, "The harbour at night", size=8.0)]) is None


def test_a_paragraph_beside_a_picture_that_the_network_took_for_a_caption_is_text():
    long = "Both the archive and the foundation were well kept, as the committee had asked before."
    assert kind("caption", [line(110, 310, long, 280.0)]) == "text"
    assert kind("caption", [line(110, 310, "Figure 7. " + long, 280.0)]) == "caption"


def test_a_numbered_caption_may_stand_at_the_margin_of_a_centred_picture():
    assert kind("text", [line(44, 88, "图3 附则", 32.0)]) == "caption"
    assert kind("text", [line(44, 88, "Figure 3 and", 32.0)], things=()) is None
