"""Red rings are stamps; red headings, logos and rectangles are not."""

import cv2
import numpy as np
import pytest

from services.layout_worker.engine.seals import find_seals, red, washed

pytestmark = pytest.mark.unit


def paper():
    noise = np.random.default_rng(7).normal(0, 4, (800, 566, 3))
    return np.clip(246 + noise, 0, 255).astype(np.uint8)


def overlap(found, wanted):
    width = min(found[2], wanted[2]) - max(found[0], wanted[0])
    height = min(found[3], wanted[3]) - max(found[1], wanted[1])
    both = max(0, width) * max(0, height)
    areas = sum((b[2] - b[0]) * (b[3] - b[1]) for b in (found, wanted))
    return both / (areas - both)


@pytest.mark.parametrize(
    ("axes", "colour"), [((45, 45), (215, 40, 40)), ((60, 40), (225, 110, 110)), ((24, 24), (200, 30, 50))]
)
def test_round_and_oval_stamps_are_found(axes, colour):
    page = paper()
    cv2.ellipse(page, (300, 400), axes, 0, 0, 360, colour, 3)
    cv2.putText(page, "*", (292, 410), cv2.FONT_HERSHEY_SIMPLEX, 0.8, colour, 2)
    cv2.putText(page, "black text across", (180, 405), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (20, 20, 20), 1)
    (found,) = find_seals(cv2.GaussianBlur(page, (3, 3), 0))
    wide, high = axes[0] + 1.5, axes[1] + 1.5  # half of the stroke
    assert overlap(found, [300 - wide, 400 - high, 300 + wide, 400 + high]) > 0.85


def test_two_stamps_are_two():
    page = paper()
    cv2.circle(page, (150, 600), 46, (220, 50, 50), 3)
    cv2.circle(page, (400, 600), 46, (220, 50, 50), 3)
    assert len(find_seals(page)) == 2


def test_a_stamp_on_paper_in_the_shade_that_fills_its_picture_is_found():
    noise = np.random.default_rng(3).normal(0, 8, (314, 399, 1))
    picture = np.clip(np.array([136, 137, 132]) + noise, 0, 255).astype(np.uint8)
    cv2.putText(picture, "63 0725", (10, 240), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (100, 100, 110), 2)
    cv2.ellipse(picture, (200, 157), (190, 150), 0, 0, 360, (200, 60, 75), 4)
    cv2.putText(picture, "5101057118", (90, 170), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (200, 60, 75), 3)
    (found,) = find_seals(cv2.GaussianBlur(picture, (5, 5), 0), detail=True)
    assert overlap(found, [10, 7, 390, 307]) > 0.9


def test_a_ring_in_a_dim_photo_is_no_stamp():
    page = paper()
    shades = np.random.default_rng(5).integers(60, 200, (10, 10), dtype=np.uint8)
    page[250:550, 150:450] = cv2.resize(shades, (300, 300), interpolation=cv2.INTER_CUBIC)[:, :, None]
    cv2.circle(page, (300, 400), 60, (220, 20, 20), 4)
    assert find_seals(page) == []


def draw_heading(page):
    cv2.putText(page, "RED HEADING", (60, 100), cv2.FONT_HERSHEY_SIMPLEX, 1.6, (220, 20, 20), 4)


def draw_square(page):
    cv2.rectangle(page, (200, 200), (300, 300), (220, 20, 20), 4)


def draw_disc_in_black(page):
    cv2.circle(page, (300, 400), 45, (30, 30, 30), 3)


def draw_large_ring(page):
    cv2.circle(page, (283, 400), 200, (220, 20, 20), 4)


def draw_disc(page):
    cv2.circle(page, (300, 400), 45, (220, 20, 20), -1)


def draw_orange_ring(page):
    cv2.circle(page, (300, 400), 45, (230, 140, 20), 4)


def draw_half_ring(page):
    cv2.ellipse(page, (300, 400), (45, 45), 0, 0, 270, (220, 20, 20), 4)


def draw_ring_on_dark(page):
    cv2.circle(page, (300, 400), 60, (40, 60, 90), -1)
    cv2.circle(page, (300, 400), 45, (220, 20, 20), 4)


@pytest.mark.parametrize(
    "draw",
    [
        lambda page: None,
        draw_heading,
        draw_square,
        draw_disc_in_black,
        draw_large_ring,
        draw_disc,
        draw_orange_ring,
        draw_half_ring,
        draw_ring_on_dark,
    ],
)
def test_nothing_else_is_a_stamp(draw):
    page = paper()
    draw(page)
    assert find_seals(page) == []


def test_washing_takes_the_stamp_and_leaves_the_print():
    page = paper()
    cv2.putText(page, "DATE 2026", (200, 410), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (20, 20, 20), 3)
    printed = page.max(axis=2) < 100
    cv2.circle(page, (300, 400), 45, (215, 40, 40), 3)
    stamped, before = cv2.GaussianBlur(page, (3, 3), 0), page.copy()
    clean = washed(stamped, find_seals(stamped))
    assert red(stamped, 20).sum() > 500
    assert red(clean, 20).sum() < 0.05 * red(stamped, 20).sum(), "what is left lies in the black strokes"
    assert (clean.max(axis=2) < 130)[printed].mean() > 0.8
    assert (page == before).all()
    assert washed(page, []) is page


def _square_stamp(side, *, solid, turned=0.0):
    """A page with a square stamp of four blocks of strokes."""
    ink = np.full((side, side), 255 if solid else 0, dtype=np.uint8)
    if not solid:
        cv2.rectangle(ink, (1, 1), (side - 2, side - 2), 255, 2)
    for left in (0.14, 0.56):
        for top in (0.14, 0.56):
            x0, y0, size = round(left * side), round(top * side), round(0.3 * side)
            for step in range(3):
                at = round(size * (step + 0.3) / 3)
                cv2.line(ink, (x0, y0 + at), (x0 + size, y0 + at), 0 if solid else 255, 2)
                cv2.line(ink, (x0 + at, y0), (x0 + at, y0 + size), 0 if solid else 255, 2)
    page = np.full((800, 566, 3), 250, dtype=np.uint8)
    layer = np.zeros((800, 566), dtype=np.uint8)
    layer[300 : 300 + side, 200 : 200 + side] = ink
    turn = cv2.getRotationMatrix2D((200 + side / 2, 300 + side / 2), turned, 1.0)
    page[cv2.warpAffine(layer, turn, (566, 800)) > 127] = (205, 40, 45)
    return page


@pytest.mark.parametrize("solid", [True, False])
@pytest.mark.parametrize("turned", [-12.0, 0.0, 12.0])
def test_square_stamps_are_found(solid, turned):
    (box,) = find_seals(_square_stamp(60, solid=solid, turned=turned))
    assert box[0] == pytest.approx(200, abs=8)
    assert box[3] == pytest.approx(360, abs=8)


@pytest.mark.parametrize("what", ["block", "frame", "cross", "letter", "table"])
def test_other_red_squares_are_no_stamps(what):
    page = np.full((800, 566, 3), 250, dtype=np.uint8)
    red = (205, 40, 45)
    if what == "table":
        for i in range(5):
            cv2.rectangle(page, (100 + 60 * (i % 3), 300 + 20 * i), (160 + 60 * (i % 3), 320 + 20 * i), red, 1)
    else:
        cv2.rectangle(page, (200, 300), (260, 360), red, 2 if what == "frame" else -1)
    if what == "cross":
        cv2.rectangle(page, (225, 310), (235, 350), (255, 255, 255), -1)
        cv2.rectangle(page, (210, 325), (250, 335), (255, 255, 255), -1)
    if what == "letter":
        cv2.putText(page, "Q", (212, 350), cv2.FONT_HERSHEY_SIMPLEX, 1.6, (255, 255, 255), 5)
    assert find_seals(page) == []
