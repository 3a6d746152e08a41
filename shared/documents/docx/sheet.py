"""The pictures of a DOCX below each other on one sheet: the page's picture of a document without pages, so that text in them can be read."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from PIL import Image

from shared.contracts.errors import DocfleetError
from shared.documents.docx.archive import Archive
from shared.documents.limits import Bounds, check_pixels

LEAST = (48, 16)
"""Pixels below which a picture is an icon or a line, and holds no text."""
MOST_SIDE = 2_000
"""Pixels of a picture's long side on the sheet: A4 at 170 dpi."""
WHITE = 24
"""Pixels of white around each picture: lines of neighbours are not joined, and the detector wants paper around text."""
MOST_HEIGHT = 30_000
"""Pixels of the sheet: JPEG ends at 65,535, and so long a strip has no use."""
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF")


class Placed(NamedTuple):
    """A picture and where it stands on the sheet, in its pixels."""

    part: str
    box: tuple[int, int, int, int]


class Sheet(NamedTuple):
    """What stands where. `left_out`: pictures for which there was no room (`limits.max_page_pixels`)."""

    width: int
    height: int
    placed: list[Placed]
    left_out: int


def sheet_of(parts: Sequence[str], archive: Archive, limits: Bounds) -> Sheet:
    """Places for the pictures of these parts, each once. Pictures that cannot be decoded, or are too large, have none."""
    placed: list[Placed] = []
    width, height, left_out = 0, WHITE, 0
    for part in dict.fromkeys(parts):
        size = _size(part, archive, limits)
        if size is None or size[0] < LEAST[0] or size[1] < LEAST[1]:
            continue
        scale = min(1.0, MOST_SIDE / max(size))
        shown = max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
        wider, higher = max(width, shown[0] + 2 * WHITE), height + shown[1] + WHITE
        if wider * higher > limits.max_page_pixels or higher > MOST_HEIGHT:
            left_out += 1
            continue
        placed.append(Placed(part, (WHITE, height, WHITE + shown[0], height + shown[1])))
        width, height = wider, higher
    return Sheet(width, height, placed, left_out)


def drawn(sheet: Sheet, archive: Archive, limits: Bounds) -> Image.Image:
    """The sheet, RGB. A picture whose bytes turn out to be broken leaves its place white."""
    out = Image.new("RGB", (sheet.width, sheet.height), "white")
    for part, box in sheet.placed:
        for image in _opened(part, archive, limits):
            shown = image.convert("RGBA") if image.mode in ("P", "LA", "PA", "RGBA") else image.convert("RGB")
            size = (box[2] - box[0], box[3] - box[1])
            if shown.size != size:
                shown = shown.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
            out.paste(shown, box[:2], shown if shown.mode == "RGBA" else None)
    return out


def places(sheet: Sheet, parts: Mapping[int, str]) -> dict[int, list[float]]:
    """Boxes by the index of the block that shows the picture."""
    boxes = {one.part: [float(edge) for edge in one.box] for one in sheet.placed}
    return {index: boxes[part] for index, part in parts.items() if part in boxes}


def _size(part: str, archive: Archive, limits: Bounds) -> tuple[int, int] | None:
    for image in _opened(part, archive, limits, load=False):
        return image.size
    return None


def _opened(part: str, archive: Archive, limits: Bounds, *, load: bool = True) -> Iterator[Image.Image]:
    """The picture, or nothing where it cannot be read."""
    try:
        image = Image.open(io.BytesIO(archive.read(part)), formats=_FORMATS)
        check_pixels(*image.size, limits)
        if load:
            image.load()
    except (OSError, ValueError, SyntaxError, EOFError, DocfleetError, Image.DecompressionBombError):
        return
    yield image
