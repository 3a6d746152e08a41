"""The scanned twin of a document: its pages as a scanner gives them, with the truth turned along.

A page is rendered at 150, 200 or 300 dpi, blurred a little, yellowed or greyed, turned by up to two degrees about its centre, made noisy
and saved as JPEG; the picture is the whole page.
"""

from __future__ import annotations

import copy
import io
import math
from random import Random

import numpy as np
import pymupdf
from PIL import Image, ImageFilter

from samples.generator.truth import Box, Cell, Document, Element, Line, Page, rounded

RESOLUTIONS = (150, 200, 200, 300)
LARGEST_ANGLE = 2.0
"""Degrees. Two in three scans are turned by less than half a degree, as feeders do."""


def scanned(pdf: bytes, truth: Document, rng: Random) -> tuple[bytes, Document]:
    """PDF of pictures, and its truth."""
    out, twin = pymupdf.open(), copy.deepcopy(truth)
    twin.name += "_scan"
    dpi = rng.choice(RESOLUTIONS)
    with pymupdf.open(stream=pdf) as source:
        for page, facts in zip(source, twin.pages, strict=True):
            angle = rng.uniform(-0.5, 0.5) if rng.random() < 2 / 3 else rng.uniform(-LARGEST_ANGLE, LARGEST_ANGLE)
            picture = _picture(page, rng, dpi, angle)
            sheet = out.new_page(width=facts.w, height=facts.h)
            sheet.insert_image(sheet.rect, stream=picture, keep_proportion=False)
            facts.kind, facts.angle, facts.dpi = "scanned", round(angle, 3), dpi
            turn(facts, angle)
    return out.tobytes(garbage=3, deflate=True, no_new_id=True), twin


def _picture(page: pymupdf.Page, rng: Random, dpi: int, angle: float) -> bytes:
    pixels = page.get_pixmap(dpi=dpi, alpha=False)
    image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
    paper = rng.choice(((255, 255, 255), (255, 255, 255), (250, 247, 238), (240, 240, 240)))
    image = image.rotate(angle, resample=Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))
    image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.2, 0.55) * dpi / 200))
    noise = np.random.default_rng(rng.randrange(2**31)).normal(0, rng.uniform(2, 7), (image.height, image.width, 1))
    grey = np.asarray(image, np.float32) * (np.asarray(paper, np.float32) / 255) + noise
    out = io.BytesIO()
    Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=rng.randint(60, 88))
    return out.getvalue()


def turn(page: Page, angle: float) -> None:
    """Turn a page's truth counter-clockwise by `angle` degrees about its centre, as the picture was; boxes are hulls again."""
    turned = _Turn(page.w, page.h, angle)
    page.distractors = [turned.box(box) for box in page.distractors]
    for element in page.elements:
        _turn_element(element, turned)


def _turn_element(element: Element, turned: _Turn) -> None:
    element.bbox = turned.box(element.bbox)
    if element.table is not None:
        for cell in element.table.cells:
            cell.bbox = turned.box(cell.bbox)
    for line in {id(line): line for line in [*element.lines, *_cell_lines(element)]}.values():
        line.quad = turned.points(line.quad)
        line.bbox = turned.clipped(
            [min(line.quad[0::2]), min(line.quad[1::2]), max(line.quad[0::2]), max(line.quad[1::2])]
        )
    if element.lines and element.table is None and element.label not in ("picture", "seal", "form_field", "checkbox"):
        element.bbox = _hull_of(element.lines)


def _cell_lines(element: Element) -> list[Line]:
    cells: list[Cell] = element.table.cells if element.table is not None else []
    return [line for cell in cells for line in cell.lines]


def _hull_of(lines: list[Line]) -> Box:
    boxes = [line.bbox for line in lines]
    return [min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)]


class _Turn:
    """A rotation about a page's centre."""

    def __init__(self, width: float, height: float, angle: float) -> None:
        self._width, self._height = width, height
        self._cos, self._sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))

    def points(self, flat: list[float]) -> list[float]:
        found = []
        for x, y in zip(flat[0::2], flat[1::2], strict=True):
            dx, dy = x - self._width / 2, y - self._height / 2
            found += [
                self._width / 2 + self._cos * dx + self._sin * dy,
                self._height / 2 - self._sin * dx + self._cos * dy,
            ]
        return rounded(found)

    def box(self, box: Box) -> Box:
        x0, y0, x1, y1 = box
        flat = self.points([x0, y0, x1, y0, x1, y1, x0, y1])
        return self.clipped([min(flat[0::2]), min(flat[1::2]), max(flat[0::2]), max(flat[1::2])])

    def clipped(self, box: Box) -> Box:
        x0, y0, x1, y1 = box
        return rounded([max(0.0, x0), max(0.0, y0), min(self._width, x1), min(self._height, y1)])
