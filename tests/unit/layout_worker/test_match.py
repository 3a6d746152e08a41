"""What trusted text covers is not read again; what nobody sees otherwise is."""

import pytest

from services.layout_worker.found import FoundLine
from services.layout_worker.trust.match import overlooked, unread
from shared.contracts.layout import TextLine

pytestmark = pytest.mark.unit

SCALE = 200 / 72


def found(x0, y0, x1, y1, tilt=0.0):
    """A detected line given in points, as a quad in pixels; the right end lies `tilt` points lower."""
    corners = [x0, y0, x1, y0 + tilt, x1, y1 + tilt, x0, y1]
    return FoundLine(quad=[v * SCALE for v in corners], score=0.9)


def native(x0, y0, x1, y1):
    return TextLine(bbox=[x0, y0, x1, y1], text="native")


def boxes(pieces):
    return [[round(v) for v in piece.line.bbox] for piece in pieces]


def test_a_line_that_trusted_text_covers_is_not_read():
    assert unread([found(48, 98, 302, 114)], [native(50, 100, 300, 112)], SCALE, SCALE) == []


def test_a_line_that_many_words_cover_is_not_read():
    words = [native(50 + 50 * i, 100, 95 + 50 * i, 112) for i in range(5)]
    assert unread([found(48, 98, 298, 114)], words, SCALE, SCALE) == []


def test_a_line_of_its_own_is_read_whole():
    (piece,) = unread([found(50, 200, 300, 214)], [native(50, 100, 300, 112)], SCALE, SCALE)
    assert [round(v) for v in piece.line.bbox] == [50, 200, 300, 214]
    assert piece.line.text is None
    assert piece.line.quad == [round(v * SCALE, 1) for v in (50, 200, 300, 200, 300, 214, 50, 214)]
    assert piece.line.confidence == 0.9


def test_only_the_uncovered_stretch_of_a_line_is_read():
    pieces = unread([found(50, 100, 500, 114)], [native(50, 101, 150, 113), native(280, 101, 300, 113)], SCALE, SCALE)
    assert boxes(pieces) == [[150, 100, 280, 114], [300, 100, 500, 114]]


def test_a_cut_follows_the_slope_of_the_line():
    (piece,) = unread([found(100, 100, 500, 114, tilt=8)], [native(100, 100, 300, 116)], SCALE, SCALE)
    x0, y0, x1, y1 = (round(v / SCALE, 1) for v in piece.line.quad[:4])
    assert (x0, y0, x1, y1) == (300.0, 104.0, 500.0, 108.0)


def test_slivers_at_the_ends_are_not_read():
    assert unread([found(38, 98, 312, 114)], [native(50, 100, 300, 112)], SCALE, SCALE) == []


def test_a_column_is_vertical():
    (piece,) = unread([found(50, 100, 64, 300)], [], SCALE, SCALE)
    assert piece.line.vertical


def test_untrusted_text_that_nobody_detected_is_read_where_it_stands():
    lines = [TextLine(bbox=[50, 100, 300, 112]), TextLine(bbox=[50, 120, 300, 132])]
    seen = unread([found(48, 98, 302, 114)], [], SCALE, SCALE)
    (piece,) = overlooked(lines, seen, SCALE, SCALE)
    assert piece.line.bbox == [50, 120, 300, 132]
    assert piece.line.quad[:2] == [round(50 * SCALE, 1), round(120 * SCALE, 1)]
