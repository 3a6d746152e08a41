"""Notes beside a text that one box of the network holds."""

import pytest

from services.layout_worker.regions import asides
from services.layout_worker.regions.style import Style
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit

STYLE = Style(size=10.0)


def line(x0, y0, width, size=10.0, text="some words of a line"):
    return TextLine(bbox=[x0, y0, x0 + width, y0 + 1.2 * size], text=text, font_size=size)


BODY = [line(72, 100 + 14 * i, 340.0) for i in range(6)]


def test_small_lines_right_of_the_text_are_notes_in_groups():
    near, far = [line(430, 100, 60, 8), line(430, 110, 60, 8)], [line(430, 160, 40, 8)]
    assert asides.parted([*BODY, *near, *far], STYLE) == (BODY, [near, far])


@pytest.mark.parametrize(
    "others",
    [
        [line(430, 100, 60)],
        [line(380, 160, 60, 8)],
        [line(430, 100 + 10 * i, 90, 8, "a long note that says more than the text does itself") for i in range(9)],
    ],
    ids=["of the usual size", "under the text", "more than the text"],
)
def test_what_is_no_note(others):
    assert asides.parted([*BODY, *others], STYLE) == ([*BODY, *others], [])
