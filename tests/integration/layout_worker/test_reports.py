"""Faults that people reported of other parsers (field reports B4, B5, B9, B10, B12), as pages with the right answer. B3 is in the matrix."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pymupdf
import pytest
import pytest_asyncio
from PIL import Image

from services.layout_worker.alone import Alone
from services.layout_worker.pages import LaidOut
from shared.contracts.layout import PageLayout
from shared.contracts.options import Options
from shared.models.install import install
from shared.settings import Settings
from tests.support import trust_pages
from tests.support.networks import LAYOUT
from tests.support.pdfs import Pdf, text_at
from tests.support.trust_pages import BODY, ENGLISH, HEIGHT, WIDTH

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

TURNS = {0: None, 90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}
"""What undoes a clockwise turn by so many degrees."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone():
    settings = Settings()
    install(settings.engines.models, LAYOUT)
    async with Alone(settings) as opened:
        yield opened


async def laid_out(alone: Alone, folder: Path, data: bytes, name: str = "page.pdf", **options: object) -> LaidOut:
    path = folder / name
    path.write_bytes(data)
    return (await alone.page(path, 1, Options(**{"layout": "fast", **options})))[0]


def lines(layout: PageLayout) -> list[tuple[str | None, list[float]]]:
    found = [(line.text, line.bbox) for region in layout.regions for line in region.lines]
    for _, box in found:
        assert 0 <= box[0] <= box[2] <= layout.width
        assert 0 <= box[1] <= box[3] <= layout.height
    return found


def ink_in_boxes(made: LaidOut) -> float:
    """Share of the stored picture's ink that lies in the boxes of lines, which are given in units of the page."""
    layout = made.layout
    assert made.jpeg is not None
    dark = np.asarray(Image.open(io.BytesIO(made.jpeg)).convert("L")) < 110
    assert dark.shape == (layout.picture_height, layout.picture_width)
    sx, sy = dark.shape[1] / layout.width, dark.shape[0] / layout.height
    inside = np.zeros_like(dark)
    for _, (x0, y0, x1, y1) in lines(layout):
        inside[int(y0 * sy) - 2 : int(y1 * sy) + 3, int(x0 * sx) - 2 : int(x1 * sx) + 3] = True
    return float((dark & inside).sum() / dark.sum())


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
async def test_b9_a_turned_page_has_one_frame(alone: Alone, tmp_path: Path, rotation: int):
    pdf = Pdf()
    content = "".join(text_at(80, 600 - 30 * i, text) for i, text in enumerate(ENGLISH))
    pdf.page(content, f"/MediaBox [10 -100 622 692] /Rotate {rotation}")
    made = await laid_out(alone, tmp_path, pdf.bytes(), pictures=True)
    layout = made.layout
    size = (792.0, 612.0) if rotation in (90, 270) else (612.0, 792.0)
    assert (layout.width, layout.height, layout.rotation, layout.kind) == (*size, rotation, "native")
    assert sorted(text or "" for text, _ in lines(layout)) == sorted(ENGLISH)
    assert ink_in_boxes(made) > 0.995


@pytest.mark.parametrize("rotation", [90, 180, 270])
async def test_b9_a_scan_that_is_set_upright_by_its_page(alone: Alone, tmp_path: Path, rotation: int):
    upright = Image.open(io.BytesIO(trust_pages.scan(BODY, pymupdf.Rect(0, 0, WIDTH, HEIGHT))))
    turn = TURNS[rotation]
    assert turn is not None
    pdf = Pdf()
    number, _ = pdf.image(upright.transpose(turn))
    width, height = (HEIGHT, WIDTH) if rotation in (90, 270) else (WIDTH, HEIGHT)
    box = f"/MediaBox [10 -100 {width + 10} {height - 100}] /Rotate {rotation}"
    pdf.page(f"q {width} 0 0 {height} 10 -100 cm /Im0 Do Q", box, f"/XObject << /Im0 {number} 0 R >>")
    made = await laid_out(alone, tmp_path, pdf.bytes())
    assert (made.layout.width, made.layout.height, made.layout.kind) == (WIDTH, HEIGHT, "scanned")
    tops = sorted(box[1] for _, box in lines(made.layout))
    assert tops == pytest.approx([line.y - 12 for line in BODY], abs=5)
    assert ink_in_boxes(made) > 0.99


@pytest.mark.parametrize("orientation", range(1, 9))
async def test_b10_a_photograph_is_read_as_it_is_to_be_held(alone: Alone, tmp_path: Path, orientation: int):
    upright = Image.open(io.BytesIO(trust_pages.scan(BODY, pymupdf.Rect(0, 0, WIDTH, 420), dpi=150)))
    stored = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    out = io.BytesIO()
    (upright.transpose(stored) if stored is not None else upright).save(out, "JPEG", exif=exif, quality=90)
    made = await laid_out(alone, tmp_path, out.getvalue(), "photo.jpg")
    layout = made.layout
    assert (layout.width, layout.height, layout.unit) == (*upright.size, "px")
    scale = 150 / 72
    tops = sorted(box[1] for _, box in lines(layout))
    assert tops == pytest.approx([(line.y - 12) * scale for line in BODY], abs=5 * scale)
    assert ink_in_boxes(made) > 0.99


async def test_b12_the_page_is_what_is_left_of_the_crop(alone: Alone, tmp_path: Path):
    pdf = Pdf()
    content = (
        text_at(20, 600, "inside the crop") + text_at(-40, 735, "off to the upper left") + text_at(20, -30, "below")
    )
    pdf.page(content, "/MediaBox [-50 -50 562 742] /CropBox [0 0 500 700]")
    layout = (await laid_out(alone, tmp_path, pdf.bytes())).layout
    assert (layout.width, layout.height) == (500.0, 700.0)
    ((text, box),) = lines(layout)
    assert text == "inside the crop"
    assert box == pytest.approx([20, 87, 100, 104], abs=6)
    assert {line.text: line.hidden for line in layout.invisible} == {
        "off to the upper left": "outside",
        "below": "outside",
    }


async def test_b12_user_unit(alone: Alone, tmp_path: Path):
    pdf = Pdf()
    pdf.page(text_at(20, 300, "twice the size"), "/MediaBox [-50 -50 262 342] /CropBox [0 0 250 330] /UserUnit 2")
    made = await laid_out(alone, tmp_path, pdf.bytes(), pictures=True)
    assert (made.layout.width, made.layout.height) == (500.0, 660.0)
    ((_, box),) = lines(made.layout)
    assert box == pytest.approx([40, 36, 190, 68], abs=12)
    (line,) = made.layout.regions[0].lines
    assert line.font_size == 24.0
    assert ink_in_boxes(made) > 0.99
