"""What a generated document says as a whole: paragraphs and tables that page breaks cut are one again, marks of notes are where they stand.

`samples.generator.truth` has elements page by page; here they are *units*: an element with all that continues it. Units are in reading order.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from samples.generator.truth import Document, Element

SILENT = frozenset({"seal", "picture"})
"""Labels whose words no score of text counts."""
HEADINGS = frozenset({"title", "section_header"})
_FOLDED = str.maketrans(
    {
        **dict.fromkeys("“”„〃", '"'),
        **dict.fromkeys("‘’‚′`", "'"),
        **dict.fromkeys("—–−‐~〜", "-"),
        **dict.fromkeys("·•…", "."),
        **dict.fromkeys("☐☑☒", ""),
    }
)


class TrueCell(NamedTuple):
    """A cell with words in it; `text` is as `plain` gives it."""

    row: int
    col: int
    row_span: int
    col_span: int
    text: str


class Unit(NamedTuple):
    """One thing of the document. `parts`: page (from 0) and index of each of its elements there."""

    label: str
    text: str
    level: int | None
    depth: int
    furniture: bool
    parts: list[tuple[int, int]]
    target: int | None
    """The unit of a caption's table or picture, or where a footnote's mark stands."""
    cells: list[TrueCell]


def units(document: Document) -> list[Unit]:
    """All units of a document, in reading order of their beginnings."""
    placed = [(page, index, e) for page, facts in enumerate(document.pages) for index, e in enumerate(facts.elements)]
    root: dict[str, str] = {}
    chains: dict[str, list[tuple[int, int, Element]]] = {}
    for page, index, element in placed:
        name = root.get(element.continues, element.continues) if element.continues else element.id
        root[element.id] = name
        chains.setdefault(name, []).append((page, index, element))
    number = {name: place for place, name in enumerate(chains)}
    marks: dict[str, str] = {}
    for _, _, element in placed:
        if element.label == "footnote" and element.target and element.mark:
            marks[root[element.target]] = marks.get(root[element.target], "") + element.mark
    return [
        Unit(
            label=chain[0][2].label,
            text=_text([element for _, _, element in chain], marks.get(name, "")),
            level=chain[0][2].level,
            depth=chain[0][2].depth,
            furniture=chain[0][2].furniture,
            parts=[(page, index) for page, index, _ in chain],
            target=number[root[chain[0][2].target]] if chain[0][2].target else None,
            cells=_cells([element for _, _, element in chain]),
        )
        for name, chain in chains.items()
    ]


def plain(text: str) -> str:
    """A text without blanks, and without what does not count: widths, kinds of dashes, quotes and dots, ticks of boxes, leaders of dots."""
    text = re.sub(r"[.·…․]{3,}", "", "".join(text.split()))
    return "".join(unicodedata.normalize("NFKC", text).split()).translate(_FOLDED)


def _text(chain: list[Element], marks: str) -> str:
    first = chain[0]
    if first.table is not None:
        return " ".join(cell.text for cell in _cells(chain))
    if first.label in ("list_item", "footnote"):
        return f"{first.number or first.mark or ''} {first.text}"
    return first.text + marks


def _cells(chain: list[Element]) -> list[TrueCell]:
    """Cells of all parts, rows counted through, repeated headers left out."""
    found: list[TrueCell] = []
    rows = 0
    for element in chain:
        table = element.table
        if table is None:
            continue
        skipped = table.header_rows if table.repeated_header else 0
        found += [
            TrueCell(rows + cell.row - skipped, cell.col, cell.row_span, cell.col_span, plain(cell.text))
            for cell in table.cells
            if cell.row >= skipped and cell.text.strip()
        ]
        rows += table.num_rows - skipped
    return sorted(found)
