"""Rules around the head of a scanned table do not make the head a table of its own."""

import pytest

from services.layout_worker.found import FoundBox
from services.layout_worker.regions.drafts import Draft
from services.layout_worker.regions.tables import is_band
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit


def head(bbox: list[float]) -> Draft:
    return Draft(label="table", raw_label="striped", bbox=bbox, confidence=1.0, found_by="native", reason="rules")


SEEN = FoundBox(label="table", raw_label="Table", bbox=[50.0, 100.0, 550.0, 400.0], score=0.9)


def line(text: str | None) -> TextLine:
    return TextLine(bbox=[60.0, 110.0, 120.0, 122.0], text=text)


@pytest.mark.parametrize(
    ("bbox", "text", "band"),
    [
        ([50, 100, 550, 150], None, True),
        ([50, 100, 550, 390], None, False),  # nearly all of it: its rules are better than a network's box
        ([50, 60, 550, 150], None, False),  # reaches out of it
        ([50, 100, 550, 150], "Item", False),  # of a page's own rules none is overlooked
    ],
)
def test_a_head_between_rules_is_a_band_of_what_the_network_saw(
    bbox: list[float], text: str | None, band: bool
) -> None:
    assert is_band(head(bbox), SEEN, [line(text)]) is band
