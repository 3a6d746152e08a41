"""Where the layout network is not believed: weak pictures over text, weak tables without columns, formulas that are prose.

Seen on generated pages and real scans (layout_cdla, confidence 0.3 and up): the classes it knows are right at high scores and guesses at
low ones, and its `equation` takes short lines of a form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from services.layout_worker.boxes import area, share_inside
from services.layout_worker.found import FoundBox
from shared.contracts.layout import TextLine

INSIDE = 0.5
"""Share of a line's area in a picture from which it is a line of that picture."""
FULL_OF_TEXT = 0.35
"""Share of a picture's area under lines from which, with `FULL_LINES` lines, it is text: the network takes framed code and three-line
tables for figures."""
FULL_LINES = 4
SURE_PICTURE = 0.5
"""A weaker picture with `FULL_LINES` lines in it is none; real figures of generated pages score 0.85 and more."""
SURE_TABLE = 0.75
"""A weaker table must show columns; real tables of generated pages score 0.95 and more, lists and paragraphs up to 0.55 (one 0.82)."""
HEADING_LINES = 3
"""A heading with more lines is text: the network takes the address lines of forms for headings, at 0.96."""
CHINESE, WORDS = 0.3, 0.7
"""Share of Chinese characters, and of letters in words of three and more, from which a formula is prose."""
_WORD = re.compile(r"[^\W\d_]{3,}")


def is_no_picture(box: FoundBox, lines: Sequence[TextLine]) -> bool:
    """Whether a weak picture stands on text: the network gives such boxes to whole pages and to white space with a page number."""
    if box.label != "picture" or box.score >= SURE_PICTURE:
        return False
    return sum(share_inside(line.bbox, box.bbox) > INSIDE for line in lines) >= FULL_LINES


def is_full_of_text(bbox: Sequence[float], lines: Sequence[TextLine]) -> bool:
    """Whether the lines of a picture cover so much of it that it is text."""
    return len(lines) >= FULL_LINES and sum(area(line.bbox) for line in lines) >= FULL_OF_TEXT * area(bbox)


def has_columns(lines: Sequence[TextLine]) -> bool:
    """Whether at least two rows hold two lines side by side."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda item: (item.bbox[1] + item.bbox[3], item.bbox[0])):
        middle = (line.bbox[1] + line.bbox[3]) / 2
        if rows and rows[-1][0].bbox[1] < middle < rows[-1][0].bbox[3]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return sum(_side_by_side(row) for row in rows) >= 2


def is_prose(text: str) -> bool:
    """Whether text that the network took for a formula is words: Chinese characters, or mostly words of three letters and more."""
    letters = [char for char in text if not char.isspace()]
    if sum("\u4e00" <= char <= "\u9fff" for char in letters) > CHINESE * len(letters):
        return True
    return sum(len(word) for word in _WORD.findall(text)) > WORDS * len(letters)


def _side_by_side(row: Sequence[TextLine]) -> bool:
    spans = sorted((line.bbox[0], line.bbox[2]) for line in row)
    return any(b[0] > a[1] for a, b in pairwise(spans))
