"""Blobs of a text map taken apart: two lines of a seal that touch are one blob, and often a closed ring.

Where lines touch, the blob is thinner than the lines are. So its thin places are taken away, and every pixel goes to the nearest of
what is left.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.uint8]

NECKS = (0.35, 0.5, 0.65)
"""How thin a place is for a cut, in half-thicknesses of the blob; the smallest that cuts is taken."""
LEAST = 0.1
"""Share of the blob that a part must have to be a line; smaller ones are frayed ends."""


def blobs(mask: Mask, least: int) -> list[Mask]:
    """The connected parts of a mask (0 or 1) of at least `least` pixels, each as a mask of the same size, the largest first."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    areas = stats[:, cv2.CC_STAT_AREA]
    order = sorted(range(1, count), key=lambda index: -int(areas[index]))
    return [(labels == index).astype(np.uint8) for index in order if areas[index] >= least]


def parted(blob: Mask) -> list[Mask]:
    """The blob cut at its necks; the blob alone where it has none."""
    depth = cv2.distanceTransform(np.pad(blob, 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    area = int(blob.sum())
    for neck in NECKS:
        core = ((depth > neck * float(depth.max())) & (blob > 0)).astype(np.uint8)
        count, labels = cv2.connectedComponents(core, connectivity=4)
        if count <= 2:
            continue
        # The label of the nearest pixel of the core, for each pixel of the blob.
        _, nearest = cv2.distanceTransformWithLabels(1 - core, cv2.DIST_L2, 3, labelType=cv2.DIST_LABEL_PIXEL)
        owner = np.zeros(int(nearest.max()) + 1, dtype=np.int32)
        owner[nearest[core > 0]] = labels[core > 0]
        owned = np.where(blob > 0, owner[nearest], 0)
        parts = [(owned == index).astype(np.uint8) for index in range(1, count)]
        large = [part for part in parts if int(part.sum()) >= LEAST * area]
        if len(large) >= 2:
            return large
    return [blob]
