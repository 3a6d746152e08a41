"""Pictures made smaller keep their place and their tone."""

import numpy as np
import pytest

from shared.models.pictures import halved, resized, shrunk

pytestmark = pytest.mark.unit


def page(height, width):
    """White, with a black box over the middle third."""
    picture = np.full((height, width, 3), 255, dtype=np.uint8)
    picture[height // 3 : 2 * height // 3, width // 3 : 2 * width // 3] = 0
    return picture


@pytest.mark.parametrize(
    ("size", "least", "halves", "factor"),
    [
        ((2339, 1653), (800, 608), (1169, 826), 2),
        ((3200, 2432), (800, 608), (800, 608), 4),
        ((1599, 1300), (800, 608), (1599, 1300), 1),
        ((1700, 1200), (800, 608), (1700, 1200), 1),
    ],
)
def test_halves_stay_at_least_as_large(size, least, halves, factor):
    small, pixels = halved(page(*size), least[1], least[0])
    assert (small.shape[:2], pixels) == (halves, factor)


@pytest.mark.parametrize("size", [(2339, 1653), (1201, 903), (641, 481)])
def test_what_is_shrunk_stays_where_it_was(size):
    small = shrunk(page(*size), 300, 400)
    assert small.shape == (400, 300, 3)
    ys, xs = np.nonzero(small[..., 0] < 128)
    for found, whole in ((ys, 400), (xs, 300)):
        assert found.min() == pytest.approx(whole / 3, abs=1)
        assert found.max() == pytest.approx(2 * whole / 3, abs=2)
    assert small.mean() == pytest.approx(page(*size).mean(), rel=0.01)


def test_a_small_picture_is_enlarged_as_before():
    small = page(60, 90)
    assert np.array_equal(shrunk(small, 180, 120), resized(small, 180, 120))
