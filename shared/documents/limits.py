"""How big a document may be. Every check raises before the work that it saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from shared.contracts.errors import DocfleetError, ErrorCode

if TYPE_CHECKING:
    from shared.settings import Limits


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Those of `settings.Limits` that a document child enforces; the settings themselves cost it 0.2 s of CPU to import."""

    max_file_bytes: int
    max_pages: int
    max_image_pixels: int
    max_page_pixels: int
    max_page_characters: int
    max_page_drawings: int
    max_stream_bytes: int
    max_decoded_bytes: int
    max_flow_characters: int
    max_archive_members: int
    max_archive_ratio: int
    max_unpacked_bytes: int


def bounds_of(limits: Limits) -> Bounds:
    """The bounds that these settings say."""
    return Bounds(**{name: getattr(limits, name) for name in Bounds.__struct_fields__})


def check_bytes(size: int, limits: Bounds) -> None:
    """Size of the file in bytes. Raises `empty_file`, `too_large`."""
    if size == 0:
        raise DocfleetError(ErrorCode.empty_file, "the file is empty; was it still being uploaded?")
    if size > limits.max_file_bytes:
        raise DocfleetError(
            ErrorCode.too_large, f"the file has {size} bytes; limits.max_file_bytes allows {limits.max_file_bytes}"
        )


def check_pages(count: int, limits: Bounds) -> None:
    """Pages of a document, or frames of an image. Raises `too_large`."""
    if count > limits.max_pages:
        raise DocfleetError(
            ErrorCode.too_large, f"the document has {count} pages or more; limits.max_pages allows {limits.max_pages}"
        )


def check_pixels(width: int, height: int, limits: Bounds, page_no: int | None = None) -> None:
    """Pixels of an image, before it is decoded. Raises `resource_limit`."""
    if width * height > limits.max_image_pixels:
        raise DocfleetError(
            ErrorCode.resource_limit,
            f"an image has {width} x {height} pixels; limits.max_image_pixels allows {limits.max_image_pixels}",
            page_no=page_no,
        )


def check_characters(count: int, limits: Bounds, page_no: int) -> None:
    """Characters of a page's own text. Raises `resource_limit`."""
    if count > limits.max_page_characters:
        raise DocfleetError(
            ErrorCode.resource_limit,
            f"a page has {count} characters; limits.max_page_characters allows {limits.max_page_characters}",
            page_no=page_no,
        )


def page_scale(width: float, height: float, wanted: float, limits: Bounds) -> tuple[float, bool]:
    """Pixels per unit at which a page of this size may be drawn, and whether that is less than wanted.

    `limits.max_page_pixels` bounds the area, 30,000 pixels bound a side (JPEG ends at 65,535, and so long a strip has no use).
    """
    allowed = min((limits.max_page_pixels / (width * height)) ** 0.5, 30_000 / max(width, height))
    return min(wanted, allowed), wanted > allowed * 1.001
