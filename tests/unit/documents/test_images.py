"""Image files: as they are to be seen, in RGB, within the limits."""

from __future__ import annotations

import base64
import io
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pi_heif
import pytest
from PIL import Image

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents import sniff
from shared.documents.child import DocumentChild
from shared.documents.images import rgb_of
from shared.documents.limits import bounds_of
from shared.documents.page import InspectCall, Inspected, OpenedPage, PageCall
from shared.settings import Limits
from tests.support.pdfs import scan_page

pytestmark = pytest.mark.unit
SCAN = scan_page(300, 400)


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def opened(
    folder: Path, data: bytes, page_no: int = 1, **limits: Any
) -> tuple[Inspected, OpenedPage, np.ndarray[Any, Any], bytes]:
    """What a document child makes of a file: inspection, page, pixels, stored JPEG."""
    path = folder / "image"
    path.write_bytes(data)
    program = DocumentChild(bounds_of(Limits(**limits)))
    inspected, _ = program.inspect(InspectCall(path=str(path)), [])
    call = PageCall(path=str(path), mime_type=inspected.mime_type, page_no=page_no, dpi=200)
    for _ in range(2):  # the second time from the open file
        answer, blocks = program.open_page(call, [])
    assert answer.full is not None
    assert answer.jpeg == answer.full
    shape = (answer.full.height, answer.full.width, 3)
    return inspected, answer.page, blocks[0].array(shape).copy(), blocks[1].tobytes()


def code_of(folder: Path, data: bytes, **limits: Any) -> ErrorCode:
    with pytest.raises(DocfleetError) as error:
        opened(folder, data, **limits)
    return error.value.code


def far(one: Any, other: Any) -> int:
    return int(np.abs(np.asarray(one, dtype=int) - np.asarray(other, dtype=int)).max())


@pytest.mark.parametrize(
    ("kind", "mime_type", "options", "tolerance"),
    [
        ("PNG", "image/png", {}, 0),
        ("BMP", "image/bmp", {}, 0),
        ("TIFF", "image/tiff", {"compression": "tiff_lzw"}, 0),
        ("WEBP", "image/webp", {"lossless": True}, 0),
        ("GIF", "image/gif", {}, 30),
        ("JPEG", "image/jpeg", {"quality": 95, "subsampling": 0}, 40),
    ],
)
def test_formats(tmp_path: Path, kind: str, mime_type: str, options: dict[str, Any], tolerance: int) -> None:
    data = encoded(SCAN, kind, **options)
    inspected, page, pixels, jpeg = opened(tmp_path, data)
    assert (inspected.mime_type, inspected.unit, inspected.warnings) == (mime_type, "px", [])
    assert [(one.width, one.height, one.rotation) for one in inspected.pages] == [(300, 400, 0)]
    assert (page.width, page.height, page.scale, page.lines, page.full_page_image) == (300, 400, 1.0, [], True)
    assert far(pixels, SCAN) <= tolerance
    assert (jpeg == data) == (kind == "JPEG")


@pytest.mark.parametrize("orientation", range(9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_exif_orientation(tmp_path: Path, kind: str, orientation: int) -> None:
    inverse = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = SCAN.transpose(inverse[orientation]) if orientation in inverse else SCAN
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}}.get(kind, {})
    inspected, page, pixels, jpeg = opened(tmp_path, encoded(stored, kind, exif=exif, **options))
    assert [(one.width, one.height) for one in inspected.pages] == [(300, 400)] == [(page.width, page.height)]
    assert far(pixels, SCAN) <= (40 if kind == "JPEG" else 0)
    shown_again = Image.open(io.BytesIO(jpeg))
    assert shown_again.getexif().get(0x0112, 1) in ({0, 1} if orientation == 0 else {1}), (
        "what is stored needs no turning"
    )
    assert shown_again.size == (300, 400)
    if kind != "TIFF":
        assert [one.code for one in page.warnings] == (["exif_orientation"] if orientation == 0 else [])


def test_colours() -> None:
    grey = np.linspace(0, 65_535, 256, dtype=np.uint16).reshape(16, 16)
    assert far(rgb_of(Image.fromarray(grey)), np.dstack([grey >> 8] * 3)) == 0
    assert far(rgb_of(Image.fromarray(grey.astype(np.int32))), np.dstack([grey >> 8] * 3)) == 0
    assert far(rgb_of(Image.fromarray((grey / 65_535).astype(np.float32))), np.dstack([grey // 257] * 3)) <= 1
    assert far(rgb_of(Image.new("1", (4, 4), 1)), np.full((4, 4, 3), 255)) == 0
    assert far(rgb_of(Image.new("CMYK", (4, 4), (0, 255, 255, 0))), np.full((4, 4, 3), (255, 0, 0))) <= 2
    assert far(rgb_of(Image.new("LA", (4, 4), (7, 255))), np.full((4, 4, 3), 7)) == 0


@pytest.mark.parametrize(("ink", "ground"), [(0, 255), (255, 0), (120, 255)])
def test_transparency_lies_on_a_ground_that_shows_the_ink(ink: int, ground: int) -> None:
    image = Image.new("RGBA", (40, 40), (ink, ink, ink, 0))
    image.paste((ink, ink, ink, 255), (10, 10, 20, 20))
    shown = np.asarray(rgb_of(image))
    assert shown[15, 15].tolist() == [ink] * 3
    assert shown[0, 0].tolist() == [ground] * 3


def test_palette_transparency(tmp_path: Path) -> None:
    image = Image.new("P", (20, 20), 0)
    image.putpalette([255, 0, 0, 0, 0, 0])
    image.paste(1, (5, 5, 10, 10))
    _, _, pixels, _ = opened(tmp_path, encoded(image, "PNG", transparency=0))
    assert pixels[0, 0].tolist() == [255, 255, 255]
    assert pixels[7, 7].tolist() == [0, 0, 0]


def test_a_cmyk_jpeg_is_stored_as_one_that_everybody_shows(tmp_path: Path) -> None:
    _, _, pixels, jpeg = opened(tmp_path, encoded(SCAN.convert("CMYK"), "JPEG", quality=95))
    assert far(pixels, SCAN) < 60
    assert Image.open(io.BytesIO(jpeg)).mode == "RGB"


def test_all_frames_of_a_tiff(tmp_path: Path) -> None:
    frames = [Image.new("L", (100 + n, 50), n * 20) for n in range(5)]
    data = encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:], compression="tiff_deflate")
    for number in (5, 1, 3):
        inspected, page, pixels, _ = opened(tmp_path, data, number)
        assert [one.width for one in inspected.pages] == [100, 101, 102, 103, 104]
        assert page.width == 99 + number
        assert pixels[0, 0].tolist() == [(number - 1) * 20] * 3
    assert code_of(tmp_path, data, max_pages=4) is ErrorCode.too_large


def test_only_the_first_picture_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.new("L", (30, 30), n * 50) for n in range(3)]
    inspected, _, _, _ = opened(tmp_path, encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert len(inspected.pages) == 1


def test_coarse_fax_becomes_square(tmp_path: Path) -> None:
    fax = Image.new("1", (400, 200), 1)
    inspected, page, pixels, _ = opened(tmp_path, encoded(fax, "TIFF", dpi=(204, 98), compression="group3"))
    assert [(one.width, one.height) for one in inspected.pages] == [(400, 416)]
    assert pixels.shape == (416, 400, 3)
    assert (page.scale, page.dpi) == (1.0, 204.0)


def test_a_truncated_image_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = encoded(SCAN, "JPEG", quality=90)
    inspected, page, pixels, _ = opened(tmp_path, data[: len(data) * 2 // 3])
    assert len(inspected.pages) == 1
    assert [one.code for one in page.warnings] == ["repaired"]
    assert far(pixels[:100], np.asarray(SCAN)[:100]) < 80


def test_broken_images_are_corrupt(tmp_path: Path) -> None:
    png = bytearray(encoded(SCAN, "PNG"))
    png[41:90] = b"\xff" * 49
    assert code_of(tmp_path, bytes(png)) is ErrorCode.corrupt
    assert code_of(tmp_path, b"\x89PNG\r\n\x1a\n" + b"garbage" * 20) is ErrorCode.corrupt
    assert code_of(tmp_path, b"\xff\xd8\xff\xe0nothing") is ErrorCode.corrupt
    assert code_of(tmp_path, b"II*\0\x08\0\0\0\xff\xff") is ErrorCode.corrupt
    assert code_of(tmp_path, b"II*\0\x08\0\0\0" + b"\0" * 20) is ErrorCode.corrupt
    assert code_of(tmp_path, b"GIF89a") is ErrorCode.corrupt


def test_pixels_are_counted_before_they_are_decoded(tmp_path: Path) -> None:
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    data = struct.pack(">I", 10) + b"IDAT" + zlib.compress(b"\0" * 100)[:10] + b"\0\0\0\0"
    assert code_of(tmp_path, b"\x89PNG\r\n\x1a\n" + chunk + data) is ErrorCode.resource_limit
    assert code_of(tmp_path, encoded(SCAN, "PNG"), max_image_pixels=119_999) is ErrorCode.resource_limit
    second = encoded(SCAN, "TIFF", save_all=True, append_images=[Image.new("L", (1000, 1000))])
    assert code_of(tmp_path, second, max_image_pixels=120_000) is ErrorCode.resource_limit


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_large_image_is_made_smaller_and_says_so(tmp_path: Path, kind: str) -> None:
    image = scan_page(1500, 2000)
    inspected, page, pixels, jpeg = opened(tmp_path, encoded(image, kind), max_page_pixels=300_000)
    assert [(one.width, one.height) for one in inspected.pages] == [(1500, 2000)]
    assert (page.width, page.height) == (1500, 2000)
    assert 290_000 < pixels.shape[0] * pixels.shape[1] <= 301_000
    assert page.scale == pytest.approx(pixels.shape[1] / 1500)
    assert [one.code for one in page.warnings] == ["render_scaled"]
    assert Image.open(io.BytesIO(jpeg)).size == (pixels.shape[1], pixels.shape[0])


def test_grey_is_stored_as_grey_and_colour_as_colour(tmp_path: Path) -> None:
    grey = opened(tmp_path, encoded(SCAN.convert("L").convert("RGB"), "PNG"))[3]
    assert Image.open(io.BytesIO(grey)).mode == "L"
    assert Image.open(io.BytesIO(opened(tmp_path, encoded(SCAN, "PNG"))[3])).mode == "RGB"


def test_a_tiny_image(tmp_path: Path) -> None:
    inspected, _, pixels, _ = opened(tmp_path, encoded(Image.new("P", (1, 1)), "PNG"))
    assert [(one.width, one.height) for one in inspected.pages] == [(1, 1)]
    assert pixels.shape == (1, 1, 3)


def test_every_listed_type_has_a_reader() -> None:
    Image.init()
    pi_heif.register_heif_opener()
    assert set(sniff.IMAGES.values()) <= set(Image.OPEN)


# 64 x 32 pixels, the left half red: made for this test.
HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAX1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAACJpbG9jAAAAAERAAAEAAQAAAAABoQABAAAAAAAA"
    "AJsAAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAAAA5waXRtAAAAAAABAAAA/WlwcnAAAADdaXBjbwAAAHZodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEAB"
    "DAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlz"
    "cGUAAAAAAAAAQAAAAEAAAAAoY2xhcAAAAEAAAAABAAAAIAAAAAEAAAAAAAAAAv///+AAAAACAAAAEHBpeGkAAAAAAwgICAAAABhpcG1hAAAAAAAAAAEAAQWBAgMFhAAAAKNtZGF0AAAA"
    "lygBrxOA+BDhp//9Ayj/+HfPD8t6uYlW/rvhFH1pU//GRoPySkWumi4yOqDT+vw7TCJtodSqRKuQGgWXgk0ZI3EdMoik8GNv93QvY58J5pjR9VzBzMfnSHzG7iyAStT+zHUS9icszEUq"
    "AEqmPKbRCTKxeBl7icbhJO8Z7v1sFmw2uz5/CfROIsF3zVJ6SbWvoJJJY5Rcf3A="
)


def test_a_heic_picture(tmp_path: Path) -> None:
    found, page, pixels, _ = opened(tmp_path, HEIC)
    assert (found.mime_type, found.pages[0].width, found.pages[0].height) == ("image/heic", 64, 32)
    assert (page.width, page.height) == (64, 32)
    assert far(pixels[16, 10], (200, 0, 0)) < 30
    assert far(pixels[16, 54], (255, 255, 255)) < 30
    assert code_of(tmp_path, HEIC[:300]) is ErrorCode.corrupt
    assert code_of(tmp_path, HEIC, max_image_pixels=64 * 32 - 1) is ErrorCode.resource_limit


def test_without_its_reader_a_heic_picture_is_unsupported_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pi_heif", None)
    with pytest.raises(DocfleetError, match=r"docfleet\[heic\]") as refused:
        opened(tmp_path, HEIC)
    assert refused.value.code is ErrorCode.unsupported_type
