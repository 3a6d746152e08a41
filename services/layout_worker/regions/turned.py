"""Text of the page itself that stands on its side, on its head or across: regions of its own, by the rules for upright text in its own frame.

Only a table has lines of several angles: heads of narrow columns are turned, and are cells like the others. All else is parted by angle, and
what is a heading, a list or a paragraph is asked of each part on the page turned so that it is upright.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.layout_worker.boxes import Box, area, hull, share_inside
from services.layout_worker.regions import doubts, kinds, structure, tables
from services.layout_worker.regions.drafts import Draft, Drawn, Piece
from services.layout_worker.regions.style import Style
from shared.contracts.layout import TextLine
from shared.contracts.turned import LINE_HEIGHT, Turned

IN_TABLE = 0.5
"""Share of a line's area in a table, or a picture, from which it belongs to it."""
MAIN = 0.5
"""Share of a page's characters at one angle above which the page is set at that angle, and has its headers and numbers there."""
HEADS, ON_TOP = 2, 1.0
"""Turned lines above a table from which they are its heads, and the white between in their line heights, at most."""
ASIDE_LINES = 3
"""Lines of a stamp in the margin, at most."""


def parted(pieces: Sequence[Piece], seals: Sequence[Box]) -> tuple[list[Piece], list[TextLine]]:
    """Upright lines (and those of seals, which go round), and turned ones."""

    def is_turned(piece: Piece) -> bool:
        return bool(piece.line.angle) and not (piece.red and any(_is_in(piece.line, seal) for seal in seals))

    return [p for p in pieces if not is_turned(p)], [p.line for p in pieces if is_turned(p)]


def without_cells(lines: Sequence[TextLine], drafts: Sequence[Draft]) -> list[TextLine]:
    """Turned lines outside all tables; the others are added to theirs, and so are several that stand right on top of one without a grid."""
    for table in drafts:
        heads = [line for line in lines if table.label == "table" and table.grid is None and _is_head(line, table.bbox)]
        if len(heads) >= HEADS:
            table.bbox = hull([table.bbox, *(line.bbox for line in heads)])
    rest = []
    for line in lines:
        homes = [d for d in drafts if d.label == "table" and line.angle % 90 == 0 and _is_in(line, d.bbox)]
        if homes:
            min(homes, key=lambda d: area(d.bbox)).lines.append(line)
        else:
            rest.append(line)
    return rest


def added(
    drafts: Sequence[Draft], lines: Sequence[TextLine], drawn: Drawn, style: Style, width: float, height: float
) -> list[Draft]:
    """The regions of a page with those of its turned lines. Pictures that are nothing but turned text are not kept.

    A page that is set at an angle (a wide table on a high page) has its tables, headers, numbers and captions in that frame too.
    """
    known = [d for d in drafts if d.label != "picture" or not doubts.is_full_of_text(d.bbox, _inside(lines, d))]
    upright = [line for draft in known for line in draft.lines if not line.angle]
    out = list(known)
    for angle in sorted({line.angle for line in lines}):
        mine = [line for line in lines if line.angle == angle]
        main = angle % 90 == 0 and _characters(mine) > MAIN * (_characters(lines) + _characters(upright))
        found = _drafts(mine, known, drawn if main else None, style, Turned(angle, width, height))
        out += found if main else [_as_aside(draft, upright) for draft in found]
    return out


def _drafts(
    lines: Sequence[TextLine], known: Sequence[Draft], drawn: Drawn | None, style: Style, frame: Turned
) -> list[Draft]:
    """Regions of lines of one angle, on the page as displayed. `drawn`: of a page that is set at this angle."""
    pairs = [(_level(line, frame), line) for line in lines]
    back = {id(level): line for level, line in pairs}
    things = [d for d in known if d.label in ("picture", "table")] if frame.square else []
    found = [] if drawn is None else _tables([level for level, _ in pairs], things, drawn, frame)
    held = {id(line) for table in found for line in table.lines}
    pictures = [draft for draft in things if draft.label == "picture"]
    groups: dict[int, list[TextLine]] = {}
    for level, line in pairs:
        if id(level) not in held:
            groups.setdefault(next((i for i, d in enumerate(pictures) if _is_in(line, d.bbox)), -1), []).append(level)
    taken = [frame.into(d.bbox) for d in known if d.lines or d in things] if frame.square else []
    taken += [table.bbox for table in found]
    for home, group in sorted(groups.items()):
        part = structure.drafts(group, style, taken if home < 0 else ())
        found += part if home < 0 else [replace(draft, inside=list(pictures[home].bbox)) for draft in part]
    if drawn is not None:
        around = [replace(draft, bbox=frame.into(draft.bbox), lines=[]) for draft in things]
        found = [draft for draft in kinds.settled([*around, *found], style, frame.width, frame.height) if draft.lines]
    for draft in found:
        draft.lines = [back[id(line)] for line in draft.lines]
        draft.bbox = hull(line.bbox for line in draft.lines)
        draft.label = draft.label if frame.square else "text"
        draft.reason = draft.reason or f"turned by {frame.angle:.0f} degrees"
    return found


def _tables(lines: Sequence[TextLine], things: Sequence[Draft], drawn: Drawn, frame: Turned) -> list[Draft]:
    """Tables without a drawn grid, in the text's frame."""
    across = frame.angle % 180 != 0
    seen = Drawn(
        rules=[replace(r, bbox=frame.into(r.bbox), horizontal=r.horizontal != across) for r in drawn.rules],
        filled=[replace(one, bbox=frame.into(one.bbox)) for one in drawn.filled],
    )
    found = tables.without_grid(seen, lines, [frame.into(thing.bbox) for thing in things], [])
    for line in lines:
        home = next((table for table in found if _is_in(line, table.bbox)), None)
        if home is not None:
            home.lines.append(line)
    return [table for table in found if table.lines]


def _level(line: TextLine, frame: Turned) -> TextLine:
    return replace(line, bbox=frame.into(line.bbox, LINE_HEIGHT * (line.font_size or 0.0)), angle=0.0)


def _as_aside(draft: Draft, upright: Sequence[TextLine]) -> Draft:
    """A short text on its side that stands left or right of all upright text is a note beside it."""
    if draft.label not in ("text", "section_header") or draft.inside or not upright or len(draft.lines) > ASIDE_LINES:
        return draft
    x0, _, x1, _ = hull(line.bbox for line in upright)
    if draft.lines[0].angle in (90, 270) and (draft.bbox[2] <= x0 or draft.bbox[0] >= x1):
        draft.label = "aside_text"
    return draft


def _inside(lines: Sequence[TextLine], draft: Draft) -> list[TextLine]:
    return [line for line in lines if line.angle % 90 == 0 and _is_in(line, draft.bbox)]


def _is_in(line: TextLine, box: Box) -> bool:
    return share_inside(line.bbox, box) >= IN_TABLE


def _is_head(line: TextLine, table: Box) -> bool:
    """Whether a line stands upright on a table's upper edge."""
    x0, _, x1, y1 = line.bbox
    return line.angle in (90, 270) and table[0] <= x0 and x1 <= table[2] and 0 <= table[1] - y1 <= ON_TOP * (x1 - x0)


def _characters(lines: Sequence[TextLine]) -> int:
    return sum(len(line.text or "") for line in lines)
