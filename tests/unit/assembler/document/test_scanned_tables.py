"""Grids of tables that were read: near cells stay apart, and a caption in their box is their caption."""

import pytest

from services.assembler.document.regions import blocks_of
from services.assembler.document.tables import from_pieces, holds
from services.assembler.document.text import Piece
from shared.contracts.document import Cell, Table
from shared.contracts.layout import PageLayout, ReadLine, Region, RegionReading

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


def test_cells_whose_boxes_overlap_by_a_third_of_their_height_stay_apart() -> None:
    head = row(176, (120, 141, "Name"), (269, 292, "a"), (437, 461, "b"))
    near = [
        one
        for n in range(4)
        for one in row(195 + 17 * n, (120, 150, f"n{n}"), (410, 443, f"{n}15"), (437, 461, f"w{n}"))
    ]
    assert texts([*head, *near])[1:] == [[f"n{n}", f"{n}15", f"w{n}"] for n in range(4)]


def test_a_complete_grid_of_lines_is_right_whatever_rows_the_network_imagined() -> None:
    cells = [(60 + 100 * c, 100 + 20 * r) for r in range(5) for c in range(4)]
    lines = [ReadLine(bbox=[x, y, x + 40, y + 14], text=f"{x}.{y}", confidence=0.9) for x, y in cells]
    seen = Table(num_rows=6, num_cols=4, cells=[Cell(row=0, col=0, col_span=4, text="60.100", page_no=1)], html="")
    region = Region(
        region_id="p00001-r000", label="table", raw_label="aligned", bbox=[55, 95, 410, 200], confidence=0.9,
        found_by="leftover", read_by="rec", route="structure",
    )  # fmt: skip
    reading = RegionReading(region_id=region.region_id, method="det_rec", lines=lines, table=seen)
    layout = PageLayout(document_id="d", generation=0, page_no=1, width=600, height=800, unit="pt", kind="scanned")
    (block,) = blocks_of(region, reading, layout)
    assert block.table is not None
    assert (block.table.num_rows, block.table.num_cols, len(block.table.cells)) == (5, 4, 20)


def read_table(lines: list[ReadLine], seen: Table) -> Table:
    """The table of a region that was read as these lines, in which the network saw that grid."""
    region = Region(
        region_id="p00001-r000", label="table", raw_label="striped", bbox=[55, 95, 410, 300], confidence=0.9,
        found_by="native", read_by="rec", route="structure",
    )  # fmt: skip
    reading = RegionReading(region_id=region.region_id, method="det_rec", lines=lines, table=seen)
    layout = PageLayout(document_id="d", generation=0, page_no=1, width=600, height=800, unit="pt", kind="scanned")
    (block,) = blocks_of(region, reading, layout)
    assert block.table is not None
    return block.table


def line(x: float, y: float, text: str) -> ReadLine:
    return ReadLine(bbox=[x, y, x + 40, y + 14], text=text, confidence=0.9)


def test_own_text_that_came_through_a_reader_keeps_its_height() -> None:
    """Its boxes are its letters': a short number that one line has with the word beside it is parted from that as before."""
    head = row(416, (71, 126, "Item"), (291, 321, "Sum"), (391, 443, "Note"), (481, 498, "Year"), confidence=1.0)
    names = row(435, (71, 150, "Line"), (366, 381, "580"), (450, 475, "3,163"), (481, 519, "grain"), confidence=1.0)
    joined = [
        one
        for n in range(3)
        for one in row(455 + 20 * n, (71, 150, "Port"), (365, 381, "55.2"), (464, 502, "12 due"), confidence=1.0)
    ]
    assert [cells[-2:] for cells in texts([*head, *names, *joined])[2:]] == [["12", "due"]] * 3


def test_rows_an_even_distance_apart_are_rows_whatever_the_network_saw() -> None:
    """It put a row between each two: a name stands there, beside both."""
    lines = [line(75, 100, "State"), line(170, 100, "Owner"), line(75, 130.5, "both")]
    lines += [line(170, 120 + 20.5 * n, f"{n}") for n in range(5)]
    lines += [line(75, 120 + 20.5 * n, f"n{n}") for n in range(2, 5)]
    seen = Table(num_rows=9, num_cols=2, cells=[Cell(row=0, col=0, row_span=9, text="State", page_no=1)], html="")
    found = read_table(lines, seen)
    assert (found.num_rows, found.num_cols) == (6, 2)
    assert {cell.text: (cell.row, cell.row_span) for cell in found.cells}["both"] == (1, 2)


def test_columns_that_the_network_took_for_one_are_two_where_every_line_has_a_cell_of_its_own() -> None:
    """Also where a cell is empty, and a name over both was cut between them."""
    rows = [("Item", "Sum", "Note"), *((f"n{n}", f"{n}15", f"w{n}") for n in range(5))]
    lines = [
        line(x, 100 + 20 * r, text) for r, row in enumerate(rows) for x, text in zip((75, 170, 212), row, strict=True)
    ]
    lines = [one for one in lines if one.text != "215"]
    cells = [
        Cell(row=r, col=c, text=text, page_no=1)
        for r, row in enumerate(rows)
        for c, text in enumerate((row[0], f"{row[1]} {row[2]}"))
    ]
    found = read_table(lines, Table(num_rows=6, num_cols=2, cells=cells, html=""))
    assert (found.num_rows, found.num_cols) == (6, 3)
    assert [cell.text for cell in found.cells if cell.row == 2] == ["n1", "115", "w1"]


def test_lines_of_cells_an_uneven_distance_apart_are_left_to_the_network() -> None:
    """Pairs of lines: whether these are rows of two lines each nobody can say who does not see more than the lines."""
    ys = [100 + 44 * n + extra for n in range(4) for extra in (0, 18)]
    lines = [line(x, y, f"{x}.{y}") for y in ys for x in (75, 170)][1:]
    cells = [
        Cell(row=n, col=c, text=f"{x}.{ys[2 * n]} {x}.{ys[2 * n + 1]}", page_no=1)
        for n in range(4)
        for c, x in enumerate((75, 170))
    ]
    assert read_table(lines, Table(num_rows=4, num_cols=2, cells=cells, html="")).num_rows == 4


def test_words_of_a_page_that_stand_as_near_are_one() -> None:
    assert "1,331south" in [text for row in texts(table(None)) for text in row]


def grid(rows: int, cols: int) -> Table:
    return Table(num_rows=rows, num_cols=cols, cells=[], html="")


def test_a_grid_of_lines_that_lost_a_row_or_a_column_does_not_hold_the_networks() -> None:
    assert holds(grid(4, 5), grid(4, 5))
    assert not holds(grid(3, 5), grid(4, 5)), "two rows set close were taken for one"
    assert not holds(grid(4, 4), grid(4, 5))


@pytest.mark.parametrize(("first", "kinds"), [("Table 2: Owners", ["caption", "table"]), ("Owners in 2024", ["table"])])
def test_a_caption_in_the_box_of_a_scanned_table_is_its_caption(first: str, kinds: list[str]) -> None:
    lines = [ReadLine(bbox=piece.box, text=piece.text, confidence=0.9) for piece in table()]
    lines.insert(0, ReadLine(bbox=[200, 308, 300, 321], text=first, confidence=0.9))
    region = Region(
        region_id="p00001-r000",
        label="table",
        raw_label="table",
        bbox=[60, 300, 500, 410],
        confidence=0.9,
        found_by="model",
        read_by="rec",
        route="",
    )
    reading = RegionReading(region_id=region.region_id, method="det_rec", lines=lines)
    layout = PageLayout(document_id="d", generation=0, page_no=1, width=600, height=800, unit="pt", kind="scanned")
    blocks = blocks_of(region, reading, layout)
    assert [block.label for block in blocks] == kinds
    grid = blocks[-1].table
    assert grid is not None
    assert grid.num_rows == (4 if "caption" in kinds else 5)
