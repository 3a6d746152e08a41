"""Pictures on pages: photos (soft random shapes), charts (drawn, with words in them) and red logos, which are no seals."""

from __future__ import annotations

import io
from random import Random
from typing import Any

import numpy as np
import pymupdf
from PIL import Image, ImageDraw, ImageFilter

from samples.generator import fonts
from samples.generator.sheet import Color, Sheet
from samples.generator.truth import Box, Element, Line
from samples.generator.words import Words

PALETTE: tuple[Color, ...] = ((0.2, 0.4, 0.65), (0.85, 0.5, 0.15), (0.35, 0.6, 0.35), (0.5, 0.4, 0.6), (0.6, 0.6, 0.6))
LABEL = 7.5
"""Size of the words in a chart, points."""


def photo(sheet: Sheet, rng: Random, box: Box, *, red: bool = False, **facts: Any) -> Element:
    """A photo; `red` ones are of apples, so to speak."""
    width, height = int(box[2] - box[0]), int(box[3] - box[1])
    noise = np.random.default_rng(rng.randrange(2**31))
    coarse = noise.integers(60, 215, (5, 6, 3), dtype=np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    for _ in range(rng.randint(6, 14)):
        x, y, r = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0.05, 0.22) * min(width, height)
        color = (rng.randint(170, 215), rng.randint(20, 60), rng.randint(20, 60)) if red else _any_color(rng)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=color)
    image = image.filter(ImageFilter.GaussianBlur(1.5))
    grain = np.asarray(image, np.int16) + noise.normal(0, 6, (height, width, 1)).astype(np.int16)
    out = io.BytesIO()
    Image.fromarray(np.clip(grain, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=85)
    sheet.image(box, out.getvalue())
    if red:
        sheet.truth.distractors.append(list(box))
    return sheet.add("picture", bbox=box, **facts)


def chart(sheet: Sheet, rng: Random, box: Box, words: Words, **facts: Any) -> Element:
    """Bars or a curve over two axes, with names and numbers."""
    how, x0, y1 = fonts.face("helvetica"), box[0] + 28, box[3] - 16
    lines: list[Line] = []
    sheet.rule(x0, box[1], x0, y1)
    sheet.rule(x0, y1, box[2], y1)
    for step in range(4):
        y = y1 - step * (y1 - box[1] - 10) / 3
        sheet.rule(x0 - 3, y, x0, y)
        lines.append(sheet.text(box[0], y + 2.5, f"{step * 25}", how, LABEL))
    count = rng.randint(4, 6)
    pitch = (box[2] - x0 - 10) / count
    values = [rng.uniform(0.15, 0.95) for _ in range(count)]
    bars = rng.random() < 0.6
    points = []
    for index, value in enumerate(values):
        left, y = x0 + 8 + index * pitch, y1 - value * (y1 - box[1] - 8)
        if bars:
            sheet.box([left, y, left + pitch * 0.6, y1], fill=rng.choice(PALETTE), color=None)
        points.append(pymupdf.Point(left + pitch * 0.3, y))
        name = rng.choice(words.cells)
        if fonts.width(name, how, LABEL) < pitch * 0.95:
            lines.append(sheet.text(left, y1 + 11, name, how, LABEL))
    if not bars:
        sheet.page.draw_polyline(points, color=PALETTE[0], width=1.4)
    return sheet.add("picture", lines, [box[0], box[1] - 1, box[2], box[3]], **facts)


def logo(sheet: Sheet, rng: Random, x: float, y: float, size: float) -> Element:
    """A red sign of a company: a filled shape with white letters."""
    box = [x, y, x + size, y + size]
    red = (rng.uniform(0.7, 0.9), rng.uniform(0.05, 0.2), rng.uniform(0.08, 0.2))
    if rng.random() < 0.5:
        sheet.page.draw_circle((x + size / 2, y + size / 2), size / 2, color=None, fill=red)
    else:
        sheet.page.draw_rect(pymupdf.Rect(box), color=None, fill=red, radius=0.2)
    letters = rng.choice(("N", "EB", "Q", "AW"))
    how, height = fonts.face("helvetica", "bold"), size * 0.4
    wide = fonts.width(letters, how, height)
    line = sheet.text(x + (size - wide) / 2, y + size / 2 + height * 0.36, letters, how, height, color=(1, 1, 1))
    sheet.truth.distractors.append(list(box))
    return sheet.add("picture", [line], box)


def _any_color(rng: Random) -> tuple[int, int, int]:
    return (rng.randint(30, 220), rng.randint(30, 220), rng.randint(30, 220))
