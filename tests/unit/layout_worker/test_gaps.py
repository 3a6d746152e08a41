"""Wide white in detected lines: where a table's line is cut."""

import cv2
import numpy as np
import pytest

from services.layout_worker.found import FoundBox
from services.layout_worker.regions.drafts import Drawn, Piece
from services.layout_worker.regions.regions import build
from services.layout_worker.tables.cells import at_gaps
from services.layout_worker.tables.gaps import find_gaps, percentiles
from services.layout_worker.tables.strokes import slope_of
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit

QUAD = [20.0, 20, 380, 20, 380, 60, 20, 60]


def paper(*texts: tuple[int, str]):
    """A white strip of 400 x 80 pixels with capitals of 22 pixels in the line `QUAD`, each text from its x."""
    page = np.full((80, 400), 240, dtype=np.uint8)
    for x, text in texts:
        cv2.putText(page, text, (x, 51), cv2.FONT_HERSHEY_SIMPLEX, 1.0, 30, 3)
    return page


def test_white_between_two_cells_is_found_where_it_is():
    [(begin, end)] = find_gaps(paper((24, "SUED"), (240, "12.4")), QUAD)
    assert 100 < 20 + 360 * begin < 140
    assert 225 < 20 + 360 * end < 243


def test_blanks_between_words_are_none():
    assert find_gaps(paper((24, "IN REPAIR AT")), QUAD) == []


def typed(*texts: tuple[int, str], step: int = 25):
    """As `paper`, in print of fixed width: each letter in the middle of its `step`."""
    letters = [(x + step * at, letter) for x, text in texts for at, letter in enumerate(text) if letter != " "]
    widths = {letter: cv2.getTextSize(letter, cv2.FONT_HERSHEY_SIMPLEX, 1.0, 3)[0][0] for _, letter in letters}
    return paper(*((x + (step - widths[letter]) // 2, letter) for x, letter in letters))


@pytest.mark.parametrize("text", ["$7.95", "$21.40", "Vermilion"])
def test_letters_of_fixed_width_stand_apart_and_are_one_text(text):
    assert find_gaps(typed((24, text)), QUAD) == []


def test_two_cells_in_print_of_fixed_width_are_two():
    [(begin, end)] = find_gaps(typed((24, "SUED"), (230, "12.40")), QUAD)
    assert 115 < 20 + 360 * begin < 140
    assert 215 < 20 + 360 * end < 240


def test_a_rule_between_cells_is_no_text():
    page = paper((24, "SUED"), (240, "12.4"))
    page[:, 180:182] = 30
    assert len(find_gaps(page, QUAD)) == 1


def test_a_narrow_digit_is_text():
    gaps = find_gaps(paper((24, "SUED"), (180, "1"), (300, "12")), QUAD)
    assert len(gaps) == 2


def test_bare_paper_has_no_gaps():
    assert find_gaps(paper(), QUAD) == []


def line(x0: float, x1: float, y: float) -> TextLine:
    return TextLine(bbox=[x0, y, x1, y + 12], quad=[x0, y, x1, y, x1, y + 12, x0, y + 12])


def test_a_cut_line_has_no_white_in_its_parts():
    left, right = at_gaps(line(100, 200, 50), [[0.3, 0.5]])
    assert (left.bbox, right.bbox) == ([100, 50, 130, 62], [150, 50, 200, 62])
    assert right.quad is not None
    assert right.quad[:2] == [150, 50]


@pytest.mark.parametrize(("label", "lines"), [("table", 6), ("text", 3)])
def test_lines_are_cut_in_tables_alone(label, lines):
    box = FoundBox(label=label, raw_label=label, bbox=[95, 45, 305, 120], score=0.9)
    pieces = [Piece(line(100, 300, y), gaps=[[0.4, 0.6]]) for y in (50, 70, 90)]
    drafts = build([box], Drawn(), pieces, 600, 800, detected=True, max_regions=50)
    assert sum(len(draft.lines) for draft in drafts) == lines


def quads(*edges: tuple[float, float]) -> list[list[float]]:
    """Lines 40 pixels high of these lengths whose upper edges fall by so many pixels."""
    return [[0, 0, length, fall, length, fall + 40, 0, 40] for length, fall in edges]


def test_short_lines_do_not_say_that_a_page_is_level():
    assert slope_of(quads(*[(210, 0)] * 5, (1500, 15), (1400, 14))) == pytest.approx(0.01)


def test_ink_says_it_where_lines_are_few():
    assert slope_of(quads((210, 0)), by_ink=0.005) == pytest.approx(0.005)
    assert slope_of([], by_ink=0.005) == pytest.approx(0.005)
    assert slope_of([], by_ink=0.2) == 0.0


def test_percentiles_are_those_of_numpy():
    random = np.random.default_rng(3)
    for size in (1, 2, 7, 400, 9_600):
        grey = random.integers(0, 256, size, dtype=np.uint8).reshape(1, size)
        assert percentiles(grey, 2, 50, 75) == pytest.approx(np.percentile(grey, [2, 50, 75]).tolist())
