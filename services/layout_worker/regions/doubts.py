"""Where the layout network is not believed: weak pictures over text, weak tables without columns, formulas that are prose.

Seen on generated pages and real scans (layout_cdla, confidence 0.3 and up): the classes it knows are right at high scores and guesses at
low ones, and its `equation` takes short lines of a form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.layout_worker.boxes import area, share_inside
from services.layout_worker.found import FoundBox
from services.layout_worker.regions import gutters
from services.layout_worker.tables.rows import is_wide, pieces, rows_of, without_spanning
from shared.contracts.layout import TextLine

INSIDE = 0.5
"""Share of a line's area in a picture from which it is a line of that picture."""
FULL_OF_TEXT = 0.35
"""Share of a picture's area under lines from which, with `FULL_LINES` lines, it is text: the network takes framed code and three-line
tables for figures."""
FULL_LINES = 4
SURE_PICTURE = 0.5
"""A weaker picture with `FULL_LINES` lines in it is none; real figures of generated pages score 0.85 and more."""
WHOLE_PAGE = 0.75
"""Share of the page from which a picture with `FULL_LINES` lines in it is the page, however sure."""
SURE_TABLE = 0.9
"""A table below this must show two pieces side by side in two rows; real tables of generated pages score 0.95 and more, paragraphs and
lists mostly 0.5, one 0.82."""
WEAK_TABLE = 0.75
"""Below this it must not look like prose in columns either."""
CELL_WIDTH = 15.0
"""Width, in line heights, up to which a line may be a cell of a doubtful table: 30 letters."""
TABLE_ROWS = 3
"""Rows from which text that the network took for a figure may be a table."""
PROSE_LINES = 20
"""Lines from which a table, however sure, is prose when most of its text stands in long lines with gutters between: a newspaper's columns."""
SIDE_TO_SIDE, SET = 0.8, 0.6
"""Share of a column's width that a line covers which runs from side to side, and share of such lines in columns of prose, however narrow."""
GRID_ROWS, GRID_CELLS, GRID_SHARE, GRID_WIDTH = 4, 3, 0.7, 9.0
"""Rows, pieces in a row, share of such rows from which text is a table, and the width of most of its text at most, in line heights: lines
of three columns of prose have 12 and more."""
HEADING_LINES = 3
"""A heading with more lines is text: the network takes the address lines of forms for headings, at 0.96."""
CHINESE, WORDS = 0.3, 0.7
"""Share of Chinese characters, and of letters in words of three and more, from which a formula is prose."""
_WORD = re.compile(r"[^\W\d_]{3,}")


def is_no_picture(box: FoundBox, lines: Sequence[TextLine], page: float) -> bool:
    """Whether a weak picture, or one over nearly all of the page (of this area), stands on text: it is the photograph of a page, or white
    space with a page number."""
    if box.label != "picture" or (box.score >= SURE_PICTURE and area(box.bbox) < WHOLE_PAGE * page):
        return False
    return sum(share_inside(line.bbox, box.bbox) > INSIDE for line in lines) >= FULL_LINES


def is_full_of_text(bbox: Sequence[float], lines: Sequence[TextLine]) -> bool:
    """Whether the lines of a picture cover so much of it that it is text."""
    return len(lines) >= FULL_LINES and sum(area(line.bbox) for line in lines) >= FULL_OF_TEXT * area(bbox)


def is_no_table(score: float, lines: Sequence[TextLine]) -> bool:
    """Whether a table of this score is none: no cells in it, or, where it is weak, most of its text in long lines."""
    words = _words(lines)
    if score >= SURE_TABLE:
        parted = gutters.parts(lines) if len(words) >= PROSE_LINES else []
        return len(parted) > 1 and (is_wide(words, CELL_WIDTH) or _is_set(parted))
    if sum(pieces(row) >= 2 for row in rows_of(words)) < 2:
        return True
    return score < WEAK_TABLE and (is_wide(words, CELL_WIDTH) or len(gutters.parts(lines)) > 1)


def _is_set(columns: Sequence[Sequence[TextLine]]) -> bool:
    """Whether most lines of columns run from side to side, as prose is set and cells are not."""
    full = count = 0
    for column in columns:
        width = max(line.bbox[2] for line in column) - min(line.bbox[0] for line in column)
        full += sum(line.bbox[2] - line.bbox[0] >= SIDE_TO_SIDE * width for line in column)
        count += len(column)
    return count >= PROSE_LINES and full >= SET * count


def is_rows(lines: Sequence[TextLine]) -> bool:
    """Whether text that the network took for a thing of its own is a table: short pieces, side by side in most of its rows."""
    words = _words(lines)
    rows = rows_of(words)
    if len(rows) < TABLE_ROWS or 2 * sum(line.vertical for line in words) > len(words) or is_wide(words, GRID_WIDTH):
        return False
    counts = [pieces(row) for row in without_spanning(rows)]
    return sum(count >= 2 for count in counts) >= max(2, GRID_SHARE * len(counts))


def is_grid(lines: Sequence[TextLine]) -> bool:
    """Whether text that no network took for a table is one: nearly all of at least `GRID_ROWS` rows hold `GRID_CELLS` pieces and more."""
    words = _words(lines)
    if 2 * sum(line.vertical for line in words) > len(words):
        return False
    counts = [pieces(row) for row in rows_of(words)]
    return (
        not is_wide(words, GRID_WIDTH)
        and len(counts) >= GRID_ROWS
        and sum(count >= GRID_CELLS for count in counts) >= GRID_SHARE * len(counts)
    )


def _words(lines: Sequence[TextLine]) -> list[TextLine]:
    """Lines without bullets (text without a letter or digit): these stand beside text and are no cells."""
    return [line for line in lines if line.text is None or any(char.isalnum() for char in line.text)]


def is_prose(text: str) -> bool:
    """Whether text that the network took for a formula is words: Chinese characters, or mostly words of three letters and more."""
    letters = [char for char in text if not char.isspace()]
    if sum("\u4e00" <= char <= "\u9fff" for char in letters) > CHINESE * len(letters):
        return True
    return sum(len(word) for word in _WORD.findall(text)) > WORDS * len(letters)
