"""Geometry of crops: what is cut, turned, scaled and split."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.rec_worker import crops

pytestmark = pytest.mark.unit


def page(width: int = 400, height: int = 300) -> npt.NDArray[np.uint8]:
    return np.full((height, width, 3), 255, dtype=np.uint8)


def test_an_upright_quad_is_cut_without_resampling() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    assert np.array_equal(crops.cut(picture, crops.quad_of_box(10, 20, 50, 35)), picture[20:35, 10:50])


def test_a_rotated_line_comes_out_upright() -> None:
    upright = page()
    cv2.putText(upright, "HELLO", (120, 160), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (0, 0, 0), 3)
    box = crops.quad_of_box(110, 115, 260, 170)
    matrix = cv2.getRotationMatrix2D((200.0, 150.0), 20.0, 1.0)
    rotated = cv2.warpAffine(upright, matrix, (400, 300), borderValue=(255, 255, 255))
    quad = (box @ matrix[:, :2].T + matrix[:, 2]).astype(np.float32)
    expected, got = crops.cut(upright, box), crops.cut(rotated, quad)
    assert abs(got.shape[0] - expected.shape[0]) <= 1
    assert abs(got.shape[1] - expected.shape[1]) <= 1
    got = cv2.resize(got, (expected.shape[1], expected.shape[0]))
    ink, found = expected[..., 0] < 128, got[..., 0] < 128
    assert (ink & found).sum() / (ink | found).sum() > 0.85


def test_text_that_runs_down_is_tall_and_turned_upright() -> None:
    upright = page(150, 40)
    upright[5:10, 20:140] = 0  # a bar near the top
    running_down = np.ascontiguousarray(np.rot90(upright, 3))
    quad = crops.quad_of_box(0, 0, running_down.shape[1], running_down.shape[0])
    assert crops.is_tall(quad)
    assert not crops.is_tall(crops.quad_of_box(0, 0, 150, 40))
    assert np.array_equal(crops.turn(crops.cut(running_down, quad), 1), upright)


@given(
    st.lists(st.tuples(st.floats(-500, 900), st.floats(-500, 900)), min_size=4, max_size=4),
)
def test_any_quad_gives_pixels(corners: list[tuple[float, float]]) -> None:
    crop = crops.cut(page(), np.array(corners, dtype=np.float32))
    assert crop.dtype == np.uint8
    assert min(crop.shape) >= 1
    assert crop.shape[2] == 3


def test_scaling_keeps_the_ratio_times_the_squeeze() -> None:
    assert crops.scaled(page(400, 24), 48, 1.0).shape == (48, 800, 3)
    assert crops.scaled(page(400, 24), 48, 0.8).shape == (48, 640, 3)
    assert crops.scaled(page(1, 300), 48, 0.8).shape == (48, 1, 3)
    assert crops.scaled(page(4000, 2), 48, 0.8).shape == (48, crops.WIDEST, 3)


@given(st.integers(1, 9000), st.integers(100, 2000), st.integers(0, 1000))
def test_pieces_are_the_whole_line_in_order(width: int, limit: int, seed: int) -> None:
    crop = np.random.default_rng(seed).integers(0, 256, (8, width, 3), dtype=np.uint8)
    parts = [pixels for pixels, _ in crops.pieces(crop, limit)]
    assert np.array_equal(np.concatenate(parts, axis=1), crop)
    assert all(1 <= part.shape[1] <= limit for part in parts)


def test_a_wide_line_is_cut_at_its_word_gaps() -> None:
    line = page(2000, 48)
    for left in range(0, 2000, 200):  # words of 170 with gaps of 30; letters of 10 with gaps of 2
        for letter in range(left, left + 170, 12):
            line[10:40, letter : letter + 10] = 0
    parts = crops.pieces(line, 900)
    assert len(parts) == 3
    assert [gap for _, gap in parts] == [True, True, False]
    edges = np.cumsum([pixels.shape[1] for pixels, _ in parts])[:-1]
    assert all((line[:, edge] == 255).all() for edge in edges)


def test_a_gap_between_letters_is_not_a_word_gap() -> None:
    line = page(2000, 48)
    for letter in range(0, 2000, 12):
        line[10:40, letter : letter + 9] = 0
    assert not any(gap for _, gap in crops.pieces(line, 1000))


def test_paper_is_blank_and_faint_print_is_not() -> None:
    paper = page(200, 48)
    paper[:] = (250, 245, 220)
    assert crops.is_blank(paper)
    assert crops.is_blank(paper + np.random.default_rng(0).integers(0, 6, paper.shape, dtype=np.uint8) - 3)
    faint = paper.copy()
    cv2.putText(faint, "faint", (10, 35), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (230, 225, 200), 2)
    assert not crops.is_blank(faint)
    pale = paper.copy()
    pale[10:30, 20:40, 2] = 190  # differs in one channel only
    assert not crops.is_blank(pale)


def test_a_single_dot_of_ink_is_no_blank() -> None:
    paper = page(200, 48)
    paper[17, 101] = 0  # not among the pixels that are looked at first
    assert not crops.is_blank(paper)
