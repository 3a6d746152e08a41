"""Vertical text: its boxes lie on its ink, and a column is a line."""

import numpy as np
import pymupdf
import pytest

from samples.generator import generate
from shared.documents.page import PageCall
from shared.documents.pdf import PdfFile
from shared.settings import Limits

pytestmark = pytest.mark.unit

SCALE = 3.0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A generated page of vertical text, and its file."""
    made = next(iter(generate(5, 1, scan=False, templates=("vertical",))))
    path = tmp_path_factory.mktemp("vertical") / "page.pdf"
    path.write_bytes(made.pdf)
    return made, path


def vertical_lines(path):
    answer, _ = PdfFile(path, None, Limits()).open_page(PageCall(path=str(path), mime_type="", page_no=1, dpi=72))
    return [line for line in answer.page.lines if line.vertical]


def test_a_column_of_the_page_is_one_line(made):
    truth = [line for element in made[0].truth.pages[0].elements for line in element.lines if line.vertical]
    assert sorted(line.text for line in vertical_lines(made[1])) == sorted(line.text for line in truth)


def test_boxes_of_vertical_text_lie_on_its_ink(made):
    with pymupdf.open(made[1]) as document:
        drawn = document[0].get_pixmap(matrix=pymupdf.Matrix(SCALE, SCALE), colorspace=pymupdf.csGRAY)
    ink = np.frombuffer(drawn.samples, dtype=np.uint8).reshape(drawn.h, drawn.stride)[:, : drawn.w] < 128
    for line in vertical_lines(made[1]):
        x0, y0, x1, y1 = line.bbox
        left, right = round((x0 - 1) * SCALE), round((x1 + 1) * SCALE)
        # From half a character above to half a character below: the ink there must be the line's own, inside its box.
        around = line.font_size / 2
        top = max(0, round((y0 - around) * SCALE))
        rows = np.flatnonzero(ink[top : round((y1 + around) * SCALE), left:right].any(axis=1)) + top
        assert rows.min() / SCALE >= y0 - 0.5, line.text
        assert rows.max() / SCALE <= y1 + 0.5, line.text
        if line.text[0].isalpha() and line.text[-1].isalpha():  # a full stop fills only a corner of its square
            assert rows.min() / SCALE <= y0 + 0.4 * line.font_size, line.text
            assert rows.max() / SCALE >= y1 - 0.4 * line.font_size, line.text
