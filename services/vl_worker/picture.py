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
QUALITY = 90
"""Of the JPEG."""


def cut(page: NDArray[np.uint8], bbox: list[float], scale_x: float, scale_y: float) -> NDArray[np.uint8]:
    """The pixels of `bbox` (page units) in a page picture (height, width, 3), with a margin, clamped to the picture."""
    height, width = page.shape[:2]
    x0 = max(0, math.floor(bbox[0] * scale_x) - MARGIN)
    y0 = max(0, math.floor(bbox[1] * scale_y) - MARGIN)
    x1 = min(width, math.ceil(bbox[2] * scale_x) + MARGIN)
    y1 = min(height, math.ceil(bbox[3] * scale_y) + MARGIN)
    return page[y0:y1, x0:x1]


def is_blank(picture: NDArray[np.uint8]) -> bool:
    """Whether there is nothing to read: no pixels, one grey, or specks that are no strokes.

    Models asked about such a picture invent text (report allenai/olmocr#292). `picture` is (height, width, 3); it may take 50 ms a
    page, so call it off the event loop.
    """
    if picture.size == 0:
        return True
    grey: Any = picture.max(axis=2).astype(np.int16)  # coloured ink is lighter in one channel, paper is light in all
    dark: Any = picture.min(axis=2).astype(np.int16)
    ink = (np.abs(grey - np.median(grey)) > CONTRAST) | (np.abs(dark - np.median(dark)) > CONTRAST)
    if not ink.any():
        return True
    side = 2 * AROUND + 1
    sums = np.pad(ink, ((AROUND + 1, AROUND), (AROUND + 1, AROUND))).astype(np.int32).cumsum(0).cumsum(1)
    crowd = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    strokes = int(np.count_nonzero(ink & (crowd >= CROWD)))
    return bool(strokes < max(MIN_STROKES, BLANK_STROKES * ink.size))


def size_for(width: int, height: int, bounds: Bounds) -> tuple[int, int]:
    """The size a picture is sent in: within the bounds, sides in proportion as far as the multiple allows, at least one multiple each.

    A picture within the bounds keeps its size, but for the multiple; the bound above is never passed.
    """
    unit = bounds.multiple
    pixels = width * height
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
