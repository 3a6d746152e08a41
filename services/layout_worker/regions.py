"""Where everything is: from boxes of the layout network and text lines to regions that hold every line exactly once.

1. Boxes are cleaned: weak ones, doubles and boxes inside boxes go (`clean`).
2. Each line goes to the box that contains most of it; of equals, to the smallest (`build`).
3. Lines inside a picture get a text region of their own, so that the picture stays a picture and the text is not lost. A "picture"
   that is mostly text is a text region.
4. Lines outside all boxes become leftover regions: neighbours in one column belong together (`grouped`).
Measured ground for this: layout_cdla at confidence 0.3 leaves 0.4 % of the lines of generated scans and 0.6 % of the characters of real
pages outside all of its boxes; at its default of 0.5 up to 45 % of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from services.layout_worker import columns, doubts, gutters
from services.layout_worker.boxes import Box, area, clipped, common, hull, iou, share_inside
from services.layout_worker.found import FoundBox
from shared.contracts.document import Label
from shared.contracts.layout import TextLine

SAME_BOX = 0.6
"""Boxes with a larger intersection over union are one thing, seen twice."""
INSIDE = 0.85
"""Share of a box's area in another from which it counts as contained."""
TWICE = 0.6
"""The same for two boxes of one label: the network gives some footers twice, one box lower than the other."""
ON_LINES = 0.25
"""Share of an empty text box under lines of other regions from which it is one of them, seen twice."""
OWN = 0.5
"""Share of a line's area in a box from which the line belongs to it."""
SAME_SEAL = 0.3
"""Intersection over union from which a box of the network is a stamp that was found by its colour."""

HOLDS_TEXT: frozenset[Label] = frozenset(
    {
        "title",
        "section_header",
        "text",
        "list_item",
        "caption",
        "footnote",
        "code",
        "reference",
        "aside_text",
        "page_header",
        "page_footer",
        "page_number",
    }
)
"""Labels of regions that are nothing but their lines."""
_GROWS: frozenset[Label] = frozenset({"text", "list_item", "footnote", "code", "reference"})
"""Labels of texts that a line outside all boxes may go on."""
_KEPT_INSIDE: frozenset[Label] = frozenset({"title", "section_header", "caption", "page_number", "formula", "seal"})
"""A box of these labels inside a text box is a part with a meaning of its own."""


FoundBy = Literal["model", "native", "leftover", "colour"]


class Piece(msgspec.Struct, frozen=True):
    """A line on its way to a region. `red`: its ink is mostly red, so in a seal it is the seal's own text."""

    line: TextLine
    red: bool = False


class Draft(msgspec.Struct, kw_only=True):
    """A region before it is routed."""

    label: Label
    raw_label: str
    bbox: Box
    confidence: float
    found_by: FoundBy
    lines: list[TextLine] = []
    direct: bool = False
    """Small and single-line, to be read as it is."""
    reason: str | None = None


def clean(boxes: Sequence[FoundBox], width: float, height: float, min_confidence: float) -> list[FoundBox]:
    """Boxes of the network, clipped to the page, without weak ones, doubles and boxes that add nothing. Best first."""
    kept: list[FoundBox] = []
    for box in sorted(boxes, key=lambda b: (-b.score, b.bbox)):
        bbox = clipped(box.bbox, width, height)
        if box.score >= min_confidence and area(bbox) > 0 and all(iou(bbox, other.bbox) < SAME_BOX for other in kept):
            kept.append(msgspec.structs.replace(box, bbox=bbox))
    return [box for box in kept if not any(_adds_nothing(box, other) for other in kept)]


def _adds_nothing(inner: FoundBox, outer: FoundBox) -> bool:
    least = TWICE if inner.label == outer.label else INSIDE
    if inner is outer or area(inner.bbox) >= area(outer.bbox) or share_inside(inner.bbox, outer.bbox) < least:
        return False
    if outer.label in ("picture", "table"):
        return inner.label not in ("caption", "seal")
    if outer.label in HOLDS_TEXT:
        return inner.label in HOLDS_TEXT - _KEPT_INSIDE or inner.label == outer.label
    return inner.label in HOLDS_TEXT


def build(
    boxes: Sequence[FoundBox],
    seals: Sequence[Box],
    pieces: Sequence[Piece],
    width: float,
    height: float,
    *,
    detected: bool,
    max_regions: int,
) -> list[Draft]:
    """Regions of a page, top to bottom, every piece's line in exactly one.

    `boxes` come from `clean`; `seals`, `pieces` and `boxes` are in page units. `detected` says that lines were looked for in the
    whole picture: a text box without lines is then a mistake of the network and goes.
    """
    drafts = [_draft_of_seal(bbox) for bbox in seals]
    drafts += [
        _draft_of_box(box)
        for box in boxes
        if not any(iou(box.bbox, seal) > SAME_SEAL for seal in seals)
        and not doubts.is_no_picture(box, [piece.line for piece in pieces])
    ]
    left: list[TextLine] = []
    for piece in pieces:
        home = _home(piece, drafts)
        if home is None:
            left.append(piece.line)
        else:
            home.lines.append(piece.line)
    left.sort(key=columns.place)
    left = _without_continued(_without_continued(left, drafts)[::-1], drafts)
    drafts = [part for draft in drafts for part in _settled(draft)]
    drafts = [d for d in drafts if d.lines or d.label not in HOLDS_TEXT or not (detected or _seen_twice(d, pieces))]
    drafts += [
        part for lines in columns.grouped(left, [d.bbox for d in drafts]) for part in _by_columns(_leftover(lines))
    ]
    drafts = _bounded(drafts, max_regions)
    for draft in drafts:
        draft.bbox = clipped(draft.bbox, width, height)
        if (
            draft.label != "seal"
        ):  # the lines of a stamp are in the order in which they were set, which is the order of its text
            draft.lines.sort(key=lambda line: (line.bbox[1], line.bbox[0], line.bbox[3], line.bbox[2]))
    return sorted(drafts, key=lambda d: (d.bbox[1], d.bbox[0], d.bbox[3], d.bbox[2], d.label))


def _draft_of_seal(bbox: Box) -> Draft:
    return Draft(label="seal", raw_label="seal", bbox=bbox, confidence=1.0, found_by="colour")


def _draft_of_box(box: FoundBox) -> Draft:
    return Draft(label=box.label, raw_label=box.raw_label, bbox=box.bbox, confidence=box.score, found_by="model")


def _home(piece: Piece, drafts: Sequence[Draft]) -> Draft | None:
    """The region that contains most of a line; of those that contain the same, the smallest."""
    best: Draft | None = None
    best_share = 0.0
    for draft in drafts:
        if draft.label == "seal" and not piece.red:
            continue
        share = share_inside(piece.line.bbox, draft.bbox)
        if share < OWN:
            continue
        if (
            best is None
            or share > best_share + 0.1
            or (share > best_share - 0.1 and area(draft.bbox) < area(best.bbox))
        ):
            best, best_share = draft, share
    return best


def _without_continued(left: Sequence[TextLine], drafts: Sequence[Draft]) -> list[TextLine]:
    """Lines outside all boxes, without those that go on a text whose box ended too early: they are added to it."""
    rest = []
    for line in left:
        home = next(
            (
                d
                for d in drafts
                if d.label in _GROWS and d.lines and _is_beside(line, d) and columns.continues(line, d.lines)
            ),
            None,
        )
        if home is None or any(_covers_more(line, home, other) for other in drafts if other is not home):
            rest.append(line)
        else:
            home.lines.append(line)
            home.bbox = hull([home.bbox, line.bbox])
    return rest


def _is_beside(line: TextLine, draft: Draft) -> bool:
    x0, y0, x1, y1 = draft.bbox
    reach = max(line.bbox[3] - line.bbox[1], min(line.bbox[2] - line.bbox[0], 20.0))
    return common(line.bbox, [x0 - reach, y0 - reach, x1 + reach, y1 + reach]) > 0


def _covers_more(line: TextLine, home: Draft, other: Draft) -> bool:
    """Whether the text would lie over another region if it took the line, and does not yet."""
    with_line = hull([line.bbox, *(own.bbox for own in home.lines)])
    slack = columns.SLACK * area(other.bbox)
    return common(with_line, other.bbox) > slack >= common(home.bbox, other.bbox)


def _seen_twice(empty: Draft, pieces: Sequence[Piece]) -> bool:
    """Whether a text box that got no line stands on lines that others got."""
    return sum(common(piece.line.bbox, empty.bbox) for piece in pieces) >= ON_LINES * area(empty.bbox)


def _settled(draft: Draft) -> list[Draft]:
    """The region with a box that fits its lines; a picture with text in it gives two regions, or is text after all."""
    if not draft.lines or draft.label == "seal":
        return [draft]
    around = hull(line.bbox for line in draft.lines)
    if draft.label == "table" and doubts.is_no_table(draft.confidence, draft.lines):
        draft.label, draft.reason = "text", "a table without cells"
    if draft.label == "formula" and doubts.is_prose("".join(line.text or "" for line in draft.lines)):
        draft.label, draft.reason = "text", "prose, no formula"
    if draft.label in ("title", "section_header") and len(draft.lines) > doubts.HEADING_LINES:
        draft.label, draft.reason = "text", "too long for a heading"
    if draft.label in HOLDS_TEXT:
        return _by_columns(draft)
    if draft.label != "picture":
        draft.bbox = hull([around, draft.bbox])
        return [draft]
    text = Draft(
        label="text",
        raw_label=draft.raw_label,
        bbox=around,
        confidence=draft.confidence,
        found_by=draft.found_by,
        lines=draft.lines,
        reason="text inside a picture",
    )
    if doubts.is_full_of_text(draft.bbox, draft.lines):
        text.reason = "a picture that is mostly text"
        return _by_columns(text)
    draft.lines = []
    return [draft, text]


def _by_columns(draft: Draft) -> list[Draft]:
    """A text region for each column of a text region, with boxes around the lines; a table where the lines stand like cells."""
    if draft.label == "text" and doubts.is_grid(draft.lines):
        box = hull(line.bbox for line in draft.lines)
        return [msgspec.structs.replace(draft, label="table", bbox=box, reason="rows of cells")]
    parts = gutters.parts(draft.lines)
    reason = draft.reason if len(parts) == 1 else "cut into columns"
    return [
        msgspec.structs.replace(draft, bbox=hull(line.bbox for line in lines), lines=lines, reason=reason)
        for lines in parts
    ]


def _leftover(lines: list[TextLine]) -> Draft:
    native = all(line.text is not None for line in lines)
    return Draft(
        label="text",
        raw_label="leftover",
        bbox=hull(line.bbox for line in lines),
        confidence=1.0 if native else min(line.confidence or 0.0 for line in lines if line.text is None),
        found_by="native" if native else "leftover",
        lines=lines,
    )


def _bounded(drafts: list[Draft], max_regions: int) -> list[Draft]:
    """At most `max_regions`: the smallest beyond that, text first, are joined into one region of text."""
    if len(drafts) <= max_regions:
        return drafts
    loose = sorted(drafts, key=lambda d: (d.label not in HOLDS_TEXT, area(d.bbox)))
    joined = loose[: len(drafts) - max_regions + 1]
    gone = {id(d) for d in joined}
    one = Draft(
        label="text",
        raw_label="leftover",
        bbox=hull(d.bbox for d in joined),
        confidence=min(d.confidence for d in joined),
        found_by="leftover",
        lines=[line for d in joined for line in d.lines],
        reason=f"{len(joined)} regions joined (limits.max_regions)",
    )
    return [d for d in drafts if id(d) not in gone] + [one]
