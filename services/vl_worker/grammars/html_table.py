"""HTML tables as models write them, to our grid. Tags other than those of a table are dropped, attributes but spans ignored."""

from __future__ import annotations

from html.parser import HTMLParser

from shared.contracts.document import Cell, Table
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.tables import MAX_COLS, MAX_ROWS, table_of


class _Reader(HTMLParser):
    """Collects rows of (text, row span, column span, is header)."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[tuple[str, int, int, bool]]] = []
        self._text: list[str] | None = None
        self._open: tuple[int, int, bool] = (1, 1, False)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._end_cell()
            self.rows.append([])
        elif tag in ("td", "th"):
            self._end_cell()
            if not self.rows:
                self.rows.append([])
            given = dict(attrs)
            self._open = (_span(given.get("rowspan"), MAX_ROWS), _span(given.get("colspan"), MAX_COLS), tag == "th")
            self._text = []
        elif tag == "br" and self._text is not None:
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self._end_cell()

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def _end_cell(self) -> None:
        if self._text is not None:
            rows, cols, header = self._open
            self.rows[-1].append((" ".join("".join(self._text).split()), rows, cols, header))
            self._text = None


def _span(value: str | None, most: int) -> int:
    try:
        return min(max(int(value or 1), 1), most)
    except ValueError:
        return 1


def parse_html_table(text: str, *, page_no: int) -> Table:
    """The first table of a model's answer. Cells take the next free place of their row, as in HTML's table model.

    Raises `DocfleetError(corrupt)` when there is no table with a cell in it.
    """
    start = text.find("<table")
    end = text.find("</table", start)
    if start < 0:
        raise DocfleetError(ErrorCode.corrupt, "the model's answer holds no table")
    reader = _Reader()
    reader.feed(text[start : end + 8] if end > 0 else text[start:])
    reader.close()
    taken: set[tuple[int, int]] = set()
    cells: list[Cell] = []
    for row, entries in enumerate(reader.rows[:MAX_ROWS]):
        col = 0
        for content, row_span, col_span, header in entries:
            while (row, col) in taken:
                col += 1
            row_span = min(row_span, len(reader.rows) - row)
            while col_span > 1 and any((row, col + i) in taken for i in range(col_span)):
                col_span -= 1
            if col + col_span > MAX_COLS:
                raise DocfleetError(ErrorCode.corrupt, f"the model's table has more than {MAX_COLS} columns")
            taken.update((row + i, col + j) for i in range(row_span) for j in range(col_span))
            cells.append(
                Cell(
                    row=row,
                    col=col,
                    row_span=row_span,
                    col_span=col_span,
                    text=content,
                    column_header=header,
                    page_no=page_no,
                )
            )
            col += col_span
    if not cells:
        raise DocfleetError(ErrorCode.corrupt, "the model's table has no cell")
    return table_of(cells, page_no=page_no)
