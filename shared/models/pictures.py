"""From pictures (uint8 RGB, `(height, width, 3)`) to what networks take (float32, `(channels, height, width)`)."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from shared.models.manifest import Input

Picture = npt.NDArray[np.uint8]
Planes = npt.NDArray[np.float32]


def darkest_of(picture: Picture) -> Picture:
    """The darkest channel of each pixel of an RGB picture, so that coloured ink counts: uint8 (height, width)."""
    red, green, blue = cv2.split(picture)
    return np.asarray(cv2.min(cv2.min(red, green), blue), dtype=np.uint8)


def brightest_of(picture: Picture) -> Picture:
    """The brightest channel of each pixel of an RGB picture, in which coloured ink and ground are light: uint8 (height, width)."""
    red, green, blue = cv2.split(picture)
    return np.asarray(cv2.max(cv2.max(red, green), blue), dtype=np.uint8)


def halved(picture: Picture, width: int, height: int) -> tuple[Picture, int]:
    """The picture halved as often as it stays at least this large, and how many of its pixels are one of the result's.

    OpenCV averages exact 2 x 2 pixels eight times as fast as it does any other reduction (A4 at 200 dpi: 2.5 ms against 20). An odd last
    row or column is left out.
    """
    factor = 1
    while picture.shape[1] >= 2 * width and picture.shape[0] >= 2 * height:
        half_width, half_height = picture.shape[1] // 2, picture.shape[0] // 2
        even = picture[: 2 * half_height, : 2 * half_width]
        picture = np.asarray(cv2.resize(even, (half_width, half_height), interpolation=cv2.INTER_AREA), dtype=np.uint8)
        factor *= 2
    return picture, factor


def shrunk(picture: Picture, width: int, height: int) -> Picture:
    """A page at a much smaller size: halved while it is twice as large, then bicubic.

    For networks that look at whole pages. As sharp as they were trained on: on 33 scanned pages 1,928 of 2,022 lines lay in layout boxes
    of a score above 0.6, against 1,890 after an area average, which takes five times as long (20 ms). What a detector finds so is read
    as well: 0.03 and 0.23 % of characters wrong on generated scans, 0.10 and 0.17 % before. Where it does not get smaller: as `resized`.
    """
    if picture.shape[1] < width or picture.shape[0] < height:
        return resized(picture, width, height)
    picture, _ = halved(picture, width, height)
    if picture.shape[1] == width and picture.shape[0] == height:
        return picture
    return np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)


def resized(picture: Picture, width: int, height: int) -> Picture:
    """The picture at another size: area average when it gets clearly smaller, bilinear otherwise."""
    if picture.shape[1] == width and picture.shape[0] == height:
        return picture
    smaller = width * height * 2 < picture.shape[0] * picture.shape[1]
    result = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR)
    return np.asarray(result, dtype=np.uint8)


class Normalise:
    """`(value / 255 - mean) / std` per channel, in the channel order of the network."""

    def __init__(self, wanted: Input) -> None:
        self._bgr = wanted.channels == "bgr"
        std = np.array(wanted.std, dtype=np.float32)
        self._scale = (1.0 / (255.0 * std)).astype(np.float32)
        self._shift = (-np.array(wanted.mean, dtype=np.float32) / std).astype(np.float32)

    def into(self, picture: Picture, target: npt.NDArray[Any]) -> None:
        """Write the planes of `picture` into the top left of `target` `(3, height', width')`, whose rest is left as it is."""
        height, width = picture.shape[:2]
        for plane in range(3):
            channel = picture[:, :, 2 - plane] if self._bgr else picture[:, :, plane]
            view = target[plane, :height, :width]
            np.multiply(channel, self._scale[plane], out=view, casting="unsafe")
            view += self._shift[plane]

    def batch(self, picture: Picture, height: int, width: int) -> Planes:
        """`(1, 3, height, width)` with the picture at the top left and zeros (after normalisation) around it."""
        planes = np.zeros((1, 3, height, width), dtype=np.float32)
        self.into(picture, planes[0])
        return planes
