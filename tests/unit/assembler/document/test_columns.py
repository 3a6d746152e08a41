"""Columns of text are no table, and tables are no columns of text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from services.assembler.document.columns import of_text
from services.assembler.document.text import Piece
from tests.support import pages as make

pytestmark = pytest.mark.unit

LINE = "the lines of this text run on and on"


def column(x: float, y: float, count: int, pitch: float = 13.0, text: str = LINE, width: float = 170) -> list[Piece]:
    return [
        Piece(box=[x, y + pitch * n, x + width, y + pitch * n + 12], text=text, font_size=10.0) for n in range(count)
    ]


def test_three_columns_of_lines_are_columns() -> None:
    found = of_text([*column(60, 100, 12), *column(250, 106, 12), *column(440, 103, 11)])
    assert [len(lines) for lines in found] == [12, 12, 11]


def test_columns_of_long_words_set_ragged_are_columns() -> None:
    ragged = [
        replace(line, box=[line.box[0], line.box[1], line.box[0] + (110 if n % 10 in (0, 4, 7) else 170), line.box[3]])
        for x in (60, 250, 440)
        for n, line in enumerate(column(x, 100, 20, pitch=11.2))
    ]
    assert [len(lines) for lines in of_text(ragged)] == [20, 20, 20]


def test_a_line_over_all_is_alone() -> None:
    over = Piece(box=[60, 60, 600, 72], text="over all", font_size=10.0)
    assert of_text([*column(60, 100, 12), over, *column(250, 106, 12)])[-1] == [over]


@pytest.mark.parametrize("pitch", [13.0, 18.0])
def test_short_cells_are_a_table(pitch: float) -> None:
    parts = [column(60 + 90 * n, 100, 12, pitch, "north", 40) for n in range(4)]
    assert of_text([piece for part in parts for piece in part]) == []


def test_cells_of_prose_with_white_between_their_rows_are_a_table() -> None:
    rows = [column(x, 100 + 50 * n, 3) for n in range(6) for x in (60, 250, 440)]
    assert of_text([piece for row in rows for piece in row]) == []


def test_a_region_that_is_columns_becomes_paragraphs_in_their_order() -> None:
    left = [f"left {n} of the lines of this text that run on" for n in range(8)]
    right = [f"right {n} of the lines of this text that run" for n in range(8)]
    lines = [*make.lines(60, 100, left, pitch=13, width=220), *make.lines(320, 103, right, pitch=13, width=220)]
    blocks = make.page(make.layout([make.region(0, "table", lines)])).blocks
    assert [block.label for block in blocks] == ["text"] * len(blocks)
    assert " ".join(block.text for block in blocks) == " ".join([*left, *right])
