"""Equations and their numbers."""

import pytest

from services.layout_worker.regions import formulas
from services.layout_worker.regions.drafts import Draft
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit


def draft(label, x0, x1, text, y0=100.0):
    bbox = [x0, y0, x1, y0 + 12.0]
    one = TextLine(bbox=bbox, text=text)
    return Draft(label=label, raw_label=label, bbox=bbox, confidence=0.9, found_by="model", lines=[one])


def labels(drafts):
    return [(one.label, " ".join(line.text for line in one.lines)) for one in formulas.with_numbers(drafts)]


def test_the_number_of_an_equation_belongs_to_it():
    found = formulas.with_numbers([draft("formula", 120, 220, "a"), draft("text", 280, 292, "(3)")])
    assert [(one.label, one.bbox) for one in found] == [("formula", [120, 100.0, 292, 112.0])]


@pytest.mark.parametrize("label", ["text", "section_header"])
def test_signs_with_a_number_are_an_equation(label):
    assert labels([draft(label, 120, 220, "P = 2π r (h + r) / 3"), draft("text", 280, 292, "（12）")]) == [
        ("formula", "P = 2π r (h + r) / 3 （12）")
    ]


@pytest.mark.parametrize(
    "drafts",
    [
        [draft("text", 120, 220, "the second of the three harbours"), draft("text", 280, 292, "(3)")],
        [draft("text", 120, 220, "price = value of the ship"), draft("text", 280, 292, "(3)")],
        [draft("formula", 120, 220, "a = b"), draft("text", 280, 340, "(see there)")],
        [draft("formula", 120, 220, "a = b", 80.0), draft("text", 280, 292, "(3)")],
        [draft("formula", 320, 420, "a = b"), draft("text", 280, 292, "(3)")],
    ],
    ids=["words", "words with a sign", "no number", "another row", "left of it"],
)
def test_what_stays_apart(drafts):
    assert formulas.with_numbers(drafts) == drafts
