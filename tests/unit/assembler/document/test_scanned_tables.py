"""Grids of tables that were read: near cells stay apart, and a network's grid goes where the lines know better."""

import pytest

from services.assembler.document.tables import agrees, from_pieces
from services.assembler.document.text import Piece
from shared.contracts.document import Table

pytestmark = pytest.mark.unit


def row(y: float, *texts: tuple[float, float, str], confidence: float | None = 0.9) -> list[Piece]:
    """Pieces 13 points high from x0 to x1."""
    return [Piece(box=[x0, y, x1, y + 13], text=text, confidence=confidence) for x0, x1, text in texts]


def table(confidence: float | None = 0.9) -> list[Piece]:
    """Numbers set flush right, and words set flush left less than half a letter behind them."""
    head = row(328, (65, 111, "Note"), (250, 296, "Item"), (418, 463, "Owner"), confidence=confidence)
    rows = [("Bridge", "1,331", "south"), ("Works", "89.2", "closed"), ("Line", "760", "wood")]
    for n, (name, number, word) in enumerate(rows, 1):
        places = (65, 105, name), (412 - 5 * len(number), 412, number), (414, 414 + 6 * len(word), word)
        head += row(328 + 19 * n, *places, confidence=confidence)
    return head


def texts(pieces: list[Piece]) -> list[list[str]]:
    found = from_pieces(pieces, 1)
    assert found is not None
    grid = [[""] * found.num_cols for _ in range(found.num_rows)]
    for cell in found.cells:
        grid[cell.row][cell.col] = cell.text
    return grid


def test_cells_that_a_detector_parted_stay_apart() -> None:
    assert texts(table()) == [
        ["Note", "Item", "Owner"],
        ["Bridge", "1,331", "south"],
        ["Works", "89.2", "closed"],
        ["Line", "760", "wood"],
    ]


def test_words_of_a_page_that_stand_as_near_are_one() -> None:
    assert "1,331south" in [text for row in texts(table(None)) for text in row]


def grid(rows: int, cols: int) -> Table:
    return Table(num_rows=rows, num_cols=cols, cells=[], html="")


def test_lines_are_believed_unless_they_miss_columns_or_are_parts_of_cells() -> None:
    assert agrees(grid(9, 4), grid(8, 4))
    assert agrees(grid(8, 5), grid(8, 4))
    assert not agrees(grid(8, 3), grid(8, 4))
    assert not agrees(grid(16, 4), grid(8, 4)), "every cell has two lines"
