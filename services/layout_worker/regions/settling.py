"""A region that has its lines: what it is after all, and whether it is several.

A table without cells, a formula of words and a heading of many lines are text; a text of columns, or with lists, code and headings in it, is
several regions; so are a caption with the text above it, and a header with a heading in it. A picture with text in it is a picture and a
text that knows it, or text after all.
"""

from __future__ import annotations

import msgspec

from services.layout_worker.boxes import hull
from services.layout_worker.regions import asides, captions, columns, doubts, gutters, kinds, structure
from services.layout_worker.regions.drafts import HOLDS_TEXT, Draft
from services.layout_worker.regions.style import Style
from services.layout_worker.tables import cells, extent
from shared.contracts.document import Label
from shared.contracts.layout import TextLine

LEVEL = 2.0
"""Width of a line, in its heights, from which it is level and not a character or two of a vertical one."""


def settled(draft: Draft, style: Style) -> list[Draft]:
    """The region with a box that fits its lines; a picture with text in it gives two regions, or is text after all."""
    if not draft.lines or draft.label == "seal":
        return [draft]
    if draft.grid is not None:
        draft.lines = cells.cut(draft.lines, draft.grid, draft.bbox)
        return [draft]
    around = hull(line.bbox for line in draft.lines)
    if draft.label == "table" and draft.found_by == "model" and doubts.is_no_table(draft.confidence, draft.lines):
        draft.label, draft.reason = "text", "a table without cells"
    if draft.label == "formula" and doubts.is_prose("".join(line.text or "" for line in draft.lines)):
        draft.label, draft.reason = "text", "prose, no formula"
    if draft.label in ("title", "section_header") and len(draft.lines) > doubts.HEADING_LINES:
        draft.label, draft.reason = "text", "too long for a heading"
    if draft.label == "section_header" and len(parts := structure.headed(draft.lines, style)) > 1:
        return [msgspec.structs.replace(draft, label=k, lines=x, bbox=hull(one.bbox for one in x)) for k, x in parts]
    if draft.label == "caption":
        return _with_text_above(draft)
    if draft.label in ("page_header", "page_footer"):
        return _without_headings(draft, style)
    if draft.label in HOLDS_TEXT:
        return _by_columns(draft, style)
    if draft.label != "picture":
        draft.bbox = hull([around, draft.bbox])
        return _without_far_rows(draft) if draft.label == "table" else [draft]
    if len(apart := captions.parted(draft)) > 1:
        return [*settled(apart[0], style), apart[1]]
    text = Draft(
        label="text",
        raw_label=draft.raw_label,
        bbox=around,
        confidence=draft.confidence,
        found_by=draft.found_by,
        lines=draft.lines,
        inside=list(draft.bbox),
        reason="text inside a picture",
    )
    if doubts.is_full_of_text(draft.bbox, draft.lines):
        text.reason, text.inside = "a picture that is mostly text", None
        return _by_columns(text, style)
    draft.lines = []
    return [draft, text]


def _with_text_above(caption: Draft) -> list[Draft]:
    """A caption that begins below lines of text is these and a caption."""
    lines = sorted(caption.lines, key=columns.place)
    begin = next((i for i, line in enumerate(lines) if captions.begins_caption(line.text or "")), 0)
    parts: list[tuple[Label, list[TextLine]]] = [("text", lines[:begin]), ("caption", lines[begin:])]
    return [
        msgspec.structs.replace(caption, label=label, lines=part, bbox=hull(line.bbox for line in part))
        for label, part in parts
        if part
    ]


def _without_far_rows(table: Draft) -> list[Draft]:
    """A table, its caption, and lines that only stand above or below it."""
    table.lines, far = extent.without_far(table.lines)
    texts = [
        msgspec.structs.replace(table, label="text", bbox=list(line.bbox), lines=[line], reason="apart from the table")
        for line in far
    ]
    return [*captions.parted(table), *texts]


def _without_headings(running: Draft, style: Style) -> list[Draft]:
    """A header, and the much larger lines that the network put into it, each by itself."""
    large = [
        line
        for line in running.lines
        if line.text and (style.ratio(line) or 0.0) >= kinds.HEADER_LARGER and len(line.text) > 1
    ]
    rest = [line for line in running.lines if not any(line is one for one in large)]
    if not large or not rest:
        return [msgspec.structs.replace(running, bbox=hull(line.bbox for line in running.lines))]
    parts: list[tuple[Label, list[TextLine]]] = [("section_header", large), (running.label, rest)]
    return [
        msgspec.structs.replace(running, label=label, lines=lines, bbox=hull(line.bbox for line in lines))
        for label, lines in parts
    ]


def _without_level(text: Draft) -> tuple[Draft, list[Draft]]:
    """A text of vertical lines, and the level lines above or below all of these, each by itself: running heads that were boxed with it."""
    vertical = [line.bbox for line in text.lines if line.vertical]
    if 2 * len(vertical) <= len(text.lines):
        return text, []
    top, bottom = min(box[1] for box in vertical), max(box[3] for box in vertical)
    level = [
        line
        for line in text.lines
        if not line.vertical
        and line.bbox[2] - line.bbox[0] >= LEVEL * (line.bbox[3] - line.bbox[1])
        and (line.bbox[3] <= top or line.bbox[1] >= bottom)
    ]
    if not level:
        return text, []
    rest = [line for line in text.lines if not any(line is one for one in level)]
    around = hull(line.bbox for line in rest)
    apart = [msgspec.structs.replace(text, bbox=list(x.bbox), lines=[x], reason="level, above or below") for x in level]
    return msgspec.structs.replace(text, bbox=around, lines=rest), apart


def _by_columns(draft: Draft, style: Style) -> list[Draft]:
    """A text region for each column of a text region, with boxes around the lines; a table where the lines stand like cells.

    Where its own type and markers say that a text is code, a list or a heading in places, these are regions too.
    """
    if draft.label == "text" and doubts.is_grid(draft.lines):
        box = hull(line.bbox for line in draft.lines)
        return [msgspec.structs.replace(draft, label="table", bbox=box, reason="rows of cells")]
    draft, level = _without_level(draft)
    if level:
        return [*_by_columns(draft, style), *level]
    body, notes = asides.parted(draft.lines, style)
    columns_of = gutters.parts(body)
    parts: list[tuple[Label, list[TextLine]]] = [(draft.label, lines) for lines in columns_of]
    if draft.label in ("text", "reference") and all(line.text is not None for line in draft.lines):
        parts = [part for lines in columns_of for part in structure.parted(draft.label, lines, style)]
    parts += [("text", note) for note in notes]
    return [
        msgspec.structs.replace(
            draft,
            label=label,
            bbox=hull(line.bbox for line in lines),
            lines=lines,
            reason=draft.reason if len(columns_of) == 1 else "cut into columns",
        )
        for label, lines in parts
    ]
