"""Ink of a page, by OpenCV and by its definition."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.layout_worker.engine.ink import AROUND, CELL, CONTRAST, DARK, INK, ink_map, ink_of
from shared.models.pictures import darkest_of

pytestmark = pytest.mark.unit


def drawn(seed: int, height: int, width: int) -> np.ndarray:
    """Noise, strokes of all lengths and a dark panel: uint8 RGB."""
    random = np.random.default_rng(seed)
    picture = random.integers(200, 256, (height, width, 3), dtype=np.uint8)
    picture[height // 2 :, : width // 2] = random.integers(0, 90, 3)
    for _ in range(60):
        x, y = int(random.integers(0, width)), int(random.integers(0, height))
        w, h = (int(value) for value in random.integers(1, 40, 2))
        if random.random() < 0.5:
            w, h = max(1, w // 12), h
        picture[y : y + h, x : x + w] = random.integers(0, 256, 3)
    return picture


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), height=st.integers(1, 260), width=st.integers(1, 260))
def test_cells_hold_the_number_of_their_inked_pixels(seed: int, height: int, width: int):
    darkest = darkest_of(drawn(seed, height, width))
    around = cv2.blur(darkest, (AROUND, AROUND), borderType=cv2.BORDER_REPLICATE).astype(int)
    inked = ((around - darkest) > CONTRAST) | (((darkest - around) > CONTRAST) & (around < DARK))
    cells = ink_map(darkest)
    assert cells.shape == (height // CELL, width // CELL)
    whole = inked[: height // CELL * CELL, : width // CELL * CELL]
    counts = whole.reshape(height // CELL, CELL, width // CELL, CELL).sum(axis=(1, 3))
    assert (cells <= counts).all(), "ruling lines are left out"
    if min(height, width) < 24:
        return
    short = np.zeros_like(inked)  # strokes that are too short for a ruling line, apart from each other
    short[4:10, 4:14], short[16:20, 8:12] = 1, 1
    paper = np.where(short, 0, 255).astype(np.uint8)
    (rows, columns) = (height // CELL, width // CELL)
    expected = short[: rows * CELL, : columns * CELL].reshape(rows, CELL, columns, CELL).sum(axis=(1, 3))
    assert (ink_map(paper) == expected).all()


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_ink_is_what_differs_from_the_median(seed: int):
    darkest = darkest_of(drawn(seed, 120, 90))
    ground = int(np.sort(darkest.reshape(-1))[(darkest.size - 1) // 2])
    assert ink_of(darkest) == pytest.approx(float((np.abs(darkest.astype(int) - ground) > INK).mean()))


def test_a_ruling_line_is_no_ink_and_a_stroke_is():
    paper = np.full((200, 200), 255, np.uint8)
    paper[100:102, 10:190] = 0
    left = ink_map(paper).sum()
    assert left <= 2, "at most its very end"
    paper[50:60, 50:53] = 0
    assert ink_map(paper).sum() == left + 30
