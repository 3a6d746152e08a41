"""Pictures of a page, from Pillow to shared blocks: the small one for the layout network, the full one, its JPEG."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from shared.children.block import Block
from shared.documents.page import OpenedPage, PageAnswer, Picture

SMALL_SIDE = 800
"""Pixels of the long side of the layout picture; the layout network takes 800 x 608."""
JPEG_QUALITY = 90


def small_of(image: Image.Image) -> Image.Image:
    """The picture reduced to `SMALL_SIDE`, never enlarged."""
    factor = SMALL_SIDE / max(image.size)
    if factor >= 1:
        return image
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)


def jpeg_of(image: Image.Image) -> bytes:
    """JPEG bytes with colours at full resolution, because red seals on black text are to be told apart later."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return out.getvalue()


def packed(
    page: OpenedPage, *, small: Image.Image | None, full: Image.Image | None, jpeg: bytes | None
) -> tuple[PageAnswer, list[Block]]:
    """A page and its RGB pictures as they travel; `jpeg` is the encoding of `full`."""
    blocks = [_pixels(image) for image in (small, full) if image is not None]
    if jpeg is not None:
        blocks.append(Block.of(jpeg))
    size = _size(full) if full else None
    return PageAnswer(
        page=page, small=_size(small) if small else None, full=size, jpeg=size if jpeg is not None else None
    ), blocks


def _size(image: Image.Image) -> Picture:
    return Picture(width=image.width, height=image.height)


def _pixels(image: Image.Image) -> Block:
    return Block.of(np.asarray(image if image.mode == "RGB" else image.convert("RGB")))
