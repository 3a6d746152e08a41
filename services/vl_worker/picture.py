"""What the model is shown: a region cut from the page picture, within the profile's pixel bounds, as JPEG."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from services.vl_worker.profiles.profile import Profile

MARGIN = 4
"""Pixels kept around a region, so that strokes at its edge are whole."""
BLANK_SPREAD = 12
"""A region whose grey values differ by less is blank, and no model is asked: they invent text (report allenai/olmocr#292)."""


def cut(page: NDArray[np.uint8], bbox: list[float], scale_x: float, scale_y: float) -> NDArray[np.uint8]:
    """The pixels of `bbox` (page units) in a page picture (height, width, 3), with a margin, clamped to the picture."""
    height, width = page.shape[:2]
    x0 = max(0, math.floor(bbox[0] * scale_x) - MARGIN)
    y0 = max(0, math.floor(bbox[1] * scale_y) - MARGIN)
    x1 = min(width, math.ceil(bbox[2] * scale_x) + MARGIN)
    y1 = min(height, math.ceil(bbox[3] * scale_y) + MARGIN)
    return page[y0:y1, x0:x1]


def is_blank(picture: NDArray[np.uint8]) -> bool:
    """Whether there is nothing to read: no pixels, or all of nearly one grey."""
    if picture.size == 0:
        return True
    grey: Any = picture.mean(axis=2)
    return float(grey.max() - grey.min()) < BLANK_SPREAD


def to_jpeg(picture: NDArray[np.uint8], profile: Profile) -> bytes:
    """JPEG bytes, scaled so that the pixel count lies within the profile's bounds."""
    from PIL import Image

    image = Image.fromarray(picture)
    pixels = image.width * image.height
    wanted = min(max(pixels, profile.min_pixels), profile.max_pixels)
    if wanted != pixels:
        factor = math.sqrt(wanted / pixels)
        size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
        image = image.resize(size, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=90)
    return out.getvalue()
