"""How a scan is turned, by its ink."""

import math

import cv2
import numpy as np
import pytest

from services.layout_worker.engine.skew import skew_of, straightened

pytestmark = pytest.mark.unit


def written(seed=0):
    """A page of words in rows, RGB."""
    rng = np.random.default_rng(seed)
    page = np.full((800, 566, 3), 245, dtype=np.uint8)
    for y in range(80, 720, 16):
        x = 60
        while x < 480:
            wide = int(rng.integers(12, 50))
            for letter in range(x, min(x + wide, 500), 5):
                page[y - int(rng.integers(4, 9)) : y, letter : letter + 3] = 30
            x += wide + 7
    return page


def turned(page, degrees):
    """Turned clockwise by so many degrees."""
    return straightened(page, -math.tan(math.radians(degrees)))


@pytest.mark.parametrize("degrees", [-5.0, -2.3, -0.7, 0.7, 1.6, 3.4, 5.0])
def test_rows_of_words_tell_how_they_are_turned(degrees):
    found = math.degrees(math.atan(skew_of(turned(written(), degrees))))
    assert found == pytest.approx(degrees, abs=0.15)


@pytest.mark.parametrize("degrees", [-3.0, 2.0])
def test_columns_of_characters_tell_it_too(degrees):
    page = np.ascontiguousarray(np.rot90(written(3)))
    found = math.degrees(math.atan(skew_of(turned(page, degrees))))
    assert found == pytest.approx(degrees, abs=0.15)


def test_a_level_page_is_level():
    assert skew_of(written(1)) == 0.0


def test_what_has_no_rows_says_nothing():
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 256, (800, 600, 3), dtype=np.uint8)
    assert skew_of(noise) == 0.0
    assert skew_of(np.full((800, 600, 3), 250, dtype=np.uint8)) == 0.0
    circles = np.full((800, 600, 3), 250, dtype=np.uint8)
    for radius in range(30, 280, 20):
        cv2.circle(circles, (300, 400), radius, (20, 20, 20), 3)
    assert skew_of(circles) == 0.0


def test_straightening_makes_a_page_level():
    page = turned(written(2), 2.5)
    assert abs(skew_of(straightened(page, skew_of(page)))) <= math.tan(math.radians(0.15))
