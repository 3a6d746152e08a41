"""Tables out of OTSL: spans, ragged rows, stray and hostile marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vl_worker.grammars.otsl import parse_otsl
from shared.contracts.document import Table
from shared.contracts.errors import DocfleetError

pytestmark = pytest.mark.unit


def places(table: Table) -> dict[tuple[int, int], tuple[str, int, int]]:
    return {(cell.row, cell.col): (cell.text, cell.row_span, cell.col_span) for cell in table.cells}


def test_every_mark_means_what_the_paper_says() -> None:
    table = parse_otsl(
        "<fcel>A<lcel><fcel>B<nl><ucel><xcel><ecel><nl><fcel>1<fcel>2<fcel>3<nl>",
        page_no=2,
    )
    assert places(table) == {
        (0, 0): ("A", 2, 2),
        (0, 2): ("B", 1, 1),
        (1, 2): ("", 1, 1),
        (2, 0): ("1", 1, 1),
        (2, 1): ("2", 1, 1),
        (2, 2): ("3", 1, 1),
    }
    assert (table.num_rows, table.num_cols) == (3, 3)
    assert all(cell.page_no == 2 for cell in table.cells)


def test_headers_of_the_docling_dialect() -> None:
    table = parse_otsl("<ched>h<ched>i<nl><rhed>r<fcel>1<nl>", page_no=1)
    assert [(cell.column_header, cell.row_header) for cell in table.cells] == [
        (True, False),
        (True, False),
        (False, True),
        (False, False),
    ]


def test_short_rows_end_in_empty_cells_and_stray_marks_are_empty_cells() -> None:
    table = parse_otsl("<lcel><fcel>a<fcel>b<nl><fcel>c<nl><xcel><ucel><ecel><nl>", page_no=1)
    assert (table.num_rows, table.num_cols) == (3, 3)
    assert places(table)[0, 0] == ("", 1, 1)
    assert places(table)[1, 0] == ("c", 1, 1)
    assert sum(cell.row_span * cell.col_span for cell in table.cells) == 9


def test_tags_in_a_cell_are_dropped() -> None:
    table = parse_otsl("<fcel>a<b>b</b> <script>x</script><br/>c<nl>", page_no=1)
    assert "<" not in table.cells[0].text
    assert "script" not in table.html


@pytest.mark.parametrize("text", ["", "no table", "<nl><nl>", "<table><tr><td>1</td></tr></table>"])
def test_no_mark_is_an_error(text: str) -> None:
    with pytest.raises(DocfleetError):
        parse_otsl(text, page_no=1)


@pytest.mark.parametrize("text", ["<fcel>x" * 600, "<ecel><nl>" * 6_000, ("<fcel>x" * 200 + "<nl>") * 200])
def test_more_than_the_limits_is_an_error(text: str) -> None:
    with pytest.raises(DocfleetError):
        parse_otsl(text, page_no=1)


@given(st.lists(st.lists(st.sampled_from(["fcel", "ecel", "lcel", "ucel", "xcel", "ched"]), max_size=6), max_size=7))
def test_any_marks_give_a_full_grid_without_overlap(rows: list[list[str]]) -> None:
    text = "".join("".join(f"<{mark}>" + ("x" if mark == "fcel" else "") for mark in row) + "<nl>" for row in rows)
    width = max((len(row) for row in rows), default=0)
    if not width:
        return
    table = parse_otsl(text, page_no=1)  # table_of raises where two cells overlap
    assert table.num_cols == width
    assert sum(cell.row_span * cell.col_span for cell in table.cells) == table.num_rows * width
    assert sum(cell.text == "x" for cell in table.cells) == sum(row.count("fcel") for row in rows)
