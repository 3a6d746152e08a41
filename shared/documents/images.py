"""Image files through Pillow: PNG, JPEG, TIFF with all its frames, and what else `sniff.IMAGES` lists. Document child only.

A page is a frame as it is to be seen: EXIF orientation applied, pixels square, transparency on the ground that makes it legible.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, UnidentifiedImageError

from shared.children.block import Block
from shared.contracts.document import Warning
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import PageGeometry
from shared.documents import sniff
from shared.documents.blame import raised_in
from shared.documents.limits import Bounds, check_pages, check_pixels, page_scale
from shared.documents.page import Inspected, OpenedPage, PageAnswer, PageCall
from shared.documents.pictures import jpeg_of, packed, small_of

_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What undoes an EXIF orientation (EXIF 3.0, tag 274). From 5 on, width and height change places."""
_OBLONG = 1.2
"""Ratio of resolutions from which pixels are stretched to squares: coarse fax is 204 x 98 dpi."""
_TRY_PIXELS = 50_000_000
"""An image up to this size is decoded when it is inspected, so that a broken one is told at once."""
_MIN_TRUNCATED = 0.1
"""Share of its rows from which a file that ends too early is worth reading; missing rows are black."""
# The check is ours (limits.max_image_pixels), made on every frame before it is decoded.
Image.MAX_IMAGE_PIXELS = None


_ROTATIONS = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}
"""Degrees clockwise, and what Pillow, which counts the other way, calls it."""


class ImageFileOpened:
    """An open image file."""

    def __init__(self, path: Path, mime_type: str, limits: Bounds) -> None:
        """Raises `corrupt`, `resource_limit`."""
        self._path = path
        self._mime_type = mime_type
        self._limits = limits
        if mime_type == "image/heic":
            _register_heic()
        with _reading(None):
            self._image = Image.open(path, formats=[sniff.IMAGES[mime_type]])
            self._orientation = _exif_orientation(self._image)
        check_pixels(*self._image.size, limits)

    def close(self) -> None:
        self._image.close()

    def inspect(self) -> Inspected:
        """Sizes of all frames (of TIFF; of other types the first). Raises `corrupt`, `too_large`, `resource_limit`.

        What is odd about a frame is said when it is opened.
        """
        pages: list[PageGeometry] = []
        while self._seek(len(pages)):
            check_pages(len(pages) + 1, self._limits)
            check_pixels(*self._image.size, self._limits, len(pages) + 1)
            width, height = self._shown_size()
            pages.append(PageGeometry(width=width, height=height))
        if len(pages) == 1 and self._image.width * self._image.height <= _TRY_PIXELS:
            self._seek(0)
            self._decoded(1)
        return Inspected(mime_type=self._mime_type, unit="px", pages=pages)

    def open_page(self, call: PageCall) -> tuple[PageAnswer, list[Block]]:
        """A frame and its pictures. Raises `corrupt`, `resource_limit`."""
        if not self._seek(call.page_no - 1):
            raise DocfleetError(ErrorCode.corrupt, f"there is no frame {call.page_no}", page_no=call.page_no)
        check_pixels(*self._image.size, self._limits, call.page_no)
        turn = call.rotation or 0
        width, height = self._shown_size()
        if turn in (90, 270):
            width, height = height, width
        page = OpenedPage(
            page_no=call.page_no,
            width=width,
            height=height,
            unit="px",
            rotation=turn,
            dpi=self._dpi(),
            image_coverage=1.0,
            full_page_image=True,
            image_boxes=[[0.0, 0.0, float(width), float(height)]],
        )
        if call.picture == "none" and not call.layout_picture:
            return packed(page, small=None, full=None, jpeg=None)
        scale, scaled = page_scale(width, height, 1.0, self._limits)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        plain = self._mime_type == "image/jpeg" and not scaled and self._orientation in (0, 1) and not turn
        plain = plain and self._image.mode in ("L", "RGB") and self._image.size == size
        image, warnings = self._decoded(call.page_no, size if scaled else None)
        if turn:
            image = image.transpose(_ROTATIONS[turn])
        if image.size != size:
            image = image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
        if scaled:
            message = "the image is larger than limits.max_page_pixels; its picture was made smaller"
            warnings.append(Warning(code="render_scaled", message=message, page_no=call.page_no))
        page = msgspec.structs.replace(page, scale=image.width / width, warnings=warnings)
        full = None if call.picture == "none" else image
        jpeg = None
        if full is not None and call.jpeg:
            jpeg = self._path.read_bytes() if plain and not warnings else jpeg_of(full)
        return packed(page, small=small_of(image) if full is None else None, full=full, jpeg=jpeg)

    def _seek(self, frame: int) -> bool:
        if frame < 0 or (frame > 0 and self._mime_type != "image/tiff"):
            return False
        with _reading(frame + 1):
            try:
                self._image.seek(frame)
            except EOFError:
                return False
        return True

    def _dpi(self) -> float | None:
        x, y = self._resolutions()
        return round(max(x, y), 1) if min(x, y) >= 50 and max(x, y) <= 4800 else None

    def _resolutions(self) -> tuple[float, float]:
        with contextlib.suppress(TypeError, ValueError, ZeroDivisionError):
            x, y = self._image.info.get("dpi", (0, 0))
            return float(x), float(y)
        return 0.0, 0.0

    def _shown_size(self) -> tuple[int, int]:
        width, height = self._image.size
        x, y = self._resolutions()
        if min(x, y) > 20 and _OBLONG <= max(x, y) / min(x, y) <= 5:
            width, height = (round(width * y / x), height) if y > x else (width, round(height * x / y))
        return (height, width) if self._orientation > 4 else (width, height)

    def _decoded(self, page_no: int, size: tuple[int, int] | None = None) -> tuple[Image.Image, list[Warning]]:
        """The frame as RGB, turned as EXIF says; a JPEG is decoded no larger than `size` needs."""
        orientation = self._orientation
        warnings = [] if orientation in range(1, 9) else [_bad_orientation(page_no)]
        with _reading(page_no):
            image: Image.Image = self._image
            if size is not None and self._mime_type == "image/jpeg":
                # A second view of the file, because a draft changes what an image says of its size.
                image = Image.open(self._path, formats=["JPEG"])
                image.draft(image.mode, (max(size), max(size)))
            try:
                image.load()
            except OSError as error:
                if "truncated" not in str(error):
                    raise
                image = self._load_what_there_is()
                message = "the image file ends too early; its last part is missing"
                warnings.append(Warning(code="repaired", message=message, page_no=page_no))
            turn = _TURNS.get(orientation)
            return rgb_of(image.transpose(turn) if turn is not None else image), warnings

    def _load_what_there_is(self) -> Image.Image:
        image = Image.open(self._path, formats=[sniff.IMAGES[self._mime_type]])
        image.seek(self._image.tell())
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            image.load()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False
        rows = np.flatnonzero(np.asarray(image.convert("L")).any(axis=1))
        if not len(rows) or rows[-1] < image.height * _MIN_TRUNCATED:
            raise OSError("hardly anything of it can be decoded")
        return image


def _register_heic() -> None:
    """Teach Pillow HEIC, where the package that can read it is installed: its licence (LGPL) is for the user to choose."""
    try:
        import pi_heif
    except ImportError:
        raise DocfleetError(
            ErrorCode.unsupported_type,
            "a HEIC picture is read only where the package pi-heif is installed (docfleet[heic]); export it as JPEG and submit that",
        ) from None
    pi_heif.register_heif_opener()


def _exif_orientation(image: Image.Image) -> int:
    """The orientation that the file's head states, 1 where it states none; invalid values as they are.

    Pillow's own way would decode a PNG for it, and turns TIFF frames by itself, whose sizes it gives as turned. HEIF has a transformation of
    its own, which its reader has applied; what EXIF says beside it is not to be obeyed.
    """
    data = image.info.get("exif")
    if image.format in ("TIFF", "HEIF") or not isinstance(data, bytes):
        return 1
    exif = Image.Exif()
    with contextlib.suppress(Exception):  # a broken EXIF block is no reason to refuse a picture
        exif.load(data)
        value = exif.get(_ORIENTATION, 1)
        return value if isinstance(value, int) and value <= 8 else 0
    return 1


def rgb_of(image: Image.Image) -> Image.Image:
    """Any mode as RGB of 8 bits a channel."""
    if image.mode == "RGB":
        return image
    if image.mode == "F" or image.mode.startswith("I"):
        return Image.fromarray(_eight_bits(np.asarray(image))).convert("RGB")
    if "A" in image.getbands() or "transparency" in image.info:
        return _on_legible_ground(image.convert("RGBA"))
    return image.convert("RGB")


def _eight_bits(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Grey values of more bits as 8: 16 bits by their upper half, others by their range."""
    if values.dtype == np.uint16 or (values.size and 255 < values.max() <= 65_535 and values.min() >= 0):
        return (values.astype(np.uint32) >> 8).astype(np.uint8)
    finite = np.nan_to_num(values.astype(np.float64))
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if low >= 0 and 1 < high <= 255:
        return finite.astype(np.uint8)
    return ((finite - low) / max(high - low, 1e-9) * 255).astype(np.uint8)


def _on_legible_ground(image: Image.Image) -> Image.Image:
    """Transparent pixels become white, or black where what is opaque is itself nearly white."""
    alpha = np.asarray(image.getchannel("A"))
    opaque = alpha > 127
    ground = 255
    if opaque.any() and not opaque.all():
        ink = np.asarray(image.convert("L"))[opaque]
        ground = 0 if float(ink.mean()) > 200 else 255
    flat = Image.new("RGBA", image.size, (ground, ground, ground, 255))
    flat.alpha_composite(image)
    return flat.convert("RGB")


def decode_jpeg(data: memoryview, limits: Bounds) -> Image.Image:
    """A stored page picture as RGB, as it is: an orientation in it was obeyed when it was stored. Raises `corrupt`, `resource_limit`."""
    with _reading(None):
        image = Image.open(io.BytesIO(data), formats=["JPEG"])
        check_pixels(*image.size, limits)
        return image.convert("RGB")


def _bad_orientation(page_no: int) -> Warning:
    return Warning(
        code="exif_orientation", message="the EXIF orientation is none that exists; taken as upright", page_no=page_no
    )


@contextlib.contextmanager
def _reading(page_no: int | None) -> Iterator[None]:
    """Pillow's many ways to say that a file is broken, as `corrupt`."""
    try:
        yield
    except Image.DecompressionBombError as error:
        raise DocfleetError(
            ErrorCode.resource_limit, "the image is too large to be decoded", page_no=page_no
        ) from error
    except UnidentifiedImageError as error:
        raise DocfleetError(
            ErrorCode.corrupt, "the image cannot be identified by its content", page_no=page_no
        ) from error
    except (DocfleetError, MemoryError):
        raise
    except Exception as error:
        if not isinstance(error, OSError) and not raised_in(error, "PIL"):
            raise
        raise DocfleetError(
            ErrorCode.corrupt, f"the image cannot be read: {type(error).__name__}: {error!s:.100}", page_no=page_no
        ) from error
