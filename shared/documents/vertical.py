"""Text in PDF's vertical writing mode, as MuPDF reports it and as it stands on the page.

MuPDF places a glyph of vertical text with its base line's origin where it is to stand, which is right, and then takes the place from that
origin one em further down for the character's box, which is not: the ink of an upright CJK glyph begins `ASCENT` above its base line. And it
begins a new line with every character. Both are put right here, before anybody looks at lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

ASCENT = 0.88
"""Em from the top of an upright CJK glyph's square to its base line: 880 of 1000 units, the default of PDF 32000-1, 9.7.4.3 (`DW2`), and what
OpenType fonts for CJK have."""
_GAP = 0.75
"""Em between the squares of two characters of one column, at most; a column of the storey below begins further away."""
_BESIDE = 0.3
"""Em by which the middles of two characters of one column may differ: MuPDF takes half-width digits for full-width ones."""


def upright_columns(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Lines of MuPDF's `rawdict`, those of writing mode 1 moved to their ink and joined to columns, each after the other in one direction."""
    column: dict[str, Any] | None = None
    for line in lines:
        if line["wmode"] != 1:
            if column is not None:
                yield column
                column = None
            yield line
            continue
        moved = _moved(line)
        if column is not None and _goes_on(column, moved):
            column["spans"] += moved["spans"]
        else:
            if column is not None:
                yield column
            column = moved
    if column is not None:
        yield column


def _moved(line: dict[str, Any]) -> dict[str, Any]:
    """The line with boxes of characters and spans moved against its direction. Origins stay: they tell characters apart."""
    dx, dy = line["dir"]
    spans = []
    for span in line["spans"]:
        back = ASCENT * span["size"]
        chars = [{**char, "bbox": _shifted(char["bbox"], -back * dx, -back * dy)} for char in span["chars"]]
        spans.append({**span, "bbox": _shifted(span["bbox"], -back * dx, -back * dy), "chars": chars})
    return {**line, "spans": spans}


def _shifted(box: tuple[float, ...], dx: float, dy: float) -> tuple[float, ...]:
    x0, y0, x1, y1 = box
    return x0 + dx, y0 + dy, x1 + dx, y1 + dy


def _goes_on(column: dict[str, Any], line: dict[str, Any]) -> bool:
    """Whether a line begins where a column ends."""
    last, first = column["spans"][-1], line["spans"][0]
    if not last["chars"] or not first["chars"] or column["dir"] != line["dir"]:
        return False
    size, (dx, dy) = min(last["size"], first["size"]), line["dir"]
    a, b = last["chars"][-1]["bbox"], first["chars"][0]["bbox"]
    away = [(b[i] + b[i + 2] - a[i] - a[i + 2]) / 2 for i in (0, 1)]
    along, across = away[0] * dx + away[1] * dy, away[0] * dy - away[1] * dx
    return bool(abs(across) <= _BESIDE * size and 0.0 < along <= (1.0 + _GAP) * max(last["size"], first["size"]))
