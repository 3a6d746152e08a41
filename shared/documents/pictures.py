"""Pictures of a page, from Pillow to shared blocks: the small one for the layout network, the full one, its JPEG."""

from __future__ import annotations

import io
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops

from shared.children.block import Block
from shared.documents.page import OpenedPage, PageAnswer, Picture

Pixels = Image.Image | NDArray[np.uint8]
"""A picture on its way: Pillow's, or uint8 RGB of shape (height, width, 3)."""
SMALL_SIDE = 800
"""Pixels of the long side of the layout picture; the layout network takes 800 x 608."""
JPEG_QUALITY = 90
_COLOURLESS = 6
"""Greatest difference of a grey pixel's channels (0..255): what JPEG and colour profiles leave of grey."""


def small_of(image: Image.Image) -> Image.Image:
    """The picture reduced to `SMALL_SIDE`, never enlarged."""
    factor = SMALL_SIDE / max(image.size)
    if factor >= 1:
        return image
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.BILINEAR, reducing_gap=1.1)


def jpeg_of(image: Image.Image) -> bytes:
    """JPEG bytes: colours at full resolution, because red seals on black text are to be told apart later; grey pictures as grey.

    Grey costs a third of the time to encode and less to decode, and most scans are.
    """
    out = io.BytesIO()
    if is_grey(image):
        image = image.convert("L")
    image.save(out, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return out.getvalue()


def is_grey(image: Image.Image) -> bool:
    """Whether no spot of 4 x 4 pixels has a colour that can be seen."""
    if image.mode != "RGB":
        return image.mode in ("1", "L")
    red, green, blue = (image.reduce(4) if min(image.size) >= 4 else image).split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    least = ImageChops.darker(ImageChops.darker(red, green), blue)
    return int(cast(Any, ImageChops.subtract(most, least).getextrema()[1])) <= _COLOURLESS


def packed(
    page: OpenedPage,
    *,
    small: Pixels | None,
    full: Pixels | None,
    jpeg: bytes | None,
    box: list[int] | None = None,
    whole: tuple[int, int] | None = None,
) -> tuple[PageAnswer, list[Block]]:
    """A page and its RGB pictures as they travel; `jpeg` is the encoding of `full`, which is the part `box` of a picture of the size `whole`."""
    blocks = [_pixels(image) for image in (small, full) if image is not None]
    if jpeg is not None:
        blocks.append(Block.of(jpeg))
    size = msgspec.structs.replace(_size(full), box=box, whole=whole) if full is not None else None
    return PageAnswer(
        page=page, small=_size(small) if small is not None else None, full=size, jpeg=size if jpeg is not None else None
    ), blocks


def _size(image: Pixels) -> Picture:
    if isinstance(image, np.ndarray):
        return Picture(width=image.shape[1], height=image.shape[0])
    return Picture(width=image.width, height=image.height)


def _pixels(image: Pixels) -> Block:
    if isinstance(image, np.ndarray):
        return Block.of(image)
    return Block.of(np.asarray(image if image.mode == "RGB" else image.convert("RGB")))
