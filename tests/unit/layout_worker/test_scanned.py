"""Ruling lines of a whole scanned page: tables that the network missed have their grids."""

import cv2
import numpy as np
import pytest

from services.layout_worker.found import Strokes
from services.layout_worker.tables import scanned
from services.layout_worker.tables.strokes import find_strokes
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit

XS, YS = (200, 500, 800, 1100), (300, 350, 400, 450)
SCALE = (2.0, 2.0)


def strokes(slope: float = 0.0) -> Strokes:
    """What is found on a page of 1400 x 1000 pixels with a table of 3 x 3 cells whose rules fall by `slope`."""
    page = np.full((1000, 1400, 3), 245, dtype=np.uint8)

    def at(x: float, y: float) -> tuple[int, int]:
        return round(x - slope * (y - 500)), round(y + slope * (x - 700))

    for y in YS:
        cv2.line(page, at(XS[0], y), at(XS[-1], y), (40, 40, 40), 2)
    for x in XS:
        cv2.line(page, at(x, YS[0]), at(x, YS[-1]), (40, 40, 40), 2)
    found = find_strokes(page, [0.0, 0.0, 1400.0, 1000.0], slope)
    assert found is not None
    return found


@pytest.mark.parametrize("ground", [(200, 28, 32), (32, 60, 160), (30, 120, 60), (190, 190, 190)])
def test_rules_at_the_edge_of_a_coloured_ground_are_rules(ground: tuple[int, int, int]) -> None:
    """The names of the columns, white on their own ground, stand between two rules like all other rows."""
    page = np.full((1000, 1400, 3), 245, dtype=np.uint8)
    cv2.rectangle(page, (XS[0], YS[0]), (XS[-1], YS[1]), ground, -1)
    for x in XS[:-1]:
        cv2.putText(page, "Price", (x + 20, YS[1] - 16), cv2.FONT_HERSHEY_SIMPLEX, 0.9, (250, 250, 250), 3)
    for y in YS:
        cv2.line(page, (XS[0], y), (XS[-1], y), (40, 40, 40), 2)
    for x in XS:
        cv2.line(page, (x, YS[0]), (x, YS[-1]), (40, 40, 40), 2)
    page = cv2.GaussianBlur(page, (3, 3), 0)
    found = find_strokes(page, [0.0, 0.0, 1400.0, 1000.0], 0.0)
    assert found is not None
    long = sorted((y0 + y1) / 2 for x0, y0, x1, y1 in found.across if x1 - x0 > 800)
    assert long == pytest.approx(list(YS), abs=4)


def words(slope: float = 0.0, outside: int = 0) -> list[TextLine]:
    """A line in each cell, in points, and some below the table."""
    places = [(x + 60, y + 25) for y in YS[:-1] for x in XS[:-1]]
    places += [(400, 500 + 30 * n) for n in range(outside)]
    boxes = []
    for x, y in places:
        px, py = (x - slope * (y - 500)) / 2, (y + slope * (x - 700)) / 2
        boxes.append(TextLine(bbox=[px - 20, py - 6, px + 20, py + 6]))
    return boxes


@pytest.mark.parametrize("slope", [0.0, 0.01, -0.02])
def test_a_table_that_nobody_boxed_has_its_grid(slope):
    [table] = scanned.grids([strokes(slope)], words(slope), SCALE, 1.0)
    assert (table.rows, table.cols) == (3, 3)
    assert table.grid.slope == pytest.approx(slope)
    middle = [(table.bbox[0] + table.bbox[2]) / 2, (table.bbox[1] + table.bbox[3]) / 2]
    assert middle == pytest.approx([325 - slope * -62.5, 187.5 + slope * -25], abs=2)


def test_a_grid_that_is_a_part_of_what_the_network_saw_is_none():
    table = [90.0, 140.0, 560.0, 480.0]
    assert len(scanned.grids([strokes()], words(outside=2), SCALE, 1.0, [table])) == 1
    assert scanned.grids([strokes()], words(outside=9), SCALE, 1.0, [table]) == []
    elsewhere = [90.0, 240.0, 560.0, 480.0]
    assert len(scanned.grids([strokes()], words(outside=9), SCALE, 1.0, [elsewhere])) == 1


@pytest.mark.parametrize("slope", [0.0, 0.02])
def test_rules_stand_where_they_are_on_the_page(slope):
    found = scanned.rules([strokes(slope)], words(slope), SCALE, 1.0)
    across = sorted((rule.bbox[1] + rule.bbox[3]) / 2 for rule in found if rule.horizontal)
    assert across == pytest.approx([y / 2 + slope * -25 for y in YS], abs=2)
    assert sum(not rule.horizontal for rule in found) == 4


def entries(box: list[list[float]]) -> list[TextLine]:
    """Lines at boxes in pixels."""
    return [TextLine(bbox=[x0 / 2, y0 / 2, x1 / 2, y1 / 2]) for x0, y0, x1, y1 in box]


def dotted(ys: tuple[int, ...], begin: int = 300, end: int = 1000) -> Strokes:
    """What is found on a page with rows of dots: four pixels of ink, four of paper."""
    page = np.full((1000, 1400, 3), 245, dtype=np.uint8)
    for y in ys:
        for x in range(begin, end, 8):
            page[y : y + 4, x : x + 4] = 30
    found = find_strokes(page, [0.0, 0.0, 1400.0, 1000.0], 0.0)
    assert found is not None
    return found


ENTRIES = (200, 250, 300, 350)


@pytest.mark.parametrize(
    ("title", "number"), [((100, 290), (1010, 1050)), ((100, 1050), (100, 1050)), ((100, 1000), (1010, 1050))]
)
def test_dots_that_lead_to_a_page_are_no_rules(title: tuple[int, int], number: tuple[int, int]):
    """Lines end before the dots, hold them with the number, or without it."""
    lines = entries([[x0, y - 26, x1, y + 6] for y in ENTRIES for x0, x1 in {title, number}])
    assert scanned.rules([dotted(ENTRIES)], lines, SCALE, 1.0) == []


def test_dotted_rules_of_a_table_are_rules():
    lines = entries([[x, y + 10, x + 150, y + 42] for y in ENTRIES[:-1] for x in (320, 600, 820)])
    assert len(scanned.rules([dotted(ENTRIES)], lines, SCALE, 1.0)) == len(ENTRIES)


def test_dots_to_be_written_on_are_rules():
    lines = entries([[100, y - 26, 290, y + 6] for y in ENTRIES])
    assert len(scanned.rules([dotted(ENTRIES)], lines, SCALE, 1.0)) == len(ENTRIES)
