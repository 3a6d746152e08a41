"""Captions by where they stand and how they begin, and where they hide: in the box of the thing they name, or under it without a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

import msgspec

from services.layout_worker.boxes import Box, hull, overlap
from services.layout_worker.regions import columns
from services.layout_worker.regions.drafts import Draft
from services.layout_worker.regions.style import Style
from services.layout_worker.tables.rows import rows_of
from shared.contracts.document import Label
from shared.contracts.layout import TextLine

LINES = 8
"""Lines of a caption, at most: those of papers explain what is seen."""
NEAR = 3.0
"""Line heights between a caption and what it names, at most."""
BESIDE = 0.2
"""Share of the page's width that may lie between a caption of one line and what it names."""
RIGHT_UNDER, UNDER_LINES = 1.3, 3
"""Line heights between a picture and a small text that is its caption without saying so, and lines of that, at most."""
SMALL = 0.92
"""Size of such a text by the usual one, at most; as of a footnote."""
ROOM = 3.0
"""Line heights between a caption in a picture's box and a number of its axis in the same row, at least."""
GOES_ON = 0.5
"""Line heights to the next line of a caption inside a box, at most."""
SENTENCE = 60
"""Width in Latin letters from which a text in the page's usual type that does not begin like a caption is none: it is a paragraph beside."""
_CAPTION = re.compile(
    r"\s*(?:(?i:fig(?:ure|\.)?|table|tab\.|chart|plate|scheme|abb(?:ildung|\.)|tabelle)\s*(?:\d{1,3}|[IVXL]{1,5}|[A-Z])(?:[.-]\d+)*\b"
    r"|(?:图表|圖表|図表|表格|[图表圖図])\s*[\d一二三四五六七八九十]+(?:[-.．]\d+)*)"
)


def begins_caption(text: str) -> bool:
    """Whether a line begins like the caption of a figure or a table."""
    return _CAPTION.match(text) is not None


def parted(thing: Draft) -> list[Draft]:
    """A picture or a table whose box holds its caption, as the two: lines at its upper or lower edge, of which the first begins like one.

    The box then ends halfway between.
    """
    lines = sorted(thing.lines, key=columns.place)
    room = ROOM if thing.label == "picture" else float("inf")
    found = _at_top(lines, room) or _at_bottom(lines, room)
    if not found or (len(found) == len(lines) and thing.label != "picture"):
        return [thing]
    taken = {id(line) for line in found}
    rest = [line for line in lines if id(line) not in taken]
    around, (x0, y0, x1, y1) = hull(line.bbox for line in found), thing.bbox
    if around[1] + around[3] < y0 + y1:
        y0 = max(y0, around[3])
    else:
        y1 = min(y1, around[1])
    caption = msgspec.structs.replace(
        thing, label="caption", bbox=around, lines=found, grid=None, reason="in the box of what it names"
    )
    return [msgspec.structs.replace(thing, lines=rest, bbox=[x0, y0, x1, max(y0, y1)]), caption]


def _at_top(lines: Sequence[TextLine], room: float) -> list[TextLine]:
    """The line in the first row that begins like a caption and stands alone."""
    first = [line for line in lines if line.bbox[1] < lines[0].bbox[3]]
    return [line for line in first if begins_caption(line.text or "") and _is_alone(line, lines, room)][:1]


def _at_bottom(lines: Sequence[TextLine], room: float) -> list[TextLine]:
    """The last lines, from the last that begins like a caption on, where each stands alone in its row and they are near each other."""
    for index in range(len(lines) - 1, max(-1, len(lines) - UNDER_LINES - 1), -1):
        line = lines[index]
        if not _is_alone(line, lines, room):
            return []
        if begins_caption(line.text or ""):
            return list(lines[index:])
        above = lines[index - 1] if index else None
        if above is None or line.bbox[1] - above.bbox[3] > GOES_ON * (line.bbox[3] - line.bbox[1]):
            return []
    return []


def _is_alone(line: TextLine, lines: Sequence[TextLine], room: float) -> bool:
    """Whether nothing stands in a line's row, or nothing nearer than `room` line heights."""
    height = line.bbox[3] - line.bbox[1]
    return not any(
        overlap(line.bbox[1], line.bbox[3], other.bbox[1], other.bbox[3]) > 0.3 * height
        and -overlap(line.bbox[0], line.bbox[2], other.bbox[0], other.bbox[2]) < room * height
        for other in lines
        if other is not line
    )


def kind_of(draft: Draft, style: Style, things: Sequence[Draft], width: float) -> Label | None:
    """`caption` where a text is one by its beginning, or by its type right under a picture; `text` where one of the network's is none; none
    where nothing speaks for either. `things` are the pictures and tables of the page, `width` is the page's."""
    row = min(rows_of(draft.lines), key=lambda row: row[0].bbox[1])
    text = " ".join(line.text or "" for line in sorted(row, key=lambda line: line.bbox[0])).strip()
    if begins_caption(text) and len(draft.lines) <= LINES:
        # A short one may stand at the margin, or in the middle, of what it names.
        beside = BESIDE * width if len(draft.lines) == 1 else 0.0
        return "caption" if draft.label == "caption" or is_by_its_thing(draft, things, beside) else None
    small = all((style.ratio(line) or 1.0) <= SMALL or line.italic for line in draft.lines)
    if draft.label == "caption":
        whole = " ".join(line.text or "" for line in draft.lines)
        wide = len(whole) + sum(character > "\u2e80" for character in whole)
        return "text" if not is_by_its_thing(draft, things) or (not small and wide >= SENTENCE) else "caption"
    if small and len(draft.lines) <= UNDER_LINES and _is_right_under(draft.bbox, draft.lines, things):
        return "caption"
    return None


def is_by_its_thing(draft: Draft, things: Sequence[Draft], beside: float = 0.0) -> bool:
    """Whether a picture or a table stands close above or below, or so far beside that."""
    x0, y0, x1, y1 = draft.bbox
    reach = NEAR * max(line.bbox[3] - line.bbox[1] for line in draft.lines)
    return any(
        overlap(x0, x1, other.bbox[0], other.bbox[2]) > -beside
        and -overlap(y0, y1, other.bbox[1], other.bbox[3]) <= reach
        for other in things
    )


def _is_right_under(bbox: Box, lines: Sequence[TextLine], things: Sequence[Draft]) -> bool:
    height = median(line.bbox[3] - line.bbox[1] for line in lines)
    return any(
        -0.5 * height <= bbox[1] - other.bbox[3] <= RIGHT_UNDER * height
        and overlap(bbox[0], bbox[2], other.bbox[0], other.bbox[2]) >= 0.8 * (bbox[2] - bbox[0])
        for other in things
        if other.label == "picture"
    )
