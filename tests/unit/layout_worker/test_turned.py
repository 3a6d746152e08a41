"""Turned text has regions of its own, made in its own frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.layout_worker.boxes import hull
from services.layout_worker.found import FoundBox, FoundLine
from services.layout_worker.regions.drafts import Draft, Drawn, Piece
from services.layout_worker.regions.regions import build
from services.layout_worker.trust.match import unread
from shared.contracts.document import Label
from shared.contracts.layout import TextLine
from shared.contracts.turned import Turned

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 600.0, 800.0
PROSE = "The harbour was quiet in the early morning when the first ships came in"


def paragraph(x: float, y: float, name: str, count: int = 4, angle: float = 0.0) -> list[TextLine]:
    """Lines of 300 points, 14 apart, at a place of the page on which they are upright; on the page that is turned by `angle`."""
    frame = Turned(angle, WIDTH, HEIGHT)
    return [
        TextLine(
            bbox=frame.back([x, y + 14 * i, x + 300, y + 14 * i + 12]),
            text=f"{name} {i}: {PROSE}",
            font_size=11,
            angle=angle,
        )
        for i in range(count)
    ]


def built(lines: Sequence[TextLine], boxes: Sequence[FoundBox] = (), red: bool = False) -> list[Draft]:
    pieces = [Piece(line, red) for line in lines]
    return build(boxes, Drawn(), pieces, WIDTH, HEIGHT, detected=False, max_regions=500)


def box(label: Label, bbox: Sequence[float]) -> FoundBox:
    return FoundBox(label=label, raw_label=label, bbox=list(bbox), score=0.9)


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.floats(0, 500),
            st.floats(0, 700),
            st.floats(1, 300),
            st.sampled_from([0.0, 90.0, 180.0, 270.0, 45.0, 313.0]),
        ),
        max_size=20,
    ),
    st.lists(st.sampled_from(["text", "picture", "page_header", "title"]), max_size=3),
    st.booleans(),
)
def test_lines_of_different_angles_share_no_region_but_a_table(
    given_lines: list[tuple[float, float, float, float]], labels: list[Label], red: bool
) -> None:
    lines = [
        TextLine(bbox=[x, y, x + long, y + 12], text=f"line {i}", font_size=10, angle=angle)
        for i, (x, y, long, angle) in enumerate(given_lines)
    ]
    boxes = [box(label, [50 * i, 100 * i, 400, 500 + 50 * i]) for i, label in enumerate(labels)]
    drafts = built(lines, boxes, red)
    assert Counter(line.text for d in drafts for line in d.lines) == Counter(line.text for line in lines)
    assert all(len({line.angle for line in d.lines}) <= 1 for d in drafts if d.label != "table")


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_paragraphs_that_are_turned_are_parted_as_upright_ones_are(angle: float) -> None:
    """The same page by whichever side it is turned: two paragraphs in each of two columns."""

    def texts(angle: float) -> list[list[str]]:
        frame = Turned(angle, WIDTH, HEIGHT)
        lines = []
        for column in (0, 1):
            for part in (0, 1):
                for line in paragraph(40 + 400 * column, 60 + 100 * part, f"{column}{part}"):
                    around = Turned(0, frame.width, frame.height).into(line.bbox)
                    lines.append(TextLine(bbox=frame.back(around), text=line.text, font_size=11, angle=angle))
        return sorted(sorted(line.text or "" for line in d.lines) for d in built(lines))

    assert len(texts(angle)) == 4
    assert all(len(part) == 4 for part in texts(angle))


def test_a_stamp_in_the_margin_is_a_note_beside_the_text() -> None:
    stamp = TextLine(bbox=[20, 300, 36, 600], text="Entered on the third of May", font_size=12, angle=270)
    drafts = built([*paragraph(100, 100, "a"), stamp])
    assert [d.label for d in drafts if stamp in d.lines] == ["aside_text"]


def test_what_runs_across_the_page_is_a_text_of_its_own_however_large() -> None:
    mark = TextLine(bbox=[100, 80, 400, 380], text="CONFIDENTIAL", font_size=48, angle=315)
    drafts = built([*paragraph(100, 100, "a"), mark], [box("text", [95, 90, 405, 165])])
    assert sorted((d.label, len(d.lines)) for d in drafts) == [("text", 1), ("text", 4)]


def test_a_box_of_the_network_on_turned_text_is_not_read_again() -> None:
    lines = paragraph(100, 100, "a", angle=180)
    drafts = built(lines, [box("text", hull(line.bbox for line in lines))])
    assert [len(d.lines) for d in drafts] == [4]


@pytest.mark.parametrize("boxed", [True, False])
def test_heads_of_a_table_that_are_turned_are_in_the_table(boxed: bool) -> None:
    heads = [
        TextLine(bbox=[200 + 60 * i, 100, 212 + 60 * i, 160], text=f"head {i}", font_size=10, angle=270)
        for i in range(3)
    ]
    cells = [
        TextLine(bbox=[100 + 80 * c, 170 + 20 * r, 130 + 80 * c, 182 + 20 * r], text=f"{r}{c}", font_size=10)
        for r in range(5)
        for c in range(4)
    ]
    drafts = built([*heads, *cells], [box("table", [90, 95, 380, 260])] if boxed else [])
    assert [(d.label, len(d.lines)) for d in drafts] == [("table", 23)]


def test_the_name_of_an_axis_knows_its_picture() -> None:
    name = TextLine(bbox=[105, 200, 117, 300], text="height in metres", font_size=10, angle=270)
    drafts = built([*paragraph(100, 500, "a"), name], [box("picture", [100, 100, 400, 400])])
    (found,) = [d for d in drafts if name in d.lines]
    assert found.inside == [100, 100, 400, 400]
    assert any(d.label == "picture" for d in drafts)


def test_a_table_on_its_side_is_a_table() -> None:
    frame = Turned(90, WIDTH, HEIGHT)
    lines = [
        TextLine(
            bbox=frame.back([60 + 180 * c, 80 + 20 * r, 100 + 180 * c, 92 + 20 * r]),
            text=f"cell {r}{c}",
            font_size=10,
            angle=90,
        )
        for r in range(8)
        for c in range(4)
    ]
    assert [(d.label, len(d.lines)) for d in built(lines)] == [("table", 32)]


def seen(bbox: Sequence[float], angle: float = 0.0) -> FoundLine:
    """A detected line, by its box in the frame of its text."""
    frame = Turned(angle, WIDTH, HEIGHT)
    x0, y0, x1, y1 = bbox
    corners = [frame.back([x, y, x, y])[:2] for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
    return FoundLine(quad=[value for corner in corners for value in corner], score=0.9)


def test_a_scan_under_a_slanted_watermark_is_read_and_the_watermark_is_not() -> None:
    frame = Turned(315, WIDTH, HEIGHT)
    place = [300.0, frame.height / 2 - 25, 700.0, frame.height / 2 + 25]
    mark = TextLine(bbox=frame.back(place), text="CONFIDENTIAL", font_size=42, angle=315)
    body = [seen([100, 250 + 40 * i, 500, 262 + 40 * i]) for i in range(6)]
    pieces = unread([*body, seen([305, place[1] + 4, 695, place[3] - 4], 315)], [mark], 1.0, 1.0)
    assert [piece.line.bbox for piece in pieces] == [[100, 250 + 40 * i, 500, 262 + 40 * i] for i in range(6)]
