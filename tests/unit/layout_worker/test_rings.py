"""Black circles with writing in them are stamps; letters, charts, signs and wheels are not."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from services.layout_worker.engine.rings import find_rings

pytestmark = pytest.mark.unit

Page = NDArray[np.uint8]
BLACK = (25, 25, 25)
FONT = cv2.FONT_HERSHEY_SIMPLEX


def paper(level: int = 240) -> Page:
    noise = np.random.default_rng(11).normal(0, 4, (800, 566, 1))
    return np.repeat(np.clip(level + noise, 0, 255).astype(np.uint8), 3, axis=2)


def written(page: Page, x: int, y: int, colour: tuple[int, int, int] = BLACK) -> None:
    for number, text in enumerate(("Ex", "Biblioth.", "Regia")):
        width = cv2.getTextSize(text, FONT, 0.6, 2)[0][0]
        cv2.putText(page, text, (x - width // 2, y - 18 + 24 * number), FONT, 0.6, colour, 2)


def stamp(page: Page, x: int, y: int, radius: int, colour: tuple[int, int, int] = BLACK) -> None:
    cv2.circle(page, (x, y), radius, colour, 2, cv2.LINE_AA)
    written(page, x, y, colour)


def lines(page: Page, top: int, bottom: int) -> None:
    for y in range(top, bottom, 18):
        cv2.putText(page, "of the orchard and the library", (60, y), FONT, 0.5, BLACK, 1)


@pytest.mark.parametrize("radius", [50, 68, 90])
@pytest.mark.parametrize("level", [240, 190])
def test_a_black_stamp_is_found_below_print(radius: int, level: int) -> None:
    page = paper(level)
    lines(page, 60, 330)
    stamp(page, 300, 560, radius)
    (found,) = find_rings(page)
    assert np.allclose(found, [300 - radius, 560 - radius, 300 + radius, 560 + radius], atol=5)


def test_a_worn_stamp_of_a_bilevel_scan_is_found() -> None:
    page = paper()
    stamp(page, 300, 560, 70)
    worn = np.random.default_rng(2).random(page.shape[:2]) < 0.35
    page[worn & (page[..., 0] < 128)] = 240
    assert len(find_rings(np.where(page < 128, 0, 255).astype(np.uint8))) == 1


def empty_ring(page: Page) -> None:
    cv2.circle(page, (300, 400), 60, BLACK, 3)


def disc(page: Page) -> None:
    cv2.circle(page, (300, 400), 60, BLACK, -1)


def half_ring(page: Page) -> None:
    cv2.ellipse(page, (300, 400), (60, 60), 0, 0, 240, BLACK, 2, cv2.LINE_AA)
    written(page, 300, 400)


def sign(page: Page) -> None:
    cv2.circle(page, (300, 400), 60, (120, 120, 120), -1)
    stamp(page, 300, 400, 60)


def diagram(page: Page) -> None:
    stamp(page, 300, 400, 60)
    for offset in range(-72, 73, 6):
        cv2.line(page, (200, 400 + offset), (400, 400 + offset), BLACK, 2)


def small(page: Page) -> None:
    cv2.circle(page, (300, 400), 12, BLACK, 2, cv2.LINE_AA)
    cv2.putText(page, "1", (295, 406), FONT, 0.5, BLACK, 1)


def print_alone(page: Page) -> None:
    lines(page, 60, 760)
    cv2.putText(page, "OOOO", (60, 400), FONT, 4.0, BLACK, 8)


@pytest.mark.parametrize("draw", [empty_ring, disc, half_ring, sign, diagram, small, print_alone, lambda page: None])
def test_nothing_else_is(draw: Callable[[Page], None]) -> None:
    page = paper()
    draw(page)
    assert find_rings(page) == []
