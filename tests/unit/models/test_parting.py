"""Lines of a seal that touch in the text map are told apart."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.models.parting import blobs, parted
from shared.models.seal import shapes

pytestmark = pytest.mark.unit

SIDE = 400
Mask = npt.NDArray[np.uint8]


def ring(mask: Mask, degrees: float, *, radius: int = 140, thick: int = 30) -> None:
    """An arc open at the bottom that sweeps so many degrees."""
    cv2.ellipse(mask, (200, 200), (radius, radius), -90, -degrees / 2, degrees / 2, 1, thick)


def bar(mask: Mask, top: int, *, wide: int = 180, high: int = 24) -> None:
    cv2.rectangle(mask, (200 - wide // 2, top), (200 + wide // 2, top + high), 1, -1)


def empty() -> Mask:
    return np.zeros((SIDE, SIDE), dtype=np.uint8)


def test_an_arc_whose_ends_touch_a_line_is_an_arc_and_a_line() -> None:
    """The form of a company seal; together they are a closed ring, which as one outline is full of nothing."""
    mask = empty()
    ring(mask, 265)
    bar(mask, 296)
    for _ in range(3):  # frayed corners, as the network's map has them
        mask = cv2.medianBlur(mask, 5)
    assert len(blobs(mask, 9)) == 1
    line, arc = sorted(shapes(mask, 3), key=lambda shape: shape.arc is not None)
    assert line.arc is None
    assert sorted(line.rectangle[1]) == pytest.approx([24, 180], abs=16)
    assert arc.arc is not None
    assert math.degrees(arc.arc.sweep) == pytest.approx(265, abs=20)
    assert (arc.arc.inner, arc.arc.outer) == (pytest.approx(125, abs=5), pytest.approx(155, abs=5))


@pytest.mark.parametrize("degrees", [60, 120, 200, 270, 320])
def test_an_arc_alone_stays_whole(degrees: int) -> None:
    mask = empty()
    ring(mask, degrees)
    (shape,) = shapes(mask, 3)
    assert shape.arc is not None
    assert math.degrees(shape.arc.sweep) == pytest.approx(degrees, abs=15)


def test_lines_apart_are_lines_and_specks_are_nothing() -> None:
    mask = empty()
    bar(mask, 100)
    bar(mask, 200, wide=100)
    mask[300, 300] = 1
    found = shapes(mask, 3)
    assert [shape.arc for shape in found] == [None, None]
    assert shapes(empty(), 3) == []


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.integers(0, 79)] * 4), min_size=1, max_size=6))
def test_parts_are_of_the_blob_and_do_not_overlap(boxes: list[tuple[int, int, int, int]]) -> None:
    mask = np.zeros((80, 80), dtype=np.uint8)
    for x0, y0, x1, y1 in boxes:
        cv2.rectangle(mask, (x0, y0), (x1, y1), 1, -1)
    whole = blobs(mask, 1)
    assert np.array_equal(sum(whole), mask)
    for blob in whole:
        parts = parted(blob)
        total = sum(part.astype(int) for part in parts)
        assert total.max() <= 1
        assert not np.any((total > 0) & (blob == 0))
        assert total.sum() >= 0.5 * blob.sum()
