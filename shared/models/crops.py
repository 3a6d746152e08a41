"""Cut a text line out of a page picture."""

from __future__ import annotations

import cv2
import numpy as np

from shared.models.contours import Points
from shared.models.pictures import Picture

VERTICAL = 1.5
"""A line at least this many times higher than wide is written top to bottom and is laid on its side (PaddleOCR's ratio)."""


def is_vertical(quad: Points) -> bool:
    """Whether the quad `[4, 2]` is that of a vertical line."""
    wide, high = _size(quad)
    return high >= VERTICAL * wide


def cut(picture: Picture, quad: Points) -> Picture:
    """The line inside `quad` (float `[4, 2]`, clockwise from the text's top left, picture pixels), straight, left to right.

    uint8 RGB `(height, width, 3)`, at least 1 x 1. Vertical lines are turned counter-clockwise, as the reader was trained on.
    """
    wide, high = (max(1, round(side)) for side in _size(quad))
    target = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(np.asarray(quad, dtype=np.float32), target)
    crop = cv2.warpPerspective(picture, matrix, (wide, high), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    if is_vertical(quad):
        crop = np.rot90(crop)
    return np.ascontiguousarray(crop, dtype=np.uint8)


def _size(quad: Points) -> tuple[float, float]:
    wide = max(np.linalg.norm(quad[1] - quad[0]), np.linalg.norm(quad[2] - quad[3]))
    high = max(np.linalg.norm(quad[3] - quad[0]), np.linalg.norm(quad[2] - quad[1]))
    return float(wide), float(high)
