"""Boxes land where the blocks are, at any scale."""

from __future__ import annotations

import numpy as np
import pytest

from docfleet import overlays
from shared.contracts.document import Block, Label, Page, Provenance

pytestmark = pytest.mark.unit


def block(order: int, label: Label, bbox: list[float] | None, page_no: int = 1) -> Block:
    return Block(
        id=f"b{order}", order=order, label=label, raw_label=label, prov=[Provenance(page_no=page_no, bbox=bbox)]
    )


def page(width: float = 200, height: float = 100) -> Page:
    return Page(page_no=1, width=width, height=height, unit="pt", status="ok", kind="native")


def test_every_label_has_a_colour():
    assert set(overlays.COLOURS) == set(Label.__args__)


@pytest.mark.parametrize("scale", [1, 3])
def test_the_frame_of_a_block_is_drawn_in_its_colour(scale):
    picture = np.full((100 * scale, 200 * scale, 3), 255, np.uint8)
    image = np.asarray(overlays.draw(picture, page(), [block(0, "table", [50, 40, 150, 80])]))
    green = np.array([0x0B, 0x8A, 0x3C])
    assert (image[60 * scale, 50 * scale] == green).all()
    assert (image[80 * scale, 100 * scale] == green).all()
    assert (image[95 * scale, 190 * scale] == 255).all()


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
    assert overlays.draw(picture, page(4000, 1000), [block(0, "text", [1, 1, 2, 2])]).size == (1600, 400)
