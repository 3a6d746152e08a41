"""The grid of a scanned table out of two that say the same: the network's, and that of the lines."""

import pytest
from msgspec.structs import replace

from services.assembler.document.mended import chosen
from shared.contracts.document import Cell, Table
from shared.contracts.tables import table_of

pytestmark = pytest.mark.unit


def grid(*rows: str) -> Table:
    """Cells by rows of words; `-` is an empty one, `>` goes on with the one before, `^` with the one above, `+` is a blank."""
    cells: list[Cell] = []
    for r, row in enumerate(rows):
        for c, word in enumerate(row.split()):
            if word == ">":
                cells[-1] = replace(cells[-1], col_span=cells[-1].col_span + 1)
            elif word == "^":
                at = max(i for i, cell in enumerate(cells) if cell.col == c)
                cells[at] = replace(cells[at], row_span=cells[at].row_span + 1)
            else:
                cells.append(Cell(row=r, col=c, text="" if word == "-" else word.replace("+", " "), page_no=1))
    return table_of(cells, page_no=1)


def told(table: Table) -> list[tuple[int, int, int, int, str]]:
    return [(cell.row, cell.col, cell.row_span, cell.col_span, cell.text) for cell in table.cells if cell.text]


def test_columns_that_only_the_network_saw_and_in_which_nothing_stands_are_none() -> None:
    seen = grid("Cost A > B > >", "^ x y z - -", "Bridge 1 2 - - 3", "Works 4 5 - - 6", "^ 7 8 - - 9")
    own = grid("- A - B", "Cost x y z", "Bridge 1 2 3", "- 4 5 6", "Works 7 8 9")
    found = chosen(seen, own)
    assert found.num_cols == 4
    assert (3, 0, 2, 1, "Works") in told(found), "the network knew that a name stands beside two rows"
    assert (0, 0, 2, 1, "Cost") in told(found)
    assert (2, 3, 1, 1, "3") in told(found)


def test_a_name_between_two_rows_belongs_to_both() -> None:
    seen = grid("Name Count State", "Bridge 1 open", "Line 2 open", "- 3 shut")
    own = grid("Name Count State", "Bridge 1 open", "Line 2 open", "^ 3 shut")
    assert told(chosen(seen, own)) == told(own)
    alike = grid("Name Count State", "Bridge 1 open", "Line 2 open", "House 3 shut")
    assert chosen(alike, own) is alike, "a place that is not empty is covered by nothing"


def test_spans_that_the_lines_do_not_know_stay() -> None:
    seen = grid("Name Count", "country >", "Line 2", "^ 3")
    own = grid("Name Count", "country -", "Line 2", "- 3")
    assert told(chosen(seen, own)) == told(seen)


def test_two_rows_beside_one_name_that_the_network_took_for_one_are_two() -> None:
    seen = grid("Item State Place", "Bridge open south", "Line shut+open east+west", "Works gone -")
    own = grid("Item State Place", "Bridge open south", "Line shut east", "^ open west", "Works gone -")
    assert chosen(seen, own) is own
    once = grid("Item State Place", "Bridge open south", "Line shut+open east", "Works gone -")
    other = grid("Item State Place", "Bridge open south", "Line shut east", "^ open -", "Works gone -")
    assert chosen(once, other) is once, "one cell of two lines"


def test_texts_side_by_side_in_one_cell_are_several() -> None:
    seen = grid("Cost Year+Sum State", "Bridge+open 52 shut", "Works+wood 24 gone")
    own = grid("Cost Sum Year State", "Bridge open 52 shut", "Works wood 24 gone")
    assert chosen(seen, own) is own
    once = grid("Cost Sum Year State", "Bridge+open 52 x shut", "Works wood 24 y gone")
    assert chosen(once, grid("Cost Sum Year State -", "Bridge open 52 x shut", "Works wood 24 y gone")) is once


def test_columns_of_the_lines_that_the_network_cuts_otherwise_are_not_finer() -> None:
    seen = grid("Process Path P Q", "role+of+it x 1 2", "phase+two y 3 4")
    own = grid("Process Path P Q -", "role of+it x 1+2 -", "phase two y 3+4 -")
    assert chosen(seen, own) is seen


def test_lines_of_one_cell_stay_in_it_and_two_numbers_do_not() -> None:
    wrapped = grid("Name Count", "Bridge+Street far+away", "Works 4")
    assert chosen(wrapped, grid("Name Count", "Bridge far", "Street away", "Works 4")) is wrapped
    own = grid("Name Count", "Works 5.0", "Sum 6,558.74", "Rest 4")
    assert chosen(grid("Name Count", "Works+Sum 5.0+6,558.74", "Rest 4"), own) is own


def test_a_header_of_two_rows_is_not_one() -> None:
    seen = grid("Owner Place Owner+Item Remark Place+Price", "Bridge wool wood south 4", "Works iron wool north 5")
    own = grid(
        "Owner Owner > Place >", "^ Place Item Remark Price", "Bridge wool wood south 4", "Works iron wool north 5"
    )
    assert chosen(seen, own) is own
    plain = grid(
        "Owner Owner - Place -", "^ Place Item Remark Price", "Bridge wool wood south 4", "Works iron wool north 5"
    )
    assert chosen(seen, plain) is seen, (
        "names of two lines each are not told from two rows without a name over several columns"
    )


def test_columns_by_which_the_network_tears_words_are_none() -> None:
    seen = grid("名称 数量 場 所", "橋 1 木 材", "港 2 ガラ ス", "駅 3 開 館")
    own = grid("名称 数量 場所", "橋 1 木材", "港 2 ガラス", "駅 3 開館")
    words = ["名称", "数量", "場所", "橋", "1", "木材", "港", "2", "ガラス", "駅", "3", "開館"]
    assert chosen(seen, own, words) is own
    assert chosen(seen, own, words[:6]) is seen, "two words may be a slip"
