"""A box of the line detector that holds the corner of a table is no text; one that holds a letter is, also a letter that is one stroke."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw

from services.layout_worker.engine.ink import is_frame
from shared.models.pictures import Picture
from tests.support.faces import face

pytestmark = pytest.mark.unit

BOX = np.array([[100, 100], [240, 98], [242, 238], [102, 240]], dtype=np.float32)


def paper() -> Picture:
    grey = np.random.default_rng(2).normal(235, 5, (400, 400, 1))
    return np.repeat(np.clip(grey, 0, 255), 3, axis=2).astype(np.uint8)


def ruled(*ends: tuple[int, int, int, int]) -> Picture:
    picture = paper()
    for x0, y0, x1, y1 in ends:
        cv2.line(picture, (x0, y0), (x1, y1), (40, 40, 40), 3)
    return picture


@pytest.mark.parametrize(
    "rules",
    [
        [(0, 200, 190, 196), (190, 0, 190, 196)],  # a corner, a little askew
        [(0, 180, 399, 180), (180, 0, 180, 399)],  # where four cells meet
        [(0, 150, 399, 152)],
    ],
)
def test_rules_that_come_in_from_outside_are_no_text(rules: list[tuple[int, int, int, int]]) -> None:
    assert is_frame(ruled(*rules), BOX)


@pytest.mark.parametrize("text", ["A", "一", "口", "十", "7", "王"])
@pytest.mark.parametrize("cornered", [False, True])
def test_a_letter_is_text_also_beside_a_rule(text: str, cornered: bool) -> None:
    picture = Image.fromarray(ruled((0, 232, 399, 232), (234, 0, 234, 399)) if cornered else paper())
    font = face("japan", 96)
    ImageDraw.Draw(picture).text((122, 110), text, fill=(30, 30, 30), font=font)
    assert not is_frame(np.asarray(picture), BOX)


def test_bare_paper_and_a_long_line_are_not_judged() -> None:
    assert not is_frame(paper(), BOX)
    assert not is_frame(
        ruled((0, 150, 399, 150)), np.array([[20, 130], [380, 130], [380, 170], [20, 170]], dtype=np.float32)
    )


def test_a_small_digit_is_text() -> None:
    """Its box leaves two pixels of paper around it."""
    picture = paper()
    cv2.line(picture, (106, 102), (106, 112), (30, 30, 30), 2)
    assert not is_frame(picture, np.array([[100, 100], [112, 100], [112, 115], [100, 115]], dtype=np.float32))
