"""From a map of text probability (DBNet) to outlines: what line and seal detection share."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Map = npt.NDArray[np.float32]
Points = npt.NDArray[np.float32]


def outlines(probability: Map, threshold: float, most: int) -> list[npt.NDArray[np.int32]]:
    """Outer outlines `[n, 2]` (x, y in map pixels) of what lies above the threshold; the largest `most`."""
    mask = (probability > threshold).astype(np.uint8)
    found, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    if len(found) > most:
        found = sorted(found, key=cv2.contourArea, reverse=True)[:most]
    return [np.asarray(contour, dtype=np.int32).reshape(-1, 2) for contour in found]


def inside(probability: Map, polygon: Points) -> tuple[float, float]:
    """Mean and sum of the probability inside a polygon `[n, 2]`, its edge included; 0 for one outside the map."""
    height, width = probability.shape
    low = np.floor(polygon.min(axis=0)).astype(int)
    high = np.ceil(polygon.max(axis=0)).astype(int) + 1
    x0, y0 = np.clip(low, 0, [width, height])
    x1, y1 = np.clip(high, 0, [width, height])
    if x1 <= x0 or y1 <= y0:
        return 0.0, 0.0
    mask = np.zeros((y1 - y0, x1 - x0), dtype=np.uint8)
    cv2.fillPoly(mask, [np.round(polygon - [x0, y0]).astype(np.int32)], 1)
    mean = float(cv2.mean(probability[y0:y1, x0:x1], mask)[0])
    return mean, mean * int(cv2.countNonZero(mask))
