"""Boxes, pieces, arcs: geometry without a network."""

from __future__ import annotations

import itertools
import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.models import arcs, layout, lines
from shared.models.manifest import manifest
from shared.models.pictures import Normalise, resized

pytestmark = pytest.mark.unit

DETECTOR = manifest(lines.NAME).constants


@given(st.integers(1, 960), st.integers(1, 960))
def test_padded_sizes_hold_the_picture_and_are_few(height: int, width: int) -> None:
    padded = lines.padded_size(height, width, 960)
    assert padded[0] >= height
    assert padded[1] >= width
    assert set(padded) <= {96, 256, 480, 704, 960}


@given(st.integers(1, 2_000), st.integers(1, 30_000))
def test_windows_own_every_row_once_and_see_what_they_own(width: int, height: int) -> None:
    height = max(height, lines.SIDE, math.ceil(lines.MAX_ASPECT * width)) + 1
    found = lines.windows(height, width)
    assert found[0][0] == 0
    assert found[-1][1] == height
    assert (found[0][2], found[-1][3]) == (-math.inf, math.inf)
    for before, after in itertools.pairwise(found):
        assert before[3] == after[2]  # no row is owned twice or by nobody
        assert after[0] < before[3] < before[1]  # both see the border
        assert before[1] - after[0] >= (before[1] - before[0]) / 8 - 1


def line_map(angle: float) -> np.ndarray:
    probability = np.zeros((200, 300), np.float32)
    box = cv2.boxPoints(((150, 100), (120, 12), angle)).astype(np.int32)
    cv2.fillPoly(probability, [box], 0.9)
    return probability


@pytest.mark.parametrize("angle", [0, 7, -12])
def test_a_bar_of_text_becomes_one_grown_box(angle: float) -> None:
    ((quad, score, thickness),) = lines.boxes(line_map(angle), DETECTOR)
    quad = lines.upright(quad)
    assert thickness == pytest.approx(0.9 * 12, abs=1.2)
    assert score == pytest.approx(0.9, abs=0.12)
    grow = 120 * 12 * DETECTOR["unclip"] / (120 + 12)
    assert np.linalg.norm(quad[1] - quad[0]) == pytest.approx(120 + grow, abs=3)
    assert np.linalg.norm(quad[3] - quad[0]) == pytest.approx(12 + grow, abs=3)
    np.testing.assert_allclose(quad.mean(axis=0), [150, 100], atol=1)
    direction = math.degrees(math.atan2(*(quad[1] - quad[0])[::-1]))
    assert direction == pytest.approx(angle, abs=2)


def test_faint_and_tiny_spots_are_no_lines() -> None:
    faint = line_map(0) * 0.4
    assert lines.boxes(faint.astype(np.float32), DETECTOR) == []
    spot = np.zeros((50, 50), np.float32)
    spot[10:12, 10:12] = 1
    assert lines.boxes(spot, DETECTOR) == []
    assert lines.boxes(np.zeros((50, 50), np.float32), DETECTOR) == []


@given(st.permutations([0, 1, 2, 3]), st.floats(-0.6, 0.6))
def test_upright_begins_top_left_and_goes_clockwise(order: list[int], angle: float) -> None:
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    corners = (np.array([[-50, -10], [50, -10], [50, 10], [-50, 10]]) @ turn + 100).astype(np.float32)
    np.testing.assert_allclose(lines.upright(corners[order]), corners, atol=1e-3)


def test_overlapping_boxes_of_one_class_are_thinned_and_others_are_not() -> None:
    boxes = np.array([[0, 0, 100, 100], [5, 5, 105, 105], [200, 0, 300, 100]], np.float32)
    scores = np.array([[0.9, 0.1], [0.8, 0.7], [0.1, 0.6]], np.float32)
    kept, found, kinds = layout.thin(boxes, scores, 0.3, 0.5, 100)
    assert [(tuple(b), round(float(s), 1), int(k)) for b, s, k in zip(kept, found, kinds, strict=True)] == [
        ((0, 0, 100, 100), 0.9, 0),
        ((5, 5, 105, 105), 0.7, 1),
        ((200, 0, 300, 100), 0.6, 1),
    ]


def test_a_page_without_boxes_gives_none() -> None:
    kept, found, kinds = layout.thin(np.zeros((0, 4), np.float32), np.zeros((0, 10), np.float32), 0.3, 0.5, 100)
    assert (len(kept), len(found), len(kinds)) == (0, 0, 0)


def test_expected_distances_come_from_the_distribution() -> None:
    logits = np.full((1, 4, 8), -100.0, np.float32)
    logits[0, 0, 2] = logits[0, 1, 3] = logits[0, 2, 7] = 100
    logits[0, 3, 4] = logits[0, 3, 5] = 100
    np.testing.assert_allclose(layout._sides(logits.reshape(1, 32)), [[-2, -3, 7, 4.5]], atol=1e-5)


def ring(x: float, y: float, radius: float, thick: float, start: float, sweep: float, ratio: float = 1) -> np.ndarray:
    """A mask of an arc."""
    grid_y, grid_x = np.mgrid[0:600, 0:600]
    dx, dy = grid_x - x, (grid_y - y) / ratio
    radii, angles = np.hypot(dx, dy), (np.arctan2(dy, dx) - start) % (2 * math.pi)
    return ((np.abs(radii - radius) <= thick / 2) & (angles <= sweep)).astype(np.uint8)


@settings(max_examples=25)
@given(st.floats(-math.pi, math.pi), st.floats(1.2, 5.8), st.floats(80, 200), st.floats(0.12, 0.3))
def test_the_ring_of_an_arc_is_found(start: float, sweep: float, radius: float, thick: float) -> None:
    arc = arcs.fitted(ring(300, 310, radius, radius * thick, start, sweep))
    assert arc is not None
    assert (arc.x, arc.y) == (pytest.approx(300, abs=0.04 * radius), pytest.approx(310, abs=0.04 * radius))
    assert (arc.inner + arc.outer) / 2 == pytest.approx(radius, rel=0.05)
    assert arc.sweep == pytest.approx(sweep, abs=0.15)
    assert abs(arcs._turned(arc.start - start)) < 0.12


def test_an_oval_seal_is_found_as_an_ellipse() -> None:
    arc = arcs.fitted(ring(300, 300, 200, 40, -3.6, 4.1, ratio=0.7))
    assert arc is not None
    assert arc.ratio == pytest.approx(0.7, abs=0.03)


def test_a_straight_line_is_no_arc() -> None:
    mask = np.zeros((200, 450), dtype=np.uint8)
    mask[100:130, 50:400] = 1
    assert arcs.fitted(mask) is None


@pytest.mark.parametrize(("start", "sweep", "reversed_"), [(math.pi, math.pi, False), (0.7, 1.7, True)])
def test_unrolling_goes_clockwise_but_for_short_arcs_at_the_bottom(start: float, sweep: float, reversed_: bool) -> None:
    """The picture's red is the angle along the arc, its green the distance from the centre."""
    grid_y, grid_x = np.mgrid[0:400, 0:400]
    dx, dy = grid_x - 200, grid_y - 200
    along = ((np.arctan2(dy, dx) - start) % (2 * math.pi)) / sweep
    away = (np.hypot(dx, dy) - 100) / 40
    picture = np.zeros((400, 400, 3), np.uint8)
    picture[..., 0] = np.clip(along, 0, 1) * 255
    picture[..., 1] = np.clip(away, 0, 1) * 255
    strip = arcs.unrolled(picture, arcs.Arc(200, 200, 1.0, 100, 140, start, sweep), 40).astype(int)
    assert strip.shape[:2] == (40, round(sweep * 120))
    left, right = strip[20, 3, 0], strip[20, -4, 0]
    top, bottom = strip[2, :, 1].mean(), strip[-3, :, 1].mean()
    assert (left > right) == reversed_
    assert (top < bottom) == reversed_


def test_normalising_gives_the_channels_the_network_wants() -> None:
    wanted = manifest(lines.NAME).input
    picture = np.zeros((2, 3, 3), np.uint8)
    picture[..., 0] = 255  # red
    planes = Normalise(wanted).batch(picture, 4, 5)
    assert planes.shape == (1, 3, 4, 5)
    red = (1.0 - wanted.mean[2]) / wanted.std[2]  # the last plane is red where the order is bgr
    np.testing.assert_allclose(planes[0, 2, :2, :3], red, rtol=1e-5)
    np.testing.assert_allclose(planes[0, 0, :2, :3], -wanted.mean[0] / wanted.std[0], rtol=1e-5)
    assert not planes[:, :, 2:].any()
    assert not planes[:, :, :, 3:].any()


def test_shrinking_averages() -> None:
    stripes = np.zeros((100, 100, 3), np.uint8)
    stripes[:, ::2] = 200
    assert np.abs(resized(stripes, 25, 25).astype(int) - 100).max() <= 2
