"""A seal on a page of native text: only its place is drawn, stored and read, and it is read as in the picture of the whole page."""

from __future__ import annotations

import io
from pathlib import Path

import pymupdf
import pytest
from PIL import Image

from benchmarks.lib.layout_read import PageReader
from services.layout_worker.alone import Alone
from services.layout_worker.pages import LaidOut
from shared.contracts.options import Options
from shared.models import seal
from shared.models.install import install
from shared.settings import Settings
from tests.integration.layout_worker.pages import draw_text
from tests.support.networks import LAYOUT, READING

pytestmark = [pytest.mark.integration, pytest.mark.asyncio]

RED = (0.8, 0.05, 0.05)


def sealed() -> bytes:
    out = pymupdf.open()
    page = out.new_page(width=595, height=842)
    draw_text(page)
    page.draw_circle((430, 560), 55, color=RED, width=4)
    page.insert_text((397, 566), "HARBOUR", fontsize=14, color=RED, render_mode=2)
    shape = page.new_shape()
    shape.draw_line((405, 580), (455, 580))
    shape.finish(color=RED, width=2)
    shape.commit()
    return bytes(out.tobytes(no_new_id=True))


def size(made: LaidOut) -> tuple[int, int]:
    assert made.jpeg is not None
    return Image.open(io.BytesIO(made.jpeg)).size


async def test_a_seal_is_drawn_stored_and_read_without_the_page_around_it(tmp_path: Path):
    settings = Settings()
    install(settings.engines.models, [*LAYOUT, *READING, seal.NAME])
    path = tmp_path / "sealed.pdf"
    path.write_bytes(sealed())
    async with Alone(settings) as alone, PageReader(settings) as reader:
        part, steps = await alone.page(path, 1)
        whole, _ = await alone.page(path, 1, Options(pictures=True))
        box = part.layout.picture_box
        assert box is not None
        assert whole.layout.picture_box is None
        assert size(part) == (box[2] - box[0], box[3] - box[1])
        assert size(whole) == (part.layout.picture_width, part.layout.picture_height) == (1653, 2339)
        assert [step.name for step in steps].count("open again") == 1, "the part alone is drawn, once"
        (stamp,) = [region for region in part.layout.regions if region.read_by == "rec"]
        assert stamp.label == "seal"
        (read,) = await reader.read(part)
        (other,) = await reader.read(LaidOut(layout=part.layout, jpeg=whole.jpeg))
        assert read.regions[0].lines
        assert read == other
