"""What the model is shown: the part that was meant, in a size the profile allows; and nothing at all where there is nothing."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from services.vl_worker.picture import cut, is_blank, size_for, to_jpeg
from shared.vlm.profile import Bounds, names, profile_named

pytestmark = pytest.mark.unit


def paper(width: int = 600, height: int = 400, grey: int = 255) -> np.ndarray:
    return np.full((height, width, 3), grey, dtype=np.uint8)


def with_text(page: np.ndarray, text: str, ink: tuple[int, int, int] = (0, 0, 0), size: int = 24) -> np.ndarray:
    picture = Image.fromarray(page)
    ImageDraw.Draw(picture).text((40, 40), text, fill=ink, font_size=size)
    return np.asarray(picture)


def speckled(page: np.ndarray, specks: int, size: int, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    page = page.copy()
    for _ in range(specks):
        y, x = rng.integers(0, page.shape[0] - size), rng.integers(0, page.shape[1] - size)
        page[y : y + size, x : x + size] = 40
    return page


def noisy(page: np.ndarray, sigma: float, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(page + rng.normal(0, sigma, page.shape), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    "page",
    [
        paper(),
        paper(grey=0),
        paper(grey=200),
        noisy(paper(grey=235), 6),
        speckled(paper(1654, 2339), 400, 1),
        speckled(paper(1654, 2339), 200, 2),
        noisy(speckled(paper(1654, 2339, 240), 200, 2), 5),
        np.zeros((0, 10, 3), dtype=np.uint8),
        np.zeros((5, 0, 3), dtype=np.uint8),
    ],
    ids=["white", "black", "grey", "noise", "dust", "specks", "scan", "no height", "no width"],
)
def test_blank(page: np.ndarray) -> None:
    assert is_blank(page)


@pytest.mark.parametrize(
    "page",
    [
        with_text(paper(), "a word"),
        with_text(paper(), "1", size=14),
        with_text(paper(), "faint", (190, 190, 190)),
        with_text(paper(), "seal", (220, 40, 40)),
        with_text(paper(), "blue", (60, 60, 230)),
        with_text(paper(grey=20), "white on black", (250, 250, 250)),
        noisy(with_text(paper(grey=235), "noise"), 6),
        speckled(with_text(paper(), "specks"), 30, 2),
        with_text(paper(1654, 2339), "page with one line of text"),
    ],
)
def test_not_blank(page: np.ndarray) -> None:
    assert not is_blank(page)


@pytest.mark.parametrize(
    ("size", "bounds", "sent"),
    [
        ((560, 280), Bounds(min_pixels=12_544, max_pixels=10**6, multiple=28), (560, 280)),
        ((570, 290), Bounds(min_pixels=12_544, max_pixels=10**6, multiple=28), (570, 290)),
        ((10, 10), Bounds(min_pixels=12_544, max_pixels=10**6, multiple=28), (112, 112)),
        ((4000, 2000), Bounds(min_pixels=100, max_pixels=500_000, multiple=1), (1000, 500)),
        ((3000, 1000), Bounds(min_pixels=112_896, max_pixels=1_003_520, multiple=28), (1708, 560)),
    ],
)
def test_sizes(size: tuple[int, int], bounds: Bounds, sent: tuple[int, int]) -> None:
    assert size_for(*size, bounds) == sent


SIDES = st.integers(1, 5_000)


@given(SIDES, SIDES, st.sampled_from([profile_named(name).bounds("page") for name in names()]))
def test_any_picture_is_sent_within_the_bounds(width: int, height: int, bounds: Bounds) -> None:
    wide, high = size_for(width, height, bounds)
    assert wide * high <= bounds.max_pixels
    assert (wide, high) == (width, height) or (wide % bounds.multiple, high % bounds.multiple) == (0, 0)
    if max(width, height) < 20 * min(width, height):
        assert wide * high >= bounds.min_pixels
        assert 0.5 < (wide / high) / (width / height) < 2


def test_the_jpeg_has_that_size() -> None:
    data = to_jpeg(with_text(paper(570, 290), "x"), Bounds(min_pixels=1, max_pixels=10**5, multiple=28))
    with Image.open(io.BytesIO(data)) as picture:
        assert (picture.format, picture.size) == ("JPEG", (420, 224))


def test_a_part_is_cut_with_a_margin_and_ends_at_the_picture() -> None:
    page = paper(200, 100)
    page[50:60, 20:40] = 0
    part = cut(page, [10, 25, 20, 30], 2.0, 2.0)
    assert part.shape == (18, 28, 3)
    assert (part[4:-4, 4:-4] == 0).all()
    assert cut(page, [-5, -5, 500, 500], 2.0, 2.0).shape == page.shape


def test_from_a_part_of_a_page_the_same_pixels_are_cut() -> None:
    page = np.random.default_rng(3).integers(0, 255, (200, 100, 3), dtype=np.uint8)
    whole = cut(page, [10, 25, 20, 30], 2.0, 2.0)
    assert np.array_equal(cut(page[40:80, 8:64], [10, 25, 20, 30], 2.0, 2.0, (8, 40)), whole)
