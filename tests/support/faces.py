"""Fonts that come with MuPDF, for pictures that tests draw."""

from __future__ import annotations

import io

import pymupdf
from PIL import ImageFont


def face(name: str, size: int) -> ImageFont.FreeTypeFont:
    """A font by MuPDF's name (`helv`, `cour`, `japan`), so many pixels high."""
    return ImageFont.truetype(io.BytesIO(pymupdf.Font(name).buffer), size)
