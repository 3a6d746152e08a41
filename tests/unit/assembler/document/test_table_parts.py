"""Tables that a page break cut: what is one table, and what is two (field report B13)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from services.assembler.document.joins import joined_over_columns, joined_over_pages
from services.assembler.document.tables import finished
from shared.contracts.document import Block, Cell, Provenance
from shared.contracts.tables import table_of
from tests.support.parsed import block

pytestmark = pytest.mark.unit

EDGES = [50.0, 150.0, 300.0, 420.0, 500.0]
HEADER = ["Name", "Place", "Count", "Remark"]


def table(
    page_no: int,
    rows: Sequence[Sequence[str]],
    *,
    edges: Sequence[float] = EDGES,
    method: str = "native",
    index: int = 0,
) -> Block:
    """A table whose cells fill a grid with these vertical edges; its first row is marked as the header, as the layout does."""
    cells = [
        Cell(
            row=r, col=c, text=text, column_header=r == 0,
            bbox=[edges[c], 100.0 + 20 * r, edges[c + 1], 120.0 + 20 * r], page_no=page_no,
        )
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
    ]  # fmt: skip
    made = finished(table_of(cells, page_no=page_no))
    box = [edges[0], 100.0, edges[len(rows[0])], 100.0 + 20 * len(rows)]
    return replace(
        block(index, "table", table=made, page_no=page_no, method=method), prov=[Provenance(page_no=page_no, bbox=box)]
    )


def rows(first: int, last: int, width: int = 4) -> list[list[str]]:
    return [[f"n{i}", f"p{i}", str(i), f"r{i}"][:width] for i in range(first, last)]


def one(*pages: Sequence[Block]) -> Block:
    joined = [b for b in joined_over_pages(pages) if b.table is not None]
    assert len(joined) == 1
    return joined[0]


def column(block: Block, col: int) -> list[str]:
    assert block.table is not None
    return [cell.text for cell in block.table.cells if cell.col == col]


def test_a_repeated_header_is_there_once_and_every_page_is_named() -> None:
    made = one([table(1, [HEADER, *rows(0, 4)])], [table(2, [HEADER, *rows(4, 8)])], [table(3, [HEADER, *rows(8, 9)])])
    assert made.table is not None
    assert column(made, 0) == ["Name", *(f"n{i}" for i in range(9))]
    assert [(part.page_no, part.rows) for part in made.table.parts] == [(1, [0, 5]), (2, [5, 9]), (3, [9, 10])]
    assert [place.page_no for place in made.prov] == [1, 2, 3]
    assert sum(cell.column_header for cell in made.table.cells) == 4
    assert made.table.html.count("<tr>") == 10
    assert {cell.page_no for cell in made.table.cells if cell.row > 8} == {3}


def test_a_header_that_is_not_repeated_loses_nothing() -> None:
    made = one([table(1, [HEADER, *rows(0, 4)])], [table(2, rows(4, 8))])
    assert column(made, 2) == ["Count", *map(str, range(8))]
    assert made.table is not None
    assert [cell.row for cell in made.table.cells if cell.column_header] == [0, 0, 0, 0]


def test_an_empty_last_column_of_the_second_page() -> None:
    narrow = table(2, [HEADER[:3], *rows(4, 8, 3)], edges=EDGES[:4])
    made = one([table(1, [[*HEADER], *rows(0, 4)])], [narrow])
    assert made.table is not None
    assert made.table.num_cols == 4
    assert column(made, 3) == ["Remark", "r0", "r1", "r2", "r3"]
    drawn = [[*row[:3], ""] for row in [HEADER, *rows(4, 8)]]
    assert column(one([table(1, [HEADER, *rows(0, 4)])], [table(2, drawn)]), 3)[-4:] == [""] * 4


def test_a_column_that_is_missing_in_the_middle() -> None:
    without = [[row[0], row[2], row[3]] for row in rows(4, 8)]
    narrow = table(2, without, edges=[50.0, 150.0, 300.0, 500.0])
    shifted = replace(
        narrow,
        table=finished(
            replace(
                narrow.table,  # type: ignore[type-var]
                cells=[
                    replace(
                        cell, bbox=[[50, 300, 420][cell.col], cell.bbox[1], [150, 420, 500][cell.col], cell.bbox[3]]
                    )  # type: ignore[index]
                    for cell in narrow.table.cells  # type: ignore[union-attr]
                ],
            )
        ),
    )
    made = one([table(1, [HEADER, *rows(0, 4)])], [shifted])
    assert [column(made, c)[-1] for c in (0, 2, 3)] == ["n7", "7", "r7"]
    assert column(made, 1) == ["Place", "p0", "p1", "p2", "p3"]


def test_a_header_of_two_rows_is_dropped_whole() -> None:
    def with_group(page_no: int, first: int) -> Block:
        made = table(page_no, [["", "x", "", ""], HEADER, *rows(first, first + 3)])
        assert made.table is not None
        kept = [c for c in made.table.cells if not (c.row == 0 and c.col in (2, 3))]
        kept = [replace(c, col_span=3) if (c.row, c.col) == (0, 1) else c for c in kept]
        return replace(made, table=finished(replace(made.table, cells=kept)))

    made = one([with_group(1, 0)], [with_group(2, 3)])
    assert column(made, 0) == ["", "Name", *(f"n{i}" for i in range(6))]


def test_read_headers_may_differ_in_a_letter() -> None:
    slip = ["Narne", "Place", "Count", "Remark"]
    parts = ([table(1, [HEADER, *rows(0, 4)], method="det_rec")], [table(2, [slip, *rows(4, 8)], method="det_rec")])
    assert "Narne" not in column(one(*parts), 0)


def test_equal_rows_of_data_are_no_header() -> None:
    same = [["a", "b", "c", "d"]] * 6
    made = one([table(1, [HEADER, *same])], [table(2, [HEADER, *same])])
    assert made.table is not None
    assert made.table.num_rows == 13


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (table(2, [["Month", "City", "Sum", "Note"], *rows(4, 8)]), "a header of its own over numbers"),
        (table(2, rows(4, 8, 2), edges=EDGES[:3]), "two columns less"),
        (table(2, rows(4, 8), edges=[90.0, 150.0, 300.0, 420.0, 540.0]), "edges elsewhere"),
    ],
)
def test_other_tables_stay_apart(second: Block, why: str) -> None:
    first = table(1, [["Name", "Place", "Count", "Remark"], *rows(0, 4)])
    assert len([b for b in joined_over_pages([[first], [second]]) if b.table is not None]) == 2, why


@pytest.mark.parametrize(("text", "tables"), [("Table 1 (continued)", 1), ("续表 1", 1), ("Table 2: others", 2)])
def test_a_caption_begins_another_table_unless_it_says_that_it_goes_on(text: str, tables: int) -> None:
    second = replace(table(2, [HEADER, *rows(4, 8)], index=1), caption_ids=["p00002-b000"])
    caption = replace(block(0, "caption", text, page_no=2), parent_id=second.id)
    blocks = joined_over_pages([[table(1, [HEADER, *rows(0, 4)])], [caption, second]])
    found = [b for b in blocks if b.table is not None]
    assert len(found) == tables
    ids = {b.id for b in blocks}
    told = next(b for b in blocks if b.label == "caption")
    assert told.parent_id in ids
    assert [b.id for b in found if told.id in b.caption_ids] == [told.parent_id]


def test_text_between_keeps_two_tables_apart() -> None:
    between = block(0, "text", "Now for something else.", page_no=2)
    blocks = joined_over_pages([[table(1, [HEADER, *rows(0, 4)])], [between, table(2, [HEADER, *rows(4, 8)], index=1)]])
    assert len([b for b in blocks if b.table is not None]) == 2


ASIDE = [edge + 260 for edge in EDGES]


def test_from_the_right_column_of_a_page_it_goes_on_in_the_left_one_of_the_next_under_the_same_header() -> None:
    joined = one([table(1, [HEADER, *rows(0, 3)], edges=ASIDE)], [table(2, [HEADER, *rows(3, 6)])])
    assert column(joined, 0) == ["Name", *(f"n{i}" for i in range(6))]


@pytest.mark.parametrize("header", [[], [["Town", "Year", "Sum", "Note"]]])
def test_elsewhere_under_another_header_or_none_it_is_another_table(header: list[list[str]]) -> None:
    pages = [[table(1, [HEADER, *rows(0, 3)], edges=ASIDE)], [table(2, [*header, *rows(3, 6)])]]
    assert sum(b.table is not None for b in joined_over_pages(pages)) == 2


def lower(block: Block, by: float) -> Block:
    box = block.prov[0].bbox
    assert box is not None
    return replace(block, prov=[Provenance(page_no=1, bbox=[box[0], box[1] + by, box[2], box[3] + by])])


def test_from_the_foot_of_a_column_it_goes_on_at_the_head_of_the_next_under_the_same_header() -> None:
    [joined] = joined_over_columns(
        [
            lower(table(1, [HEADER, *rows(0, 3)]), 500),
            table(1, [HEADER, *rows(3, 6)], edges=[edge + 220 for edge in ASIDE], index=1),
        ]
    )
    assert column(joined, 0) == ["Name", *(f"n{i}" for i in range(6))]
    assert joined.table is not None
    assert [(part.page_no, part.rows) for part in joined.table.parts] == [(1, [0, 7])]
    assert len(joined.prov) == 2


@pytest.mark.parametrize(("by", "header"), [(10.0, HEADER), (500.0, ["Town", "Year", "Sum", "Note"])])
def test_tables_side_by_side_or_under_another_header_stay_apart(by: float, header: list[str]) -> None:
    left = lower(table(1, [HEADER, *rows(0, 3)]), by)
    right = table(1, [header, *rows(3, 6)], edges=[edge + 220 for edge in ASIDE], index=1)
    assert len(joined_over_columns([left, right])) == 2
