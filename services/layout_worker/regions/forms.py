"""Forms: boxes to tick with their words, and places to write in, empty or filled in.

Interactive fields are known from the document. Printed ones are frames and rules with a name before them: a small square before a text is
ticked, a flat frame beside or below a text is written in, and so is a rule after a name with a colon.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.layout_worker.boxes import Box, common, hull, overlap, share_inside
from services.layout_worker.regions.drafts import Draft, Drawn
from services.layout_worker.tables import ruled
from shared.contracts.document import Label
from shared.contracts.layout import TextLine
from shared.documents.page import Rule

SQUARE = (5.0, 16.0)
"""Points: sides of a box to tick."""
ASPECT = 1.35
"""Times one side of it is longer than the other, at most."""
FIELD = (9.0, 45.0)
"""Points: height of a place for one to three lines."""
LEAST_WIDTH, MOST_WIDTH = 28.0, 0.9
"""Points, and share of the page's width, of such a place."""
REACH = 160.0
"""Points from the end of a name to its field, at most: names and fields stand in columns."""
HELD = 2
"""Lines in a field, at most; more is text in a frame."""
COLONS = (":", "：")
TICKED, UNTICKED = "☑", "☐"


def fields(drawn: Drawn, lines: Sequence[TextLine], tables: Sequence[Box], width: float) -> list[Draft]:
    """Regions `checkbox` and `form_field`, each with its lines; a line is in one at most. What lies in `tables` stays theirs."""
    if not drawn.widgets and not drawn.rules:
        return []
    free = [line for line in lines if not any(share_inside(line.bbox, table) > 0.5 for table in tables)]
    taken: set[int] = set()
    out: list[Draft] = []
    frames = [box for box in ruled.frames(drawn.rules) if not _is_in(box, tables)]
    for widget in drawn.widgets:
        if _is_in(widget.bbox, tables):
            continue
        if widget.checked is not None:
            out.append(_ticked(widget.bbox, widget.checked, free, taken))
        else:
            out.append(_field(widget.bbox, "widget", free, taken))
    for box in frames:
        if any(common(box, one.bbox) > 0 for one in out):
            continue
        across, down = box[2] - box[0], box[3] - box[1]
        if SQUARE[0] <= min(across, down) and max(across, down) <= min(SQUARE[1], ASPECT * min(across, down)):
            if _words_after(box, free, taken) is not None:
                out.append(_ticked(box, None, free, taken))
            continue
        flat = FIELD[0] <= down <= FIELD[1] and LEAST_WIDTH <= across <= MOST_WIDTH * width
        if flat and _has_name(box, free) and len(_inside(box, free, taken)) <= HELD:
            out.append(_field(box, "frame", free, taken))
    for rule in drawn.rules:
        place = _written_on(rule, free, width)
        if place is not None and not _is_in(place, tables) and all(common(place, one.bbox) <= 0 for one in out):
            out.append(_field(place, "rule", free, taken))
    return out


def _is_in(box: Box, tables: Sequence[Box]) -> bool:
    return any(share_inside(box, table) > 0.5 for table in tables)


def _ticked(box: Box, checked: bool | None, lines: Sequence[TextLine], taken: set[int]) -> Draft:
    """The box with its words, the line after it; where its state is known, a sign of it is the first line."""
    words = _words_after(box, lines, taken)
    held = [] if checked is None else [TextLine(bbox=list(box), text=TICKED if checked else UNTICKED)]
    if words is not None:
        taken.add(id(words))
        held.append(words)
    return _draft(
        "checkbox", "square" if checked is None else "widget", hull([box, *(line.bbox for line in held)]), held
    )


def _field(box: Box, raw_label: str, lines: Sequence[TextLine], taken: set[int]) -> Draft:
    held = _inside(box, lines, taken)
    taken.update(id(line) for line in held)
    return _draft("form_field", raw_label, hull([box, *(line.bbox for line in held)]), held)


def _draft(label: Label, raw_label: str, bbox: Box, lines: list[TextLine]) -> Draft:
    return Draft(label=label, raw_label=raw_label, bbox=bbox, confidence=1.0, found_by="native", lines=lines)


def _inside(box: Box, lines: Sequence[TextLine], taken: set[int]) -> list[TextLine]:
    return [line for line in lines if id(line) not in taken and share_inside(line.bbox, box) >= 0.6]


def _words_after(box: Box, lines: Sequence[TextLine], taken: set[int]) -> TextLine | None:
    """The line that begins right after a box, in its row."""
    side = box[3] - box[1]
    near = [
        line
        for line in lines
        if id(line) not in taken
        and -0.2 * side <= line.bbox[0] - box[2] <= 2.0 * side
        and overlap(line.bbox[1], line.bbox[3], box[1], box[3]) >= 0.4 * min(side, line.bbox[3] - line.bbox[1])
    ]
    return min(near, key=lambda line: (line.bbox[0], line.bbox[1]), default=None)


def _has_name(box: Box, lines: Sequence[TextLine]) -> bool:
    """Whether a text ends before the box in its row, or stands right above its beginning."""
    for line in lines:
        x0, y0, x1, y1 = line.bbox
        height = y1 - y0
        beside = overlap(y0, y1, box[1], box[3]) >= 0.5 * height and -2.0 <= box[0] - x1 <= REACH
        above = 0 <= box[1] - y1 <= height and abs(x0 - box[0]) <= height
        if beside or above:
            return True
    return False


def _written_on(rule: Rule, lines: Sequence[TextLine], width: float) -> Box | None:
    """The place above a rule after a name with a colon, or none."""
    x0, _, x1, bottom = rule.bbox
    if not rule.horizontal or not LEAST_WIDTH <= x1 - x0 <= MOST_WIDTH * width:
        return None
    for line in lines:
        height = line.bbox[3] - line.bbox[1]
        if (
            (line.text or "").rstrip().endswith(COLONS)
            and -2.0 <= x0 - line.bbox[2] <= REACH
            and line.bbox[1] + 0.5 * height <= bottom <= line.bbox[3] + 0.8 * height
        ):
            return [x0, min(line.bbox[1], bottom - 1.2 * height), x1, bottom]
    return None
