"""What the model is shown: a region or a page of the page picture, within the profile's bounds, as JPEG; and whether there is anything."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shared.vlm.profile import Bounds

MARGIN = 4
"""Pixels kept around a region, so that strokes at its edge are whole."""
CONTRAST = 24
"""Grey values from the background from which a pixel is ink. Noise of scanners and of JPEG stays below; a light grey print does not."""
AROUND = 4
"""A pixel's neighbourhood is this many pixels to each side: 9 x 9."""
CROWD = 10
"""Inked pixels in the neighbourhood of one from which it belongs to a stroke. A speck of 3 x 3 is 9, the thinnest stroke is longer."""
BLANK_STROKES = 0.00002
"""Share of stroke pixels below which a picture is blank: 78 of a page at 200 dpi. A digit of 10 pt has some 100."""
MIN_STROKES = 16
"""Stroke pixels below which it is blank whatever its size: a full stop at 200 dpi."""
BAND = 32
"""Rows above and below the fullest one that are looked at first: in a text there are enough strokes."""
QUALITY = 90
"""Of the JPEG."""


def cut(
    page: NDArray[np.uint8], bbox: list[float], scale_x: float, scale_y: float, begin: tuple[int, int] = (0, 0)
) -> NDArray[np.uint8]:
    """The pixels of `bbox` (page units) in a page picture (height, width, 3), with a margin, clamped to the picture.

    `begin` is the pixel (x, y) of the whole page's picture at which this one begins, where it shows a part.
    """
    height, width = page.shape[:2]
    x0 = max(0, math.floor(bbox[0] * scale_x) - MARGIN - begin[0])
    y0 = max(0, math.floor(bbox[1] * scale_y) - MARGIN - begin[1])
    x1 = min(width, math.ceil(bbox[2] * scale_x) + MARGIN - begin[0])
    y1 = min(height, math.ceil(bbox[3] * scale_y) + MARGIN - begin[1])
    return page[y0:y1, x0:x1]


def is_blank(picture: NDArray[np.uint8]) -> bool:
    """Whether there is nothing to read: no pixels, one grey, or specks that are no strokes.

    Models asked about such a picture invent text (report allenai/olmocr#292). `picture` is (height, width, 3). It costs 5 ns a pixel
    where there is text, some twenty times that where there are only specks: call it off the event loop.
    """
    if picture.size == 0:
        return True
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    light = np.maximum(np.maximum(red, green), blue)  # paper is light in all channels, coloured ink is dark in one
    dark = np.minimum(np.minimum(red, green), blue)
    ink = _is_off(light) | _is_off(dark)
    wanted = max(MIN_STROKES, BLANK_STROKES * ink.size)
    rows = np.count_nonzero(ink, axis=1)
    if rows.sum() < wanted:
        return True
    fullest = int(rows.argmax())
    if _strokes(ink[max(0, fullest - BAND) : fullest + BAND]) >= wanted:
        return False
    return _strokes(ink) < wanted


def _is_off(channel: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where a channel differs from its background, which is its median."""
    step = 4 if channel.size > 100_000 else 1
    counts = np.bincount(channel[::step, ::step].ravel(), minlength=256).cumsum()
    background = int(np.searchsorted(counts, counts[-1] / 2))
    off: NDArray[np.bool_] = np.zeros(channel.shape, dtype=np.bool_)
    if background > CONTRAST:
        off |= channel < background - CONTRAST
    if background + CONTRAST < 255:
        off |= channel > background + CONTRAST
    return off


def _strokes(ink: NDArray[np.bool_]) -> int:
    """Inked pixels in a crowd."""
    side = 2 * AROUND + 1
    sums: Any = np.pad(ink, ((AROUND + 1, AROUND), (AROUND + 1, AROUND))).cumsum(0, dtype=np.int32).cumsum(1)
    crowd = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return int(np.count_nonzero(ink & (crowd >= CROWD)))


def size_for(width: int, height: int, bounds: Bounds) -> tuple[int, int]:
    """The size a picture is sent in: within the bounds, sides in proportion as far as the multiple allows, at least one multiple each.

    A picture within the bounds keeps its size: servers round it to their multiple themselves, and doing it here cost 13 ms a region,
    half of the worker's time. The bound above is never passed.
    """
    unit = bounds.multiple
    pixels = width * height
    if bounds.min_pixels <= pixels <= bounds.max_pixels:
        return width, height
    factor = math.sqrt(min(max(pixels, bounds.min_pixels), bounds.max_pixels) / pixels)
    wide, high = width * factor, height * factor
    sides = [max(unit, round(side / unit) * unit) for side in (wide, high)]
    if sides[0] * sides[1] < bounds.min_pixels:
        sides = [max(unit, math.ceil(side / unit) * unit) for side in (wide, high)]
    if sides[0] * sides[1] > bounds.max_pixels:
        sides = [max(unit, math.floor(side / unit) * unit) for side in (wide, high)]
    if sides[0] * sides[1] > bounds.max_pixels:  # so long and thin that one multiple is already too high
        long = 0 if sides[0] >= sides[1] else 1
        sides[long] = max(unit, bounds.max_pixels // sides[1 - long] // unit * unit)
    return sides[0], sides[1]


def to_jpeg(picture: NDArray[np.uint8], bounds: Bounds) -> bytes:
    """JPEG bytes of a picture (height, width, 3) in the size it is sent in."""
    from PIL import Image

    image = Image.fromarray(picture)
    size = size_for(image.width, image.height, bounds)
    if size != image.size:
        image = image.resize(size, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()
