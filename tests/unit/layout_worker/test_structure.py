"""Regions and labels out of the page's own text, without a network."""

import pytest

from services.layout_worker.regions import kinds, structure
from services.layout_worker.regions.drafts import Draft
from services.layout_worker.regions.style import style_of
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 595.0, 842.0


def line(x0, y0, text, *, size=10.0, width=None, **more):
    return TextLine(
        bbox=[x0, y0, x0 + (width or len(text) * size * 0.5), y0 + size * 1.2], text=text, font_size=size, **more
    )


def paragraph(x0, y0, count=5, name="p", width=220.0):
    return [line(x0, y0 + 13 * i, f"{name}{i} some words of a text that goes on", width=width) for i in range(count)]


def built(lines):
    style = style_of(lines)
    return kinds.settled(structure.drafts(lines, style), style, WIDTH, HEIGHT)


def labels(lines):
    return [
        (d.label, [item.text.split()[0] for item in d.lines]) for d in sorted(built(lines), key=lambda d: d.bbox[1::-1])
    ]


def label_of(drafts, first):
    (found,) = [d.label for d in drafts if d.lines[0].text.startswith(first)]
    return found


def test_headings_are_larger_or_bold():
    lines = [line(72, 100, "Large Heading", size=14), *paragraph(72, 130), line(72, 210, "1 Bold one", bold=True)]
    lines += [*paragraph(72, 230, name="q"), line(72, 310, "A bold sentence ends with a stop.", bold=True)]
    found = built(lines)
    assert label_of(found, "Large") == label_of(found, "1 Bold") == "section_header"
    assert label_of(found, "p0") == "text"
    assert all(d.label == "text" for d in found if any("bold sentence" in item.text for item in d.lines))


def test_a_bold_page_has_no_headings_for_it():
    lines = [line(72, 100 + 13 * i, f"b{i} all of this is bold text", bold=True) for i in range(8)]
    assert [d.label for d in built(lines)] == ["text"]


def test_title_and_first_section_are_two():
    lines = [line(72, 100, "The Title", size=20), line(72, 128, "1 Introduction", size=13), *paragraph(72, 150)]
    assert [label for label, _ in labels(lines)] == ["section_header", "section_header", "text"]


def test_lists_are_parted_from_the_text_around():
    lines = [*paragraph(72, 100, 2, "a"), line(82, 126, "• one thing to do"), line(92, 139, "and how it is done")]
    lines += [line(82, 152, "• another thing"), *paragraph(72, 165, 2, "z")]
    assert labels(lines) == [
        ("text", ["a0", "a1"]),
        ("list_item", ["•", "and", "•"]),
        ("text", ["z0", "z1"]),
    ]


def test_one_number_is_no_list():
    assert [label for label, _ in labels([line(72, 100, "1. August was a warm day"), *paragraph(72, 113)])] == ["text"]


def test_fixed_pitch_is_code():
    lines = [*paragraph(72, 100), *(line(72, 180 + 12 * i, f"x{i} = call({i})", monospace=True) for i in range(3))]
    assert ("code", ["x0", "x1", "x2"]) in labels(lines)


def test_columns_are_regions():
    lines = [*paragraph(60, 100, 9, "l", 220), *paragraph(310, 100, 9, "r", 220)]
    assert sorted(texts[0] for _, texts in labels(lines)) == ["l0", "r0"]


def test_running_matter_stands_apart_in_the_margins():
    body = [*paragraph(72, 100, 30)]
    found = built([line(72, 36, "A Journal of Things"), *body, line(290, 800, "12"), line(72, 800, "confidential")])
    assert label_of(found, "A Journal") == "page_header"
    assert label_of(found, "12") == "page_number"
    assert label_of(found, "confidential") == "page_footer"


def test_body_that_begins_in_the_margin_stays_body():
    assert labels(paragraph(72, 50, 12))[0][0] == "text"


def test_a_card_has_no_margins():
    assert [label for label, _ in labels([line(72, 20, "Name of somebody"), line(72, 300, "Street 7, Somewhere")])] == [
        "text",
        "text",
    ]


def model(label, *lines):
    x0, y0 = min(item.bbox[0] for item in lines), min(item.bbox[1] for item in lines)
    x1, y1 = max(item.bbox[2] for item in lines), max(item.bbox[3] for item in lines)
    return Draft(
        label=label, raw_label=label, bbox=[x0, y0, x1, y1], confidence=0.9, found_by="model", lines=list(lines)
    )


def relabelled(draft, *others):
    body = model("text", *paragraph(72, 300, 9))
    drafts = [draft, body, *others]
    style = style_of([item for d in drafts for item in d.lines])
    return kinds.settled(drafts, style, WIDTH, HEIGHT)[0].label


PICTURE = Draft(label="picture", raw_label="figure", bbox=[72, 500, 300, 600], confidence=0.9, found_by="model")


@pytest.mark.parametrize(
    ("draft", "label"),
    [
        (model("page_header", line(200, 40, "A Heading of the Page", size=16)), "section_header"),
        (model("page_header", line(72, 40, "Report 2024")), "page_header"),
        (model("page_header", line(72, 250, "in the middle of the page")), "text"),
        (model("reference", line(72, 600, "[1] A. Author. A title."), line(72, 613, "[2] B. Author.")), "reference"),
        (model("reference", line(72, 200, "• do this"), line(72, 213, "• do that")), "list_item"),
        (model("reference", line(72, 200, "plain words that go on"), line(72, 213, "and on")), "text"),
        (model("reference", line(72, 750, "1 See the other page.", size=8)), "footnote"),
        (model("text", line(72, 606, "Figure 3: what is seen")), "caption"),
        (model("text", line(72, 200, "Figure 3 shows what is seen")), "text"),
        (model("text", line(72, 606, "图 2 系统结构")), "caption"),
        (model("section_header", line(72, 200, "a line of the usual text that says nothing else")), "text"),
        (model("section_header", line(72, 200, "2.1 usual type but with a number before it")), "section_header"),
    ],
)
def test_labels_follow_the_evidence(draft, label):
    assert relabelled(draft, PICTURE) == label


def test_a_footer_of_a_scan_is_told_by_its_place():
    def scanned(y0, width=200):
        return TextLine(bbox=[72, y0, 72 + width, y0 + 12], quad=[0, 0, 400, 0, 400, 24, 0, 24], confidence=0.9)

    foot, body = model("reference", scanned(805)), model("text", *(scanned(100 + 14 * i) for i in range(20)))
    drafts = [foot, body]
    kinds.settled(drafts, style_of([*foot.lines, *body.lines]), WIDTH, HEIGHT)
    assert [d.label for d in drafts] == ["page_footer", "text"]
