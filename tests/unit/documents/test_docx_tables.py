"""Grids of DOCX tables: spans, merges, headers, nesting, and what is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.contracts.layout import FlowBlock
from tests.support.docx import docx, gone, ins, p, read, tbl, tc, texts

pytestmark = pytest.mark.unit

RESTART, CONTINUE = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"


def span(count: int) -> str:
    return f'<w:gridSpan w:val="{count}"/>'


def only(body: str, folder: Path) -> FlowBlock:
    blocks = [one for one in read(docx(body), folder).blocks if one.layer == "body"]
    assert len(blocks) == 1
    return blocks[0]


def test_spans_in_both_directions(tmp_path: Path) -> None:
    block = only(
        tbl(
            [tc("a", properties=RESTART), tc("b", properties=span(2))],
            [tc("", properties=CONTINUE), tc("c"), tc("d", properties=RESTART)],
            [tc("e", properties=span(2)), tc("", properties=CONTINUE)],
        ),
        tmp_path,
    )
    assert block.table is not None
    assert block.table.html == (
        '<table><tr><td rowspan="2">a</td><td colspan="2">b</td></tr><tr><td>c</td><td rowspan="2">d</td></tr>'
        '<tr><td colspan="2">e</td></tr></table>'
    )
    assert (block.table.num_rows, block.table.num_cols) == (3, 3)


def test_header_rows_are_those_that_repeat_or_that_the_look_sets_off(tmp_path: Path) -> None:
    repeats = "<w:tr><w:trPr><w:tblHeader/></w:trPr>" + tc("h") + "</w:tr>"
    rows = f"<w:tbl>{repeats}{repeats}<w:tr>{tc('d')}</w:tr>{repeats}</w:tbl>"
    block = only(rows, tmp_path)
    assert block.table is not None
    assert [cell.column_header for cell in block.table.cells] == [True, True, False, False]
    for look, header in (
        ('w:firstRow="1"', True),
        ('w:val="04A0"', True),
        ('w:val="0480"', False),
        ('w:val="zz"', False),
    ):
        table = only(tbl([tc("h")], [tc("d")], properties=f"<w:tblLook {look}/>"), tmp_path).table
        assert table is not None
        assert [cell.column_header for cell in table.cells] == [header, False]


def test_nested_tables_are_text_of_their_cell_and_nothing_is_said_twice(tmp_path: Path) -> None:
    inner = tbl([tc("e"), tc("f")], [tc("g"), tc("h")])
    blocks = read(docx(tbl([tc("a", "b"), tc("before", inner, p("after"))])), tmp_path).blocks
    assert len(blocks) == 1
    table = blocks[0].table
    assert table is not None
    assert [cell.text for cell in table.cells] == ["a\nb", "before\ne\tf\ng\th\nafter"]


def test_tracked_changes_in_cells_rows_and_whole_cells(tmp_path: Path) -> None:
    dead_row = "<w:tr><w:trPr><w:del w:id='1'/></w:trPr>" + tc("gone row") + "</w:tr>"
    rows = (
        f"<w:tbl><w:tr>{tc(p('was ', gone('old'), ins('new')))}{tc('x', properties='<w:cellDel/>')}</w:tr>{dead_row}"
        f"<w:tr>{tc('last')}</w:tr></w:tbl>"
    )
    blocks = read(docx(rows), tmp_path).blocks
    assert blocks[0].table is not None
    assert [(cell.row, cell.text) for cell in blocks[0].table.cells] == [(0, "was new"), (1, "last")]
    assert texts(blocks, "invisible") == ["old"]


def test_rows_and_cells_in_content_controls(tmp_path: Path) -> None:
    cell = f"<w:sdt><w:sdtContent>{tc('in a control')}</w:sdtContent></w:sdt>"
    row = f"<w:sdt><w:sdtContent><w:tr>{cell}</w:tr></w:sdtContent></w:sdt>"
    table = only(f"<w:tbl>{row}</w:tbl>", tmp_path).table
    assert table is not None
    assert [one.text for one in table.cells] == ["in a control"]


def test_older_horizontal_merges_and_rows_that_begin_later(tmp_path: Path) -> None:
    later = "<w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr>" + tc("y") + "</w:tr>"
    first = tc("x", properties='<w:hMerge w:val="restart"/>')
    merged = f"<w:tr>{first}{tc('', properties='<w:hMerge/>')}</w:tr>"
    table = only(f"<w:tbl>{merged}{later}</w:tbl>", tmp_path).table
    assert table is not None
    assert [(one.row, one.col, one.col_span, one.text) for one in table.cells] == [(0, 0, 2, "x"), (1, 1, 1, "y")]


@pytest.mark.parametrize("value", ["0", "-3", "99999999999", "many"])
def test_senseless_spans_are_one(tmp_path: Path, value: str) -> None:
    table = only(tbl([tc("a", properties=f'<w:gridSpan w:val="{value}"/>'), tc("b")]), tmp_path).table
    assert table is not None
    assert [one.col for one in table.cells] == [0, 1]


def test_a_grid_beyond_bounds_keeps_its_text(tmp_path: Path) -> None:
    block = only(tbl([tc("a", properties=span(400)), tc("b", properties=span(400))]), tmp_path)
    assert (block.label, block.text) == ("text", "a\nb")
    assert block.reason is not None
