"""Scanned sheets with known text, made by the script that makes the samples."""

from __future__ import annotations

import importlib.util
import io
import random
import re
import unicodedata
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pymupdf
from PIL import Image
from rapidfuzz.distance import Levenshtein

SEAL_TEXT = "示例文档处理有限公司"
SCALE = 200 / 72


class Sheet(NamedTuple):
    """A page as a scanner gives it (uint8 RGB) and the lines that were printed on it, with their boxes in its pixels."""

    picture: npt.NDArray[np.uint8]
    lines: list[tuple[str, tuple[float, float, float, float]]]


def _make() -> ModuleType:
    path = Path(__file__).parents[3] / "samples" / "make.py"
    spec = importlib.util.spec_from_file_location("samples_make", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sheet(kind: str, seed: int = 3) -> Sheet:
    """`en`: two columns; `zh`: paragraphs, a ruled table of 4 x 4, a seal."""
    make = _make()
    page = pymupdf.open().new_page(width=make.WIDTH, height=make.HEIGHT)
    rng = random.Random(seed)
    (make.english if kind == "en" else make.chinese)(page, 1, rng)
    jpeg = make.scanned(page, rng, seal=kind == "zh")
    picture = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"), dtype=np.uint8).copy()
    lines = []
    for block in page.get_text("dict")["blocks"]:
        for line in block.get("lines", []):
            text = "".join(span["text"] for span in line["spans"])
            if text.strip():
                x0, y0, x1, y1 = line["bbox"]
                lines.append((text, (x0 * SCALE, y0 * SCALE, x1 * SCALE, y1 * SCALE)))
    return Sheet(picture, lines)


def plain(text: str) -> str:
    """Compatibility forms unified, no blanks, one form of each dash and quote."""
    text = re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))
    return text.translate(str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "—": "-", "–": "-"}))


def error_rate(truth: str, read: str) -> float:
    """Edits per character of the truth."""
    return Levenshtein.distance(plain(truth), plain(read)) / len(plain(truth))
