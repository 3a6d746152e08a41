"""Skewed scans of two columns: level in the upright frame, boxes on the page as displayed."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pymupdf
import pytest
import pytest_asyncio
from PIL import Image

from samples.generator import generate
from services.layout_worker.alone import Alone
from shared.contracts.codec import encode
from shared.contracts.upright import Upright
from shared.models.install import install
from shared.settings import Settings
from tests.support.networks import LAYOUT

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone():
    settings = Settings()
    install(settings.engines.models, LAYOUT)
    async with Alone(settings) as ours:
        yield ours


@pytest.fixture(scope="module")
def picture() -> Image.Image:
    """A page of small print in two columns, at 150 dpi."""
    made = next(generate(77, 1, templates=("smallprint",)))
    with pymupdf.open(stream=made.pdf) as document:
        pixels = document[0].get_pixmap(dpi=150, alpha=False)
    return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)


@pytest.mark.parametrize("degrees", [-4.0, 1.5, 4.5])
async def test_columns_of_a_skewed_scan_stay_apart(alone: Alone, picture: Image.Image, tmp_path: Path, degrees: float):
    turned = picture.rotate(-degrees, resample=Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))  # clockwise
    jpeg = io.BytesIO()
    turned.save(jpeg, "JPEG", quality=85)
    path = tmp_path / "skewed.pdf"
    with pymupdf.open() as document:
        page = document.new_page(width=picture.width * 72 / 150, height=picture.height * 72 / 150)
        page.insert_image(page.rect, stream=jpeg.getvalue())
        document.save(path)
    layout = (await alone.page(path, 1))[0].layout
    assert math.degrees(math.atan(layout.slope)) == pytest.approx(degrees, abs=0.2)
    assert any(one.startswith("skew=") for one in layout.kind_reason)
    frame = Upright(layout.slope, layout.width, layout.height)
    texts = [region for region in layout.regions if region.label == "text" and len(region.lines) >= 3]
    assert sum(len(region.lines) for region in texts) >= 60
    for region in texts:
        lines = [frame.into(line.bbox) for line in region.lines]
        assert max(x[2] for x in lines) - min(x[0] for x in lines) <= 0.55 * layout.width, "one column"
        assert all(0 <= x <= layout.width for x in (region.bbox[0], region.bbox[2]))
        assert all(0 <= y <= layout.height for y in (region.bbox[1], region.bbox[3]))
    again = (await alone.page(path, 1))[0].layout
    assert encode(again) == encode(layout)
