"""The part of a picture that somebody looks at: on JPEG's grid, with room, and the very pixels of the whole."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import numpy as np
import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from shared.documents.limits import bounds_of
from shared.documents.page import PageAnswer, PageCall
from shared.documents.part import BLOCK, MARGIN, MOST, part_of
from shared.documents.pdf import PdfFile
from shared.documents.pictures import jpeg_of
from shared.settings import Limits

pytestmark = pytest.mark.unit

SEAL = [300.0, 400.0, 420.0, 520.0]
SIZE = (1653, 2339)


@given(x=st.floats(-20, 590), y=st.floats(-20, 830), w=st.floats(0, 300), h=st.floats(0, 300), dpi=st.integers(60, 300))
def test_a_part_holds_its_boxes_with_room_inside_the_picture(x: float, y: float, w: float, h: float, dpi: int):
    width, height = round(595 * dpi / 72), round(842 * dpi / 72)
    part = part_of([[x, y, x + w, y + h]], (595.0, 842.0), (width, height))
    if part is None:
        return
    left, top, right, bottom = part
    assert left % BLOCK == top % BLOCK == 0
    assert 0 <= left < right <= width
    assert 0 <= top < bottom <= height
    assert (right - left) * (bottom - top) <= MOST * width * height
    assert left <= max(0, x * width / 595 - MARGIN) + 1e-6
    assert top <= max(0, y * height / 842 - MARGIN) + 1e-6
    assert right >= min(width, (x + w) * width / 595 + MARGIN) - 1e-6
    assert bottom >= min(height, (y + h) * height / 842 + MARGIN) - 1e-6


@pytest.mark.parametrize(
    "boxes", [[], [[0.0, 0.0, 595.0, 842.0]], [[10.0, 10.0, 30.0, 30.0], [560.0, 800.0, 590.0, 830.0]]]
)
def test_nothing_and_nearly_everything_is_the_whole(boxes: list[list[float]]):
    assert part_of(boxes, (595.0, 842.0), SIZE) is None


@pytest.mark.parametrize("rotation", [0, 90])
@pytest.mark.parametrize("unit", [1.0, 2.0])
def test_what_is_drawn_of_a_page_is_what_the_whole_shows_there(tmp_path: Path, rotation: int, unit: float):
    path = tmp_path / "seal.pdf"
    path.write_bytes(_page(unit))
    file = PdfFile(path, None, bounds_of(Limits()))
    call = PageCall(
        path=str(path), mime_type="application/pdf", page_no=1, dpi=150, picture="always", rotation=rotation
    )
    whole, pixels = _shown(file, call)
    seal = SEAL if rotation == 0 else [842 * unit - SEAL[3], SEAL[0], 842 * unit - SEAL[1], SEAL[2]]
    part, few = _shown(file, msgspec.structs.replace(call, parts=[seal]))
    assert whole.full is not None
    assert whole.full.box is None
    assert part.full is not None
    assert part.full.box is not None
    assert part.full.page_size == (whole.full.width, whole.full.height)
    left, top, right, bottom = part.full.box
    assert few.shape == (bottom - top, right - left, 3)
    assert few.size < pixels.size / 4
    apart = np.abs(few.astype(int) - pixels[top:bottom, left:right])
    assert apart.max() <= 4, "curves at the edge of a part are rounded a little otherwise"
    assert np.mean(apart > 0) < 0.001
    assert np.ptp(few) > 100, "the seal is in it"
    file.close()


def test_a_part_is_encoded_as_it_is_in_the_whole():
    picture = np.random.default_rng(5).integers(0, 255, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
    part = part_of([SEAL], (595.0, 842.0), SIZE)
    assert part is not None
    left, top, right, bottom = part
    whole, few = (_decoded(jpeg_of(Image.fromarray(one))) for one in (picture, picture[top:bottom, left:right]))
    assert np.array_equal(few, whole[top:bottom, left:right])


def _page(unit: float) -> bytes:
    out = pymupdf.open()
    page = out.new_page(width=595, height=842)
    page.insert_text((72, 80), "Minutes of the meeting", fontsize=11)
    page.draw_circle((360 / unit, 460 / unit), 50 / unit, color=(0.8, 0, 0), width=3)
    page.insert_text((330 / unit, 465 / unit), "SEAL", fontsize=20 / unit, color=(0.8, 0, 0))
    if unit != 1:
        out.xref_set_key(page.xref, "UserUnit", str(unit))
    return bytes(out.tobytes())


def _shown(file: PdfFile, call: PageCall) -> tuple[PageAnswer, np.ndarray]:
    answer, blocks = file.open_page(call)
    assert answer.full is not None
    return answer, blocks[0].array((answer.full.height, answer.full.width, 3)).copy()


def _decoded(jpeg: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))
