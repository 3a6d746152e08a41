"""Tables out of a model's HTML: spans, sloppy markup, hostile markup."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vl_worker.grammars.html_table import parse_html_table, split_html_table
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


def headers(html: str) -> list[tuple[str, bool, bool]]:
    cells = parse_html_table(html, page_no=1).cells
    return [(cell.text, cell.column_header, cell.row_header) for cell in cells]


def test_headers_are_told_by_where_they_stand():
    assert headers(
        "<table><thead><tr><td>a</td><th>b</th></tr></thead><tbody><tr><th>c</th><td>1</td></tr>"
        "<tr><th scope=col>d</th><th scope=row>e</th></tr><tr><td>2</td><th>f</th></tr></tbody></table>"
    ) == [
        ("a", True, False),
        ("b", True, False),
        ("c", False, True),
        ("1", False, False),
        ("d", True, False),
        ("e", False, True),
        ("2", False, False),
        ("f", True, False),
    ]


def test_a_table_inside_a_cell_is_text_of_the_cell():
    table = parse_html_table(
        "<table><tr><td>a<table><tr><td>b</td><td>c</td></tr></table>d</td><td>e</td></tr></table>", page_no=1
    )
    assert [cell.text for cell in table.cells] == ["a b c d", "e"]
    assert table.html.count("<table>") == 1


def test_what_stands_around_a_table_is_told_apart():
    assert split_html_table("before <TABLE border=1><tr><td><table></table></td></tr></TABLE > after") == (
        "before ",
        "<TABLE border=1><tr><td><table></table></td></tr></TABLE >",
        " after",
    )
    assert split_html_table("a <table><tr>") == ("a ", "<table><tr>", "")
    assert split_html_table("none") is None


@pytest.mark.parametrize(
    "html",
    [
        "<table>" * 100 + "<tr><td>x",
        "<table><tr><td rowspan=5000 colspan=500>x</td></tr>" + "<tr></tr>" * 4_999 + "</table>",
        "<table><tr>" + "<td>x</td>" * 501 + "</tr></table>",
        "<table>" + "<tr><td>x</td></tr>" * 5_001 + "</table>",
        "<table>" + ("<tr>" + "<td>x</td>" * 200 + "</tr>") * 101 + "</table>",
    ],
)
def test_hostile_sizes_are_refused(html):
    with pytest.raises(DocfleetError):
        parse_html_table(html, page_no=1)


def test_hostile_markup_costs_no_more_than_its_length():
    for html in ("<table>" + "<td" * 100_000, "<table><tr><td>" + "&" * 200_000, "<table " + "a=" * 100_000 + ">"):
        with contextlib.suppress(DocfleetError):
            parse_html_table(html, page_no=1)


@given(st.text(alphabet="<>/tabledrh =\"'1x!-", max_size=300))
def test_whatever_comes_is_a_table_or_a_typed_error(text):
    with contextlib.suppress(DocfleetError):
        table = parse_html_table("<table><tr><td>" + text, page_no=1)
        assert set(re.findall(r"</?([a-z]+)", table.html)) <= {"table", "tr", "td", "th"}
