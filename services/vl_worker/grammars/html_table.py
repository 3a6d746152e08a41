"""HTML tables as models write them, to our grid.

Only `table`, `thead`, `tr`, `th`, `td`, `br` and the attributes `rowspan`, `colspan` and `scope` mean anything; other tags are dropped, the
contents of `script` and `style` with them. A table inside a cell is text of that cell. Nothing is fetched, no markup is passed on.

Tags are found by a pattern that costs what the text is long: `html.parser` takes 140 s for 100,000 times `<td`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from services.vl_worker.grammars.grid import MAX_CELLS, Entry, grid_of
from shared.contracts.document import Table
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.tables import MAX_COLS, MAX_ROWS

MAX_DEPTH = 20
"""Tables inside tables. No page has them; a model that writes more is looping."""
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,20})\b([^<>]*)>")
_ATTRIBUTE = re.compile(r"\b(rowspan|colspan|scope)\s{0,9}=\s{0,9}[\"']?\s{0,9}(\w{1,9})", re.IGNORECASE)
_HIDDEN = re.compile(
    r"<!--(?:(?!-->)[^<]|<(?!!--))*-->|<(script|style)\b[^<>]*>[^<]*(?:<(?!/?\1\b)[^<]*)*</\1\s*>", re.IGNORECASE
)


class _Open:
    """The cell that is being read."""

    def __init__(self, tag: str, attributes: str) -> None:
        given = {name.lower(): value for name, value in _ATTRIBUTE.findall(attributes)}
        self.text: list[str] = []
        self.header = tag == "th"
        self.scope = given.get("scope", "").lower()
        self.row_span = _span(given.get("rowspan"), MAX_ROWS)
        self.col_span = _span(given.get("colspan"), MAX_COLS)


class _Reader:
    """Collects rows of the outermost table: (cell, whether it stands in `thead`)."""

    def __init__(self) -> None:
        self.rows: list[list[tuple[_Open, bool]]] = []
        self._depth = 0
        self._cell: _Open | None = None
        self._head = False

    def feed(self, text: str) -> None:
        """All of the markup. What is no tag is text."""
        text = _HIDDEN.sub(" ", text)
        place = 0
        for tag in _TAG.finditer(text):
            self._add(text[place : tag.start()])
            place = tag.end()
            if tag[1]:
                self._ended(tag[2].lower())
            else:
                self._started(tag[2].lower(), tag[3])
        self._add(text[place:])
        self._end_cell()

    def _started(self, tag: str, attributes: str) -> None:
        if tag == "table":
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise DocfleetError(ErrorCode.corrupt, f"the model's tables are nested deeper than {MAX_DEPTH}")
            self._add(" ")
        elif self._depth != 1:
            self._add(" ")
        elif tag in ("thead", "tbody", "tfoot"):
            self._end_cell()
            self._head = tag == "thead"
        elif tag == "tr":
            self._end_cell()
            self.rows.append([])
        elif tag in ("td", "th"):
            self._end_cell()
            if not self.rows:
                self.rows.append([])
            self._cell = _Open(tag, attributes)
        elif tag == "br":
            self._add(" ")

    def _ended(self, tag: str) -> None:
        if tag == "table":
            self._depth -= 1
            self._add(" ")
        elif self._depth > 1:
            self._add(" ")
        elif tag in ("td", "th", "tr", "thead", "tbody", "tfoot"):
            self._end_cell()
            self._head = self._head and tag != "thead"

    def _add(self, text: str) -> None:
        if self._cell is not None:
            self._cell.text.append(text)

    def _end_cell(self) -> None:
        if self._cell is not None:
            self.rows[-1].append((self._cell, self._head))
            self._cell = None


def _span(value: str | None, most: int) -> int:
    try:
        return min(max(int(value or 1), 1), most)
    except ValueError:
        return 1


def _entries(row: Sequence[tuple[_Open, bool]]) -> list[Entry]:
    """`th` heads its column in `thead`, with `scope=col`, or in a row of nothing else; at the beginning of a row with data, that row."""
    heads = [head for _, head in row]
    titles = [cell.header for cell, _ in row]
    leading = next((i for i, title in enumerate(titles) if not title), len(titles))
    entries = []
    for place, ((cell, _), head) in enumerate(zip(row, heads, strict=True)):
        row_header = cell.header and (
            cell.scope == "row" or (not head and cell.scope != "col" and place < leading < len(titles))
        )
        entries.append(
            Entry(
                text=" ".join(unescape("".join(cell.text)).split()),
                row_span=cell.row_span,
                col_span=cell.col_span,
                column_header=head or (cell.header and not row_header),
                row_header=row_header,
            )
        )
    return entries


def split_html_table(text: str) -> tuple[str, str, str] | None:
    """What stands before, in and after the first table of a text; none where there is none. An open table reaches to the end."""
    lower = text.lower()
    start = lower.find("<table")
    if start < 0:
        return None
    depth, place = 0, start
    while True:
        opening, closing = lower.find("<table", place), lower.find("</table", place)
        if closing < 0:
            return text[:start], text[start:], ""
        if 0 <= opening < closing:
            depth, place = depth + 1, opening + 6
            continue
        depth, place = depth - 1, closing + 7
        if depth <= 0:
            end = text.find(">", place)
            end = len(text) if end < 0 else end + 1
            return text[:start], text[start:end], text[end:]


def parse_html_table(text: str, *, page_no: int, max_cells: int = MAX_CELLS) -> Table:
    """The first table of a model's answer. Cells take the next free place of their row, as in HTML's table model.

    Raises `DocfleetError(corrupt)` when there is no table with a cell in it, or it is larger or deeper than the limits.
    """
    parts = split_html_table(text)
    if parts is None:
        raise DocfleetError(ErrorCode.corrupt, "the model's answer holds no table")
    reader = _Reader()
    reader.feed(parts[1])
    rows = [_entries(row) for row in reader.rows]
    return grid_of(rows, page_no=page_no, max_cells=max_cells)
