"""Which parts of a page the orientation network is shown."""

import numpy as np
import pytest

from shared.models.orientation import INNER, MOST, _squares

pytestmark = pytest.mark.unit


def picture(height, width):
    return np.arange(height * width * 3, dtype=np.uint32).astype(np.uint8).reshape(height, width, 3)


@pytest.mark.parametrize(("height", "width", "count"), [(300, 200, 2), (200, 200, 1), (60, 600, 9), (800, 600, 1)])
def test_squares_follow_the_longer_side(height, width, count):
    squares = _squares(picture(height, width), 1)
    assert len(squares) <= MOST
    assert abs(len(squares) - count) <= (4 if count == 9 else 0)
    side = int(min(height, width) * INNER)
    assert all(square.shape == (side, side, 3) for square in squares)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 900), (2, 2), (800, 1)])
def test_slivers_give_squares_too(height, width):
    for across in (1, 2):
        squares = _squares(picture(height, width), across)
        assert squares
        assert all(square.shape[0] == square.shape[1] >= 1 for square in squares)
