"""Page numbers of a single sign on scans, which the line detector does not see."""

from __future__ import annotations

import functools

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from services.layout_worker.engine.marks import MOST, find_marks

HEIGHT, WIDTH, LINE = 2200, 1700, 24
Picture = NDArray[np.uint8]
Quads = list[NDArray[np.float32]]


def page(lines: int = 20) -> tuple[Picture, Quads]:
    """A page of its own to write on."""
    picture, quads = _page(lines)
    return picture.copy(), list(quads)


@functools.cache
def _page(lines: int) -> tuple[Picture, Quads]:
    """A page of 200 dpi with lines of text between columns 200 and 1500, from row 300 on, noisy as a scan is."""
    rng = np.random.default_rng(3)
    picture = np.full((HEIGHT, WIDTH, 3), 238, dtype=np.uint8)
    quads = []
    for index in range(lines):
        y = 300 + index * 2 * LINE
        cv2.putText(picture, "An ordinary line of text " * 3, (200, y), cv2.FONT_HERSHEY_SIMPLEX, 0.75, (30, 30, 30), 2)
        quads.append(quad(200, y - LINE, 1500, y + 4))
    noise = rng.normal(0, 5, picture.shape)
    return np.clip(picture + noise, 0, 255).astype(np.uint8), quads


def quad(x0: float, y0: float, x1: float, y1: float) -> NDArray[np.float32]:
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=np.float32)


def write(picture: Picture, text: str, x: int, y: int, grey: int = 110, scale: float = 0.55) -> None:
    cv2.putText(picture, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, scale, (grey, grey, grey), 2, cv2.LINE_AA)


@pytest.mark.parametrize("text", ["1", "7", "i", "- 3 -"])
@pytest.mark.parametrize("y", [120, 2100])
def test_short_number_in_the_margin_is_one_box_with_paper_around(text: str, y: int) -> None:
    picture, quads = page()
    write(picture, text, 820, y)
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.55, 2)
    (x0, y0, x1, y1) = find_marks(picture, quads)[0]
    assert len(find_marks(picture, quads)) == 1
    assert x0 < 820 + 0.2 * width
    assert x1 > 820 + 0.8 * width
    assert y0 < y - 0.8 * height
    assert y1 > y
    assert y1 - y0 < 3 * height


def test_clean_margins_have_no_marks() -> None:
    picture, quads = page()
    assert find_marks(picture, quads) == []


def test_dust_is_no_mark() -> None:
    picture, quads = page()
    for x in range(300, 1400, 150):
        cv2.circle(picture, (x, 2100), 2, (60, 60, 60), -1)
    assert find_marks(picture, quads) == []


def test_many_signs_are_dirt() -> None:
    picture, quads = page()
    for index in range(MOST + 1):
        write(picture, "4", 300 + 300 * index, 2100)
    assert find_marks(picture, quads) == []


def test_what_stands_outside_the_columns_or_in_the_text_or_was_seen_is_left_alone() -> None:
    picture, quads = page()
    write(picture, "1", 60, 2100)
    write(picture, "2", 820, 1900)
    write(picture, "3", 900, 2100)
    assert find_marks(picture, [*quads, quad(895, 2080, 915, 2105)]) == []


def test_page_of_a_few_lines_says_nothing_about_the_size_of_print() -> None:
    picture, quads = page(lines=3)
    write(picture, "1", 820, 2100)
    assert find_marks(picture, quads) == []


def test_rule_and_blot_are_no_marks() -> None:
    picture, quads = page()
    cv2.line(picture, (200, 2090), (1500, 2090), (40, 40, 40), 2)
    cv2.rectangle(picture, (800, 2105), (815, 2120), (20, 20, 20), -1)
    assert find_marks(picture, quads) == []


def test_stroke_that_fills_its_box_is_a_mark_and_a_blot_is_none() -> None:
    picture, quads = page()
    picture[2100:2116, 500:505] = 90
    picture[2100:2116, 900:916] = 90
    ((x0, _, x1, _),) = find_marks(picture, quads)
    assert 480 < x0 < 500
    assert 505 < x1 < 525
