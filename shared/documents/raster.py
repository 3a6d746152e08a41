"""The picture of a PDF page: rendered, or the scan itself where the page is nothing but one.

Taking the embedded JPEG costs a quarter of a rendering (19 ms against 72-87 ms, reference measurement at 200 dpi) and keeps the
scanner's own pixels, but only where rendering would show just that: one opaque upright JPEG over the whole page, painted last.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pymupdf
from numpy.typing import NDArray
from PIL import Image, ImageChops

from shared.documents.annotations import hide_icons
from shared.documents.frame import Frame
from shared.documents.limits import Bounds, page_scale
from shared.documents.marks import Marks
from shared.documents.part import part_of
from shared.documents.pictures import Pixels, jpeg_of

_POINTS_PER_INCH = 72.0
_FINER = 1.5
"""A scan with more than this many times the wanted resolution is reduced to it; up to there it is taken as it is."""
_COARSER = 0.45
"""Below this many times the wanted resolution the renderer's smoothing is wanted after all."""
_EDGE = 0.005
"""Share of the page by which the edges of page and scan may differ."""
_SKEW = 0.02
"""Relative difference of horizontal and vertical resolution up to which pixels count as square."""
_CHANGES = re.compile(rb"(?<![\w/])(?:W\*?|gs)(?![\w])")
"""Operators that clip or change how things are painted."""
_PROOF, _TILES, _DIFFERENT = 400, 24, 12
"""Pixels of the long side of a proof, its tiles per side, and the greatest difference of a tile's grey (of 255): ways to shrink a picture
differ by 3."""
_TURNS = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}


class Drawn:
    """The full picture of a page: RGB, pixels per point, the bytes to store (none: to be encoded), whether it was scaled down."""

    box: list[int] | None = None
    """The part of the whole page's picture that `pixels` are; none is all of it."""
    whole: tuple[int, int] | None = None
    """Width and height of that picture."""

    def __init__(self, pixels: Pixels, scale: float, jpeg: bytes | None, scaled: bool) -> None:
        self.pixels = pixels
        self.scale = scale
        self.encoded = jpeg
        """The scanner's own bytes, where the picture is just them."""
        self.scaled = scaled

    def jpeg(self) -> bytes:
        if self.encoded is not None:
            return self.encoded
        return jpeg_of(Image.fromarray(self.pixels) if isinstance(self.pixels, np.ndarray) else self.pixels)


def draw(
    page: Any, frame: Frame, marks: Marks, dpi: int, limits: Bounds, parts: Sequence[Sequence[float]] = ()
) -> Drawn:
    """Draw a `pymupdf.Page` as displayed at `dpi`, or smaller within `limits.max_page_pixels`; of `parts` (boxes in points) only what
    holds them, where that is little. Raises what MuPDF raises."""
    wanted = dpi / _POINTS_PER_INCH
    if (
        parts
        and (part := _part(page, frame, parts, *page_scale(frame.width, frame.height, wanted, limits))) is not None
    ):
        return part
    with contextlib.suppress(OSError, SyntaxError, ValueError):
        # A JPEG that Pillow cannot decode is left to MuPDF, which shows as much of it as there is.
        if (scan := _scan(page, frame, marks, wanted, limits)) is not None:
            return scan
    scale, scaled = page_scale(frame.width, frame.height, wanted, limits)
    pixels = render(page, scale)
    return Drawn(pixels, pixels.shape[1] / frame.width, None, scaled)


def _part(page: Any, frame: Frame, parts: Sequence[Sequence[float]], scale: float, scaled: bool) -> Drawn | None:
    whole = (page.rect * pymupdf.Matrix(scale, scale)).irect
    size = (whole.width, whole.height)
    box = part_of(parts, (frame.width, frame.height), size)
    if box is None:
        return None
    pixels = render(page, scale, box)
    if (pixels.shape[1], pixels.shape[0]) != (box[2] - box[0], box[3] - box[1]):
        return None
    drawn = Drawn(pixels, size[0] / frame.width, None, scaled)
    drawn.box, drawn.whole = box, size
    return drawn


def render(page: Any, scale: float, box: Sequence[int] | None = None) -> NDArray[np.uint8]:
    """Render a page as displayed, with its annotations but their icons, at so many pixels per point: uint8 RGB, (height, width, 3).

    `box` is the part of it that is wanted, in pixels.
    """
    clip = None if box is None else pymupdf.Rect(*box) / pymupdf.Matrix(scale, scale)
    hide_icons(page)
    drawn = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False, clip=clip)
    rows = np.frombuffer(drawn.samples, dtype=np.uint8).reshape(drawn.h, drawn.stride)
    return rows[:, : 3 * drawn.w].reshape(drawn.h, drawn.w, 3)


def _scan(page: Any, frame: Frame, marks: Marks, wanted: float, limits: Bounds) -> Drawn | None:
    info = _whole_page_image(frame, marks)
    if info is None or info["width"] * info["height"] > limits.max_image_pixels:
        return None
    scale = info["width"] / frame.unrotated[0]
    square = abs(info["height"] / frame.unrotated[1] / scale - 1) <= _SKEW
    if not square or scale < wanted * _COARSER or (jpeg := _plain_jpeg(page, info)) is None:
        return None
    image: Image.Image = Image.open(io.BytesIO(jpeg), formats=["JPEG"])
    if _may_look_different(page) and not _looks_like(page, frame, jpeg):
        return None
    oriented = image.getexif().get(0x0112, 1) != 1
    aim = min(scale if scale <= wanted * _FINER else wanted, page_scale(frame.width, frame.height, scale, limits)[0])
    if aim < scale * 0.999:
        size = (max(1, round(frame.unrotated[0] * aim)), max(1, round(frame.unrotated[1] * aim)))
        image.draft(image.mode, size)
        image = image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
        jpeg = None
    image = image.convert("RGB")
    if frame.rotation:
        image = image.transpose(_TURNS[frame.rotation])
    if frame.rotation or oriented:
        jpeg = None
    return Drawn(image, image.width / frame.width, jpeg, aim < min(scale, wanted) * 0.999)


def _whole_page_image(frame: Frame, marks: Marks) -> dict[str, Any] | None:
    """The image that is the page: painted last, opaque, upright, edge to edge."""
    if not marks.ends_with_image or not marks.infos:
        return None
    info = marks.infos[-1]
    a, b, c, d, _, _ = info["transform"]
    upright = a > 0 and d > 0 and abs(b) < 0.01 and abs(c) < 0.01
    edges = zip(info["bbox"], (0.0, 0.0, *frame.unrotated), strict=True)
    close = all(abs(one - other) <= _EDGE * max(frame.unrotated) for one, other in edges)
    return info if upright and close and not info.get("has-mask") else None


def _may_look_different(page: Any) -> bool:
    """Whether the contents clip, blend or fade something, or leave painting to a form that may: many writers clip to the page itself, so
    it has to be looked at."""
    return _CHANGES.search(page.read_contents()) is not None or any(one[9] for one in page.get_images(full=True))


def _looks_like(page: Any, frame: Frame, jpeg: bytes) -> bool:
    """Whether the page, drawn small, is the picture: both as grey tiles."""
    drawn = Image.fromarray(render(page, _PROOF / max(frame.width, frame.height))).convert("L")
    image: Image.Image = Image.open(io.BytesIO(jpeg), formats=["JPEG"])
    image.draft("L", drawn.size)
    image = image.convert("L").transpose(_TURNS[frame.rotation]) if frame.rotation else image.convert("L")
    tiles = [one.resize((_TILES, _TILES), Image.Resampling.BOX) for one in (drawn, image)]
    _, most = ImageChops.difference(*tiles).getextrema()
    return int(cast(Any, most)) <= _DIFFERENT


def _plain_jpeg(page: Any, info: dict[str, Any]) -> bytes | None:
    """The image's bytes, where they are a JPEG that PDF shows as any viewer would: no mask, no decode array, grey or RGB."""
    document = page.parent
    same = [one for one in page.get_images(full=True) if one[2:4] == (info["width"], info["height"])]
    if len(same) != 1 or same[0][8] != "DCTDecode" or not same[0][5].endswith(("RGB", "Gray", "ICCBased")):
        return None
    xref = same[0][0]
    if any(document.xref_get_key(xref, key)[0] != "null" for key in ("SMask", "Mask", "Decode", "DecodeParms")):
        return None
    data = document.xref_stream_raw(xref)
    image = Image.open(io.BytesIO(data), formats=["JPEG"])
    return data if image.size == (info["width"], info["height"]) and image.mode in ("L", "RGB") else None
