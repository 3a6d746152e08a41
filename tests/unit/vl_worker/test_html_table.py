"""Tables out of a model's HTML: spans, sloppy markup, hostile markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vl_worker.grammars.html_table import parse_html_table
from shared.contracts.errors import DocfleetError

pytestmark = pytest.mark.unit


def test_spans_push_later_cells_aside():
    table = parse_html_table(
        "Here it is: <table border=1><tr><th rowspan=2>A</th><th colspan='2'>B &amp; C</th></tr><tr><td>1<td>2</tr></table> Done.",
        page_no=3,
    )
    places = {(cell.row, cell.col): (cell.text, cell.row_span, cell.col_span) for cell in table.cells}
    assert places == {(0, 0): ("A", 2, 1), (0, 1): ("B & C", 1, 2), (1, 1): ("1", 1, 1), (1, 2): ("2", 1, 1)}
    assert (table.num_rows, table.num_cols) == (2, 3)
    assert all(cell.page_no == 3 for cell in table.cells)


def test_markup_of_the_model_never_passes():
    table = parse_html_table(
        "<table><tr><td><script>alert(1)</script><img src=x onerror=y>ok</td></tr></table>", page_no=1
    )
    assert "<script" not in table.html
    assert "<img" not in table.html
    assert "ok" in table.cells[0].text


@pytest.mark.parametrize("text", ["no table", "<table></table>", "<table><tr></tr></table>"])
def test_no_table_is_an_error(text):
    with pytest.raises(DocfleetError):
        parse_html_table(text, page_no=1)


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5), min_size=1, max_size=6)
)
def test_any_spans_give_a_grid_without_overlap(rows):
    html = "<table>" + "".join(
        "<tr>" + "".join(f"<td rowspan={r} colspan={c}>x</td>" for r, c in row) + "</tr>" for row in rows
    )
    table = parse_html_table(html + "</table>", page_no=1)  # table_of raises where two cells overlap
    assert len(table.cells) == sum(len(row) for row in rows)
    assert table.num_rows <= len(rows)
