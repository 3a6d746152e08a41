"""Scanned documents whose pages are all of other sizes, with lines of other widths: what makes an engine meet every shape it can meet.

Most pages are small (a slip with a few lines), so that thousands are affordable on a CPU; one in `FULL` is as large as A4 at 150 dpi.
"""

from __future__ import annotations

import random
from pathlib import Path

import cv2
import numpy as np
import pymupdf

FULL = 50
DPI = 150
_LETTER = 22
"""Mean width of a letter at scale 1, with the blanks between words, pixels."""
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def write(path: Path, first: int, pages: int) -> None:
    """A PDF of the pages `first` to `first + pages - 1` of an endless row; a page is the same in every call."""
    with pymupdf.open() as document:
        for number in range(first, first + pages):
            width, height, jpeg = picture(number)
            page = document.new_page(width=width * 72 / DPI, height=height * 72 / DPI)
            page.insert_image(page.rect, stream=jpeg)
        document.save(path)


def picture(number: int) -> tuple[int, int, bytes]:
    """Width and height in pixels, and the JPEG file of a page."""
    rng = random.Random(number)
    width, height = (1_240, 1_754) if number % FULL == FULL - 1 else (rng.randint(200, 1_400), rng.randint(70, 300))
    pixels = np.full((height, width, 3), 255, dtype=np.uint8)
    top = 16
    for _ in range(6 if height > 300 else rng.randint(1, 2)):
        tall = rng.choice([18, 24, 32])
        if top + 2 * tall > height:
            break
        text = _text(rng, width - 40, tall / 30)
        cv2.putText(pixels, text, (20, top + tall), cv2.FONT_HERSHEY_SIMPLEX, tall / 30, (0, 0, 0), 1, cv2.LINE_AA)
        top += 2 * tall + rng.randint(0, 20)
    return width, height, cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()


def _text(rng: random.Random, most: int, scale: float) -> str:
    """Words of random letters, at least one letter and about `most` pixels wide at most."""
    letters = max(1, round(rng.uniform(0.05, 1.0) * most / (_LETTER * scale)))
    return "".join(rng.choice(_LETTERS) + (" " if rng.random() < 0.15 else "") for _ in range(letters)).strip()
