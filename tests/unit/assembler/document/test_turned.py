"""Turned text is ordered and joined in its own frame."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from shared.contracts.codec import encode
from shared.contracts.layout import Grid, GridCell, LinkArea, PageLayout, Region, TextLine
from shared.contracts.turned import Turned
from tests.support import pages as make
from tests.support.schema import assert_valid

pytestmark = pytest.mark.unit


def turned(layout: PageLayout, angle: float) -> PageLayout:
    """The same page, everything on it turned."""
    frame = Turned(angle, *((layout.height, layout.width) if angle % 180 else (layout.width, layout.height)))

    def line(one: TextLine) -> TextLine:
        return replace(one, bbox=frame.back(one.bbox), angle=angle)

    def region(one: Region) -> Region:
        return replace(one, bbox=frame.back(one.bbox), lines=[line(own) for own in one.lines])

    size = (layout.height, layout.width) if angle % 180 else (layout.width, layout.height)
    return replace(layout, width=size[0], height=size[1], regions=[region(one) for one in layout.regions])


def two_columns() -> PageLayout:
    heading = make.region(0, "section_header", make.lines(60, 50, ["A heading over both"], size=16))
    texts = []
    for index, (column, part) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)], 1):
        said = [f"column {column} part {part} line {line} runs on" for line in range(3)]
        at = make.lines(60 + 260 * column, 100 + 60 * part, said, width=230)
        texts.append(make.region(index, "text", at))
    return make.layout([heading, *texts])


@pytest.mark.parametrize("angle", [90.0, 180.0, 270.0])
def test_a_turned_page_has_the_texts_and_the_order_of_an_upright_one(angle: float) -> None:
    upright, page = make.page(two_columns()), make.page(turned(two_columns(), angle))
    assert [(b.label, b.text, b.content_layer) for b in page.blocks] == [
        (b.label, b.text, b.content_layer) for b in upright.blocks
    ]
    assert {b.angle for b in page.blocks} == {angle}
    assert_valid("composed_page", encode(page))
    frame = Turned(angle, page.page.width, page.page.height)
    for one, other in zip(page.blocks, upright.blocks, strict=True):
        assert one.prov[0].bbox is not None
        assert frame.into(one.prov[0].bbox) == pytest.approx(other.prov[0].bbox, abs=0.02)


@pytest.mark.parametrize("angle", [90.0, 180.0, 270.0])
def test_a_turned_paragraph_stands_between_its_neighbours_and_is_joined_with_neither(angle: float) -> None:
    frame = Turned(angle, make.WIDTH, make.HEIGHT)
    own = make.lines(0, 0, [f"turned line {i} goes on" for i in range(3)], width=120)
    x, y = frame.into([300, 300, 300, 300])[:2]
    lines = [
        replace(
            line,
            bbox=frame.back([line.bbox[0] + x - 60, line.bbox[1] + y, line.bbox[2] + x - 60, line.bbox[3] + y]),
            angle=angle,
        )
        for line in own
    ]
    above = make.region(
        0, "text", make.lines(60, 60, ["first line of the first and", "the second line and more of"], width=300)
    )
    below = make.region(2, "text", make.lines(60, 500, ["and then a line of the last", "and its end."], width=300))
    page = make.page(make.layout([above, make.region(1, "text", lines), below]))
    assert [(b.text, b.angle) for b in page.blocks] == [
        ("first line of the first and the second line and more of", 0),
        ("turned line 0 goes on turned line 1 goes on turned line 2 goes on", angle),
        ("and then a line of the last and its end.", 0),
    ]


def test_what_runs_across_the_page_comes_last_and_has_its_angle() -> None:
    mark = TextLine(bbox=[100, 60, 400, 360], text="CONFIDENTIAL", font_size=48, angle=315)
    body = make.region(1, "text", make.lines(60, 100, ["a line of the body", "and another of it"], width=300))
    page = make.page(make.layout([make.region(0, "text", [mark]), body]))
    assert [(b.text, b.angle) for b in page.blocks] == [
        ("a line of the body and another of it", 0),
        ("CONFIDENTIAL", 315),
    ]
    assert page.blocks[1].prov[0].bbox == pytest.approx([100, 60, 400, 360], abs=1)


def test_heads_of_several_lines_are_read_along_them_in_their_cells() -> None:
    cells = [
        GridCell(row=r, col=c, bbox=[100 + 50 * c, 100 + 60 * r, 150 + 50 * c, 160 + 60 * r])
        for r in (0, 1)
        for c in (0, 1)
    ]
    heads = [
        TextLine(
            bbox=[105 + 14 * i + 50 * c, 102, 117 + 14 * i + 50 * c, 158], text=f"{word} {c}", font_size=10, angle=270
        )
        for c in (0, 1)
        for i, word in enumerate(("number", "of", "ships"))
    ]
    values = [line for c in (0, 1) for i in range(3) for line in make.lines(105 + 50 * c, 165 + 14 * i, [f"v{c}{i}"])]
    region = make.region(0, "table", [*heads, *values], grid=Grid(cells=cells))
    (block,) = make.page(make.layout([region])).blocks
    assert block.table is not None
    assert [cell.text for cell in block.table.cells] == [
        "number 0 of 0 ships 0", "number 1 of 1 ships 1", "v00 v01 v02", "v10 v11 v12",
    ]  # fmt: skip
    assert block.angle == 0


@pytest.mark.parametrize("angle", [90.0, 180.0, 270.0])
def test_a_drawn_table_on_its_side_has_its_rows_along_its_text(angle: float) -> None:
    frame = Turned(angle, make.WIDTH, make.HEIGHT)
    places = [(r, c, [100 + 80 * c, 100 + 20 * r, 180 + 80 * c, 120 + 20 * r]) for r in range(2) for c in range(3)]
    lines = [
        TextLine(
            bbox=frame.back([box[0] + 5, box[1] + 4, box[0] + 50, box[1] + 16]),
            text=f"r{r}c{c}",
            font_size=10,
            angle=angle,
        )
        for r, c, box in places
    ]
    drawn = []
    for r, c, box in places:
        row, col = {90.0: (c, 1 - r), 180.0: (1 - r, 2 - c), 270.0: (2 - c, r)}[angle]
        drawn.append(GridCell(row=row, col=col, bbox=frame.back(box)))
    region = make.region(0, "table", lines, grid=Grid(cells=sorted(drawn, key=lambda cell: (cell.row, cell.col))))
    upright = make.region(
        1, "text", make.lines(60, 500, [f"upright line {i} of the text" for i in range(9)], width=300)
    )
    page = make.page(make.layout([region, upright]))
    (block,) = [b for b in page.blocks if b.table is not None]
    assert block.text == "r0c0\tr0c1\tr0c2\nr1c0\tr1c1\tr1c2"
    assert block.angle == angle
    assert block.table is not None
    for cell, (_, _, box) in zip(block.table.cells, places, strict=True):
        assert cell.bbox == pytest.approx(frame.back(box), abs=0.02)


def test_a_link_is_on_the_words_that_it_is_drawn_on() -> None:
    lines: Sequence[TextLine] = [
        TextLine(bbox=[20, 200, 32, 500], text="see https://example.org for more", font_size=10, angle=270)
    ]
    body = make.region(1, "text", make.lines(60, 100, ["a line of the body", "and another of it"], width=300))
    area = LinkArea(bbox=[20, 280, 32, 460], uri="https://example.org", text="")
    page = make.page(make.layout([make.region(0, "text", lines), body], links=[area]))
    (block,) = [b for b in page.blocks if b.angle]
    assert [block.text[link.start : link.end] for link in block.links] == ["https://example.org"]
