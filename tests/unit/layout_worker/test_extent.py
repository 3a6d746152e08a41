"""How far a table without a grid reaches."""

import pytest

from services.layout_worker.tables.extent import extent
from shared.contracts.layout import TextLine
from shared.documents.page import FilledBox, Rule

pytestmark = pytest.mark.unit

CELLS = [
    TextLine(bbox=[80.0 + 100 * c, 104.0 + 18 * r, 120.0 + 100 * c, 115.0 + 18 * r], text="cell")
    for r in range(4)
    for c in range(3)
]
SEEN = [60.0, 90.0, 400.0, 190.0]


def across(y, x0=75.0, x1=330.0):
    return Rule(bbox=[x0, y - 0.3, x1, y + 0.3], horizontal=True)


def test_a_table_without_ink_ends_with_its_text():
    assert extent(SEEN, CELLS, [], []) == [80.0, 104.0, 320.0, 169.0]


def test_its_rules_and_coloured_rows_belong_to_it():
    assert extent(SEEN, CELLS, [across(100), across(172)], []) == pytest.approx([75, 99.7, 330, 172.3])
    head = FilledBox(bbox=[70, 101, 500, 118], color="#cc1f24")
    assert extent(SEEN, CELLS, [], [head]) == [70, 101, 500, 169.0]


def test_what_is_not_near_or_much_wider_does_not():
    others = [across(60), across(300), across(172, 20.0, 600.0)]
    assert extent(SEEN, CELLS, others, []) == [80.0, 104.0, 320.0, 169.0]
