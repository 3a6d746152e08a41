"""The grid of a `w:tbl`: which cell stands where and how far it spans. What cells say is read by whoever calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shared.documents.docx.xml import Element, attribute, child, name, number

MAX_SPAN = 500
"""Columns that one cell may claim to cover; Word itself allows 63."""


class Place(NamedTuple):
    """A cell of the grid, 0-based."""

    row: int
    col: int
    row_span: int
    col_span: int
    header: bool
    cell: Element


def places(table: Element) -> list[Place]:
    """The cells in order. Rows and cells whose deletion is tracked are not there; vertically merged cells are one."""
    found: list[Place] = []
    above: dict[int, int] = {}
    """Column to the index in `found` of the cell that a merge would continue."""
    styled = _first_row_is_header(table)
    headers = True
    row = 0
    for element in _within(table, "w:tr"):
        properties = child(element, "w:trPr")
        if child(properties, "w:del") is not None:
            continue
        marked = child(properties, "w:tblHeader")
        marked_on = marked is not None and attribute(marked, "w:val", "true") not in ("0", "false", "off")
        headers = headers and (marked_on or (row == 0 and styled))
        here: dict[int, int] = {}
        col = max(0, min(MAX_SPAN, number(child(properties, "w:gridBefore"), "w:val", 0) or 0))
        before: int | None = None
        """The cell to the left, for `w:hMerge`, which older writers use in place of `w:gridSpan`."""
        for cell in _within(element, "w:tc"):
            own = child(cell, "w:tcPr")
            if child(own, "w:cellDel") is not None:
                continue
            span = max(1, min(MAX_SPAN, number(child(own, "w:gridSpan"), "w:val", 1) or 1))
            at = above.get(col)
            if _merged(own, "w:hMerge") == "continue" and before is not None:
                found[before] = found[before]._replace(col_span=found[before].col_span + span)
                here[col] = before
            elif _merged(own, "w:vMerge") == "continue" and at is not None and found[at].col == col:
                found[at] = found[at]._replace(row_span=row - found[at].row + 1)
                here[col] = before = at
                span = max(span, found[at].col_span)
            else:
                found.append(Place(row, col, 1, span, headers, cell))
                here[col] = before = len(found) - 1
            col += span
        above = here
        row += 1
    return found


def _merged(properties: Element | None, kind: str) -> str | None:
    element = child(properties, kind)
    return None if element is None else (attribute(element, "w:val") or "continue")


def _first_row_is_header(table: Element) -> bool:
    """Whether the table's look sets its first row off. `w:val` is the older form: a hexadecimal bit field, 0x0020 for this."""
    look = child(table, "w:tblPr", "w:tblLook")
    said = attribute(look, "w:firstRow")
    if said is not None:
        return said in ("1", "true", "on")
    try:
        return bool(int(attribute(look, "w:val", "0") or "0", 16) & 0x20)
    except ValueError:
        return False


def _within(element: Element, wanted: str) -> Iterator[Element]:
    """Children of this name, also those inside content controls and tracked insertions."""
    for one in element:
        kind = name(one)
        if kind == wanted:
            yield one
        elif kind in ("w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo"):
            yield from _within(one, wanted)
