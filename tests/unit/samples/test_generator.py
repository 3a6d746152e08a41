"""The generator's own promise: the same bytes for a seed, and a truth that is where the ink is."""

from __future__ import annotations

import io
import re

import msgspec
import numpy as np
import pymupdf
import pytest
from PIL import Image

from samples.generator import Made, generate
from samples.generator.book import make
from samples.generator.templates import TEMPLATES
from samples.generator.truth import Element, Line

SEED = 5


@pytest.fixture(scope="module")
def made() -> list[Made]:
    """One document of each template."""
    return [make(template, SEED, index) for index, template in enumerate(TEMPLATES)]


def ink(pdf: bytes, page: int, scale: float = 2.0) -> np.ndarray:
    with pymupdf.open(stream=pdf) as document:
        pixels = document[page].get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
    grey = np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, 3).min(axis=2).astype(int)
    return np.abs(grey - np.median(grey)) > 50


def spans(page: pymupdf.Page) -> list[tuple[str, str]]:
    """Font and text; ticks of check boxes are set in ZapfDingbats and are no text."""
    blocks = page.get_text("dict")["blocks"]
    return [(s["font"], s["text"]) for b in blocks for line in b.get("lines", []) for s in line["spans"]]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_a_seed_gives_the_same_bytes() -> None:
    first, second = (list(generate(11, 2, scan=True, templates=("form", "letter"))) for _ in range(2))
    assert [m.pdf for m in first] == [m.pdf for m in second]
    assert msgspec.json.encode([m.truth for m in first]) == msgspec.json.encode([m.truth for m in second])
    other = list(generate(12, 1, templates=("form",)))
    assert first[0].pdf != other[0].pdf


def test_a_longer_run_begins_with_the_shorter_one() -> None:
    short, long = list(generate(11, 1)), list(generate(11, 4))
    assert long[0].pdf == short[0].pdf
    assert sum(len(m.truth.pages) for m in long) >= 4


def test_an_unknown_template_is_named() -> None:
    with pytest.raises(ValueError, match="no template"):
        next(generate(1, 1, templates=("poem",)))


def test_everything_lies_on_its_page_and_inside_its_element(made: list[Made]) -> None:
    for document in made:
        for page in document.truth.pages:
            for element in page.elements:
                x0, y0, x1, y1 = element.bbox
                assert 0 <= x0 < x1 <= page.w, (document.truth.name, element.label, element.bbox)
                assert 0 <= y0 < y1 <= page.h, (document.truth.name, element.label, element.bbox)
                for line in element.lines:
                    assert len(line.edges) == len(line.text) + 1
                    assert inside(line, element), (document.truth.name, element.label, line.text)


def inside(line: Line, element: Element) -> bool:
    a, b = line.bbox, element.bbox
    return a[0] >= b[0] - 1 and a[1] >= b[1] - 1 and a[2] <= b[2] + 1 and a[3] <= b[3] + 1


def test_every_native_character_is_in_the_truth_and_the_other_way_round(made: list[Made]) -> None:
    for document in made:
        with pymupdf.open(stream=document.pdf) as pdf:
            for index, page in enumerate(document.truth.pages):
                printed = squeezed("".join(text for font, text in spans(pdf[index]) if font != "ZapfDingbats"))
                true = squeezed("".join(line.text for element in page.elements for line in element.lines))
                assert sorted(printed) == sorted(true), document.truth.name


def test_ink_is_where_the_truth_says_and_nowhere_else(made: list[Made]) -> None:
    scale = 2.0
    for document in made:
        for index, page in enumerate(document.truth.pages):
            seen = ink(document.pdf, index, scale)
            for element in page.elements:
                for line in element.lines:
                    x0, y0, x1, y1 = (int(value * scale) for value in line.bbox)
                    assert seen[y0 : y1 + 1, x0 : x1 + 1].any(), (document.truth.name, line.text)
            known = np.zeros_like(seen)
            for element in page.elements:
                x0, y0, x1, y1 = element.bbox
                known[int((y0 - 3) * scale) : int((y1 + 3) * scale), int((x0 - 3) * scale) : int((x1 + 3) * scale)] = (
                    True
                )
            # Rules between parts and grounds of code are drawn outside: thin or pale.
            assert (seen & ~known).sum() < 0.004 * seen.size, document.truth.name


def test_a_scan_turns_its_truth_along() -> None:
    found = list(generate(21, 3, scan=True, templates=("tables", "vertical", "smallprint")))
    twins = [m for m in found if m.truth.name.endswith("_scan")]
    assert len(twins) * 2 == len(found)
    dark = total = 0
    for twin in twins:
        with pymupdf.open(stream=twin.pdf) as pdf:
            for index, page in enumerate(twin.truth.pages):
                assert page.kind == "scanned"
                image = pdf[index].get_images()[0]
                picture = np.asarray(Image.open(io.BytesIO(pdf.extract_image(image[0])["image"])).convert("L"), int)
                seen, scale = picture < np.median(picture) - 60, picture.shape[1] / page.w
                for line in (line for element in page.elements for line in element.lines if element.label == "text"):
                    x0, y0, x1, y1 = (int(value * scale) for value in line.bbox)
                    dark += bool(seen[y0:y1, x0:x1].mean() > 0.04)
                    total += 1
    assert total > 30
    assert dark == total


def test_links_point_to_what_is_there(made: list[Made]) -> None:
    for document in made:
        ids = {element.id for page in document.truth.pages for element in page.elements}
        for page in document.truth.pages:
            for element in page.elements:
                assert element.target is None or element.target in ids
                assert element.continues is None or element.continues in ids
                assert element.label != "caption" or element.target is not None, document.truth.name
                assert element.label != "footnote" or element.target is not None


def test_tables_fill_their_grid_once(made: list[Made]) -> None:
    tables = [e.table for m in made for p in m.truth.pages for e in p.elements if e.table is not None]
    assert len(tables) > 5
    for table in tables:
        covered = [
            (row, col)
            for cell in table.cells
            for row in range(cell.row, cell.row + cell.row_span)
            for col in range(cell.col, cell.col + cell.col_span)
        ]
        assert sorted(covered) == [(row, col) for row in range(table.num_rows) for col in range(table.num_cols)]
