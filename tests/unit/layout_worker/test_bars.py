"""Something long and dark at a page's edge: a shadow, which is dropped, or a line of text on dim paper, which is not."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from services.layout_worker.engine.ink import is_bar
from shared.models.pictures import Picture
from tests.support.faces import face

pytestmark = pytest.mark.unit

HEIGHT, WIDTH = 933, 700
FOOT = np.array([[40, 885], [660, 885], [660, 925], [40, 925]], dtype=np.float32)
SIDE = np.array([[2, 40], [32, 40], [32, 900], [2, 900]], dtype=np.float32)


def page(paper: int = 230, noise: float = 4.0) -> Picture:
    grey = np.random.default_rng(1).normal(paper, noise, (HEIGHT, WIDTH, 1))
    return np.repeat(np.clip(grey, 0, 255), 3, axis=2).astype(np.uint8)


def written(picture: Picture, text: str, name: str = "helv", ink: int = 40) -> Picture:
    """The page with a line of text at its foot."""
    image = Image.fromarray(picture)
    font = face(name, 32)
    ImageDraw.Draw(image).text((50, 888), text, fill=(ink,) * 3, font=font)
    return np.asarray(image)


@pytest.mark.parametrize(
    ("text", "font"), [("FOR YOUR BUSINESS", "helv"), ("www wide mmm", "cour"), ("谢谢您的惠顾，欢迎再来", "japan")]
)
@pytest.mark.parametrize("paper", [90, 120, 140, 230])
def test_text_on_dim_paper_is_no_bar(text: str, font: str, paper: int) -> None:
    assert not is_bar(written(page(paper), text, font), FOOT)


def test_a_column_of_characters_is_no_bar() -> None:
    picture = np.ascontiguousarray(np.rot90(written(page(110), "谢谢您的惠顾，欢迎再来", "japan")))
    turned = np.array([[885, 40], [925, 40], [925, 660], [885, 660]], dtype=np.float32)  # as rot90 has it
    assert not is_bar(picture, turned)


@pytest.mark.parametrize("noise", [0.0, 6.0, 12.0])
def test_an_even_shadow_is_a_bar(noise: float) -> None:
    dark = page(60, noise)
    picture = page()
    for quad in (FOOT, SIDE):
        x0, y0, x1, y1 = (int(v) for v in (*quad[0], *quad[2]))
        picture[y0:y1, x0:x1] = dark[y0:y1, x0:x1]
        assert is_bar(picture, quad)


def test_a_shadow_that_fades_into_the_page_is_a_bar() -> None:
    picture = page()
    fading = np.linspace(0.1, 0.75, 30)[None, :, None]
    picture[40:900, 2:32] = (picture[40:900, 2:32] * fading).astype(np.uint8)
    assert is_bar(picture, SIDE)


def test_what_is_dark_away_from_the_edge_is_no_bar() -> None:
    picture = page(60)
    assert not is_bar(picture, FOOT - np.array([0, 100], dtype=np.float32))
