"""Tables against their truth: TEDS, the similarity of two tables as trees (Zhong, ShafieiBavani, Jimeno Yepes 2020), 0..1.

Before they are compared both are reduced to what counts: rows and cells with their spans and plain text. Head and body, `th` and `td`, and
marks of letters (bold, raised) are the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from lxml import html
from table_recognition_metric import TEDS


class TableScore(NamedTuple):
    """Similarity with the text of the cells, and of the structure alone."""

    teds: float
    structure: float


_WITH_TEXT = TEDS()
_STRUCTURE = TEDS(structure_only=True)


def tables_in(text: str) -> list[str]:
    """The outermost tables of an HTML text, each reduced to `table`, `tr` and `td` with spans and plain text."""
    if not text.strip():
        return []
    root = html.document_fromstring(f"<html><body>{text}</body></html>")
    return [plain(table) for table in root.iter("table") if not any(True for _ in table.iterancestors("table"))]


def plain(table: html.HtmlElement) -> str:
    """A table as text with nothing in it but rows, cells, spans and plain text."""
    rows = []
    for line in table.iter("tr"):
        cells = []
        for cell in line.iterchildren("td", "th"):
            spans = "".join(
                f' {name}="{int(value)}"'
                for name in ("rowspan", "colspan")
                if (value := cell.get(name, "1").strip()).isdigit() and int(value) > 1
            )
            text = " ".join(unicodedata.normalize("NFKC", cell.text_content()).split())
            text = text.replace("&", "&amp;").replace("<", "&lt;")
            cells.append(f"<td{spans}>{text}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def compare(found: str, truth: str) -> TableScore:
    """Scores of one table of `tables_in` against another."""
    whole = [f"<html><body>{table}</body></html>" for table in (found, truth)]
    return TableScore(float(_WITH_TEXT(*whole)), float(_STRUCTURE(*whole)))


def score(found: Sequence[str], truth: Sequence[str]) -> TableScore:
    """Mean over the tables of a file, which are paired off from the most similar pair on; one without a partner counts 0."""
    count = max(len(found), len(truth))
    if not count:
        return TableScore(1.0, 1.0)
    pairs = [(compare(one, other), i, j) for i, one in enumerate(found) for j, other in enumerate(truth)]
    paired: list[TableScore] = []
    used: set[tuple[str, int]] = set()
    for rated, i, j in sorted(pairs, key=lambda pair: -sum(pair[0])):
        if used.isdisjoint({("found", i), ("true", j)}):
            used |= {("found", i), ("true", j)}
            paired.append(rated)
    return TableScore(sum(one.teds for one in paired) / count, sum(one.structure for one in paired) / count)
