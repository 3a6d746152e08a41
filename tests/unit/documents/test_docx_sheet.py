"""Pictures of a DOCX on one sheet, so that text in them can be read."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shared.documents.docx.document import DocxFile
from shared.documents.docx.sheet import MOST_SIDE, WHITE
from shared.documents.flow import FlowAnswer, FlowCall
from shared.documents.limits import bounds_of
from shared.documents.page import OpenedPage, PageCall
from shared.settings import Limits
from tests.support.docx import docx, p

pytestmark = pytest.mark.unit


def png(width: int, height: int, colour: str, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.new(mode, (width, height), colour).save(out, "PNG")
    return out.getvalue()


def opened(
    folder: Path, pictures: dict[str, bytes], shown: str, **limits: int
) -> tuple[FlowAnswer, OpenedPage, np.ndarray | None]:
    """A document that shows pictures by their one-letter names: its flow, and its sheet with pixels."""
    path = folder / "file.docx"
    drawings = "".join(p(f'<w:r><w:drawing><a:blip r:embed="{one}"/></w:drawing></w:r>') for one in shown)
    parts = {f"media/{name}.png": data for name, data in pictures.items()}
    path.write_bytes(docx(drawings, parts=parts, links={name: ("image", f"media/{name}.png") for name in pictures}))
    file = DocxFile(path, bounds_of(Limits(**limits)))  # type: ignore[arg-type]
    try:
        answer, _ = file.read_flow(FlowCall(path=str(path), mime_type="", places=True))
        page, blocks = file.open_page(PageCall(path=str(path), mime_type="", page_no=1, dpi=200, picture="always"))
        pixels = None
        if page.full is not None:
            pixels = blocks[0].array((page.full.height, page.full.width, 3)).copy()
        for block in blocks:
            block.close()
    finally:
        file.close()
    return answer, page.page, pixels


def test_pictures_stand_below_each_other_each_once_where_the_flow_says(tmp_path: Path) -> None:
    answer, page, pixels = opened(
        tmp_path, {"r": png(300, 100, "red"), "b": png(200, 80, "blue")}, "rbr", max_page_pixels=1_000_000
    )
    assert answer.places == {0: [24, 24, 324, 124], 1: [24, 148, 224, 228], 2: [24, 24, 324, 124]}
    assert (page.width, page.height, page.unit, page.full_page_image) == (348.0, 252.0, "px", True)
    assert pixels is not None
    assert pixels[60, 100].tolist() == [255, 0, 0]
    assert pixels[160, 100].tolist() == [0, 0, 255]
    assert pixels[140, 100].tolist() == [255, 255, 255]
    assert answer.warnings == []


def test_large_pictures_are_made_smaller_and_small_ones_left(tmp_path: Path) -> None:
    answer, _, _ = opened(tmp_path, {"l": png(4_000, 400, "red"), "s": png(40, 12, "red")}, "ls")
    assert answer.places == {0: [WHITE, WHITE, WHITE + MOST_SIDE, WHITE + 200]}


def test_pictures_beyond_the_limit_are_told_and_not_read(tmp_path: Path) -> None:
    answer, page, _ = opened(
        tmp_path, {"a": png(300, 300, "red"), "b": png(300, 300, "blue")}, "ab", max_page_pixels=150_000
    )
    assert list(answer.places) == [0]
    assert (page.width * page.height) <= 150_000
    assert [(one.code, one.page_no) for one in answer.warnings] == [("not_read", 1)]


def test_what_shines_through_is_white(tmp_path: Path) -> None:
    _, _, pixels = opened(tmp_path, {"t": png(100, 100, "#00000000", "RGBA")}, "t")
    assert pixels is not None
    assert pixels.min() == 255


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\nand no more", png(300, 300, "red")[:90], b"BM"])
def test_broken_pictures_do_no_harm(tmp_path: Path, data: bytes) -> None:
    answer, page, _ = opened(tmp_path, {"x": data, "r": png(300, 100, "red")}, "xr")
    assert 1 in answer.places
    assert page.height < 600


def test_a_picture_with_too_many_pixels_is_not_decoded(tmp_path: Path) -> None:
    answer, page, _ = opened(tmp_path, {"h": png(1_100, 1_000, "red")}, "h", max_image_pixels=1_000_000)
    assert answer.places == {}
    assert page.blank
