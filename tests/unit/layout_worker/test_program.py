"""What the engine child measures on pixels."""

import cv2
import numpy as np
import pytest

from services.layout_worker.engine.ink import ink_of
from services.layout_worker.engine.program import _is_red
from shared.models.pictures import darkest_of

pytestmark = pytest.mark.unit

QUAD = [20.0, 20, 180, 20, 180, 60, 20, 60]
SEAL = [0.0, 0, 200, 200]


def paper():
    return np.full((200, 200, 3), 244, dtype=np.uint8)


def write(page, colour, x=24):
    cv2.putText(page, "DATE 18", (x, 50), cv2.FONT_HERSHEY_SIMPLEX, 1.0, colour, 3)


def test_red_text_in_a_seal_is_the_seals_own():
    page = paper()
    write(page, (215, 60, 60))
    assert _is_red(page, QUAD, [SEAL])
    assert not _is_red(page, QUAD, [[100.0, 100, 200, 200]]), "outside of all seals it is red print"


def test_black_text_under_a_red_ring_is_not():
    page = paper()
    write(page, (30, 30, 30))
    cv2.circle(page, (100, 100), 80, (215, 60, 60), 8)
    assert not _is_red(page, QUAD, [SEAL])


def test_ink_is_what_differs_from_the_ground():
    page = paper()
    assert ink_of(darkest_of(page)) == 0
    page[:20] = 10
    assert ink_of(darkest_of(page)) == pytest.approx(0.1)
    assert ink_of(darkest_of(255 - page)) == pytest.approx(0.1), "white on black is ink, too"
    page[:20] = (244, 60, 60)
    assert ink_of(darkest_of(page)) == pytest.approx(0.1), "and so is colour"
