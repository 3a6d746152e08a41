"""Boxes land where the blocks are, at any scale."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from docfleet import drawing, overlays
from shared.contracts.document import Block, Label, Method, Page, Provenance

pytestmark = pytest.mark.unit


def block(order: int, label: Label, bbox: list[float] | None, page_no: int = 1) -> Block:
    return Block(
        id=f"b{order}", order=order, label=label, raw_label=label, prov=[Provenance(page_no=page_no, bbox=bbox)]
    )


def page(width: float = 200, height: float = 100) -> Page:
    return Page(page_no=1, width=width, height=height, unit="pt", status="ok", kind="native")


def test_every_label_and_reader_has_a_colour():
    assert set(drawing.COLOURS) == set(Label.__args__)
    assert set(overlays._METHODS) == set(Method.__args__)
    assert set(overlays._METHODS.values()) | {"none"} == set(overlays.READERS) == set(overlays.MEANING)


@pytest.mark.parametrize("scale", [1, 3])
def test_the_frame_of_a_block_is_drawn_in_its_colour(scale):
    picture = np.full((100 * scale, 200 * scale, 3), 255, np.uint8)
    image, left = drawing.draw(picture, overlays.sheet_of(page(), [block(0, "table", [50, 40, 150, 80])]))
    pixels = np.asarray(image)[:, left:]
    green = np.array([0x0B, 0x8A, 0x3C])
    assert (pixels[60 * scale, 50 * scale] == green).all()
    assert (pixels[80 * scale, 100 * scale] == green).all()
    assert (pixels[95 * scale, 190 * scale] == 255).all()


def test_blocks_of_other_pages_and_without_boxes_are_left_out():
    blocks = [
        block(2, "text", [0, 0, 1, 1]),
        block(1, "title", [0, 0, 1, 1]),
        block(0, "text", None),
        block(3, "text", [0, 0, 1, 1], 2),
    ]
    assert [b.order for b, _ in overlays.boxes(blocks, 1)] == [1, 2]


def test_pictures_of_high_resolution_are_drawn_smaller():
    picture = np.zeros((1000, 4000, 3), np.uint8)
    image, left = drawing.draw(picture, overlays.sheet_of(page(4000, 1000), [block(0, "text", [1, 1, 2, 2])]))
    pixels = np.asarray(image)
    assert (pixels[399, left : left + 1600].max(axis=0) < 255).all()
    assert (pixels[405, left : left + 1600].min(axis=0) == 255).all(), "the page is 1600 x 400 there"


def test_names_stand_beside_the_page_and_never_on_each_other():
    boxes = [[10, 10 + index / 10, 90, 11 + index / 10] for index in range(30)] + [[110, 95, 190, 99]]
    marks = [drawing.Mark(box, f"{i} text", "#1f6fd1") for i, box in enumerate(boxes)]
    names = drawing._names(drawing.Sheet(200, 100, marks), (10.0, 10.0), 1000, 13)
    left = sorted(name.y for name in names if name.side == "left")
    assert len(left) == 30
    assert all(below - above >= 13 for above, below in pairwise(left))
    assert [name.side for name in names if name.mark.name == "30 text"] == ["right"]
    white = np.full((800, 1600, 3), 255, np.uint8)
    image, offset = drawing.draw(white, drawing.Sheet(200, 100, marks))
    on_page = np.asarray(image)[:, offset : offset + 1600]
    assert not (on_page == [0x1F, 0x6F, 0xD1]).all(axis=2)[200:700].any(), "no name on the page"


def test_more_names_than_the_page_is_high_make_the_picture_higher():
    marks = [drawing.Mark([10, index, 90, index + 1], f"{index} text", "#1f6fd1") for index in range(99)]
    image, _ = drawing.draw(np.full((200, 400, 3), 255, np.uint8), drawing.Sheet(200, 100, marks))
    assert image.height >= 99 * (drawing.MIN_FONT + 7)


def test_a_legend_is_as_wide_as_there_is_room():
    key = drawing.Key("regions", [("#1f6fd1", f"label number {index}") for index in range(40)])
    picture = np.full((300, 300, 3), 255, np.uint8)
    bare, _ = drawing.draw(picture, drawing.Sheet(100, 100, []))
    image, _ = drawing.draw(picture, drawing.Sheet(100, 100, [], legend=[key], title="a page", notes=["a warning"]))
    assert image.height > bare.height + 5 * drawing.MIN_FONT
    assert image.width == bare.width
