"""Where everything is: from boxes of the layout network and text lines to regions that hold every line exactly once.

1. What is sure comes first: tables by their ruling lines (`ruled`), seals, fields of a form. A box of the network on one of them goes.
2. Each line goes to the box that contains most of it; of equals, to the smallest.
3. Lines inside a picture get a text region of their own that knows its picture, so that the picture stays a picture and the text is not
   lost. A "picture" that is mostly text is a text region.
4. Lines outside all boxes go on a text beside them, or become regions by what they say of themselves (`structure`).
5. Labels are compared with the evidence (`kinds`).
6. Text that is turned has regions of its own, made in its own frame (`turned`).
"""

from __future__ import annotations

from collections.abc import Sequence

from services.layout_worker.boxes import Box, area, clipped, common, hull, iou, overlap, share_inside
from services.layout_worker.found import FoundBox
from services.layout_worker.regions import columns, doubts, forms, formulas, kinds, settling, structure, tables, turned
from services.layout_worker.regions.drafts import HOLDS_TEXT, Draft, Drawn, Piece
from services.layout_worker.regions.style import style_of
from services.layout_worker.tables import cells, ruled
from shared.contracts.document import Label
from shared.contracts.layout import TextLine

ON_LINES = 0.25
"""Share of an empty text box under lines of other regions from which it is one of them, seen twice."""
OWN = 0.5
"""Share of a line's area in a box from which the line belongs to it."""
SAME_SEAL = 0.3
"""Intersection over union from which a box of the network is a stamp that was found by its colour."""
FORM = 2
"""Fields in a picture or a table of the network from which that is a form."""
ON_TABLE = 0.6
"""Share of a box of the network in a ruled table from which it is (a part of) that table."""
SAME_FIGURE = 0.5
"""The same for a picture of the page and one that the network saw."""
NUMBER_GAP = 3.0
"""Space between the number of a section and its heading, or a marker and its item, in line heights, at most."""
WORD_GAP = 0.5
"""The same between two words of a heading."""
_HEADS: frozenset[Label] = frozenset({"title", "section_header"})
_GROWS: frozenset[Label] = frozenset({"text", "list_item", "footnote", "code", "reference"})
"""Labels of texts that a line outside all boxes may go on."""


def build(
    boxes: Sequence[FoundBox],
    drawn: Drawn,
    pieces: Sequence[Piece],
    width: float,
    height: float,
    *,
    detected: bool,
    max_regions: int,
) -> list[Draft]:
    """Regions of a page, top to bottom, every piece's line in exactly one (in parts where it crosses cells of a ruled table).

    `boxes` come from `clean`; all is in page units. `detected` says that lines were looked for in the whole picture: a text box without
    lines is then a mistake of the network and goes.
    """
    lines = [piece.line for piece in pieces]
    style = style_of(lines)
    gridded = [tables.of_drawing(drawing) for drawing in drawn.ruled if ruled.holds(drawing, lines, width, height)]
    fields = forms.fields(drawn, lines, [table.bbox for table in gridded], width)
    everything = pieces
    pieces = [piece for piece in pieces if not any(piece.line is line for field in fields for line in field.lines)]
    pieces, aslant = turned.parted(pieces, [*drawn.seals, *(box.bbox for box in boxes if box.label == "seal")])
    lines = [piece.line for piece in pieces]
    parts = {id(piece.line): cells.at_gaps(piece.line, piece.gaps) for piece in pieces}
    cut = [part for line in lines for part in parts[id(line)]]
    seen = [box for box in boxes if box.label == "table"]
    known = [table.bbox for table in gridded]
    striped_ones = tables.without_grid(drawn, lines, known, fields, cut, [box.bbox for box in seen])
    told = [*lines, *aslant]
    refuted = (tables.is_part, tables.is_band, tables.reaches_out)
    striped_ones = [x for x in striped_ones if not any(is_less(x, b, told) for b in seen for is_less in refuted)]
    sure = [*gridded, *striped_ones]
    drafts = [*fields, *(_draft_of_seal(bbox) for bbox in drawn.seals), *sure]
    drafts += [_draft_of_box(box) for box in boxes if _is_news(box, drawn, sure, fields, told, width * height)]
    drafts += [_draft_of_figure(bbox) for bbox in drawn.figures if not _is_known_figure(bbox, drafts)]
    left: list[TextLine] = []
    for piece in pieces:
        home = _home(piece, drafts)
        if home is None:
            left.append(piece.line)
        else:
            home.lines += parts[id(piece.line)] if home.label == "table" else [piece.line]
    left.sort(key=columns.place)
    left = _without_numbers(left, drafts)
    left = _without_continued(_without_continued(left, drafts)[::-1], drafts)
    drafts = [part for draft in drafts for part in settling.settled(draft, style)]
    drafts = [d for d in drafts if d.lines or d.label not in HOLDS_TEXT or not (detected or _seen_twice(d, everything))]
    aslant = turned.without_cells(aslant, drafts)
    drafts += structure.drafts(left, style, [d.bbox for d in drafts])
    tables.fit(drafts, drawn)
    drafts = formulas.with_numbers(drafts)
    drafts = kinds.settled(drafts, style, width, height)
    if aslant:
        drafts = turned.added(drafts, aslant, drawn, style, width, height)
    drafts = _bounded(drafts, max_regions)
    for draft in drafts:
        draft.bbox = clipped(draft.bbox, width, height)
        if (
            draft.label != "seal"
        ):  # the lines of a stamp are in the order in which they were set, which is the order of its text
            draft.lines.sort(key=lambda line: (line.bbox[1], line.bbox[0], line.bbox[3], line.bbox[2]))
    return sorted(drafts, key=lambda d: (d.bbox[1], d.bbox[0], d.bbox[3], d.bbox[2], d.label))


def _draft_of_figure(bbox: Box) -> Draft:
    return Draft(label="picture", raw_label="drawn", bbox=list(bbox), confidence=1.0, found_by="native")


def _is_news(
    box: FoundBox,
    drawn: Drawn,
    tables: Sequence[Draft],
    fields: Sequence[Draft],
    lines: Sequence[TextLine],
    page: float,
) -> bool:
    """Whether a box of the network says something that is not known for sure, or refuted."""
    if any(iou(box.bbox, seal) > SAME_SEAL for seal in drawn.seals) or doubts.is_no_picture(box, lines, page):
        return False
    if box.label == "picture" and _is_picture_and_text(box.bbox, drawn.figures, lines):
        return False
    if box.label in ("picture", "table") and sum(share_inside(f.bbox, box.bbox) > OWN for f in fields) >= FORM:
        return False
    if box.label == "table" and any(share_inside(table.bbox, box.bbox) > SAME_FIGURE for table in tables):
        return False
    return not any(share_inside(box.bbox, table.bbox) >= ON_TABLE for table in tables)


def _is_picture_and_text(bbox: Box, figures: Sequence[Box], lines: Sequence[TextLine]) -> bool:
    """Whether the network boxed a picture that the page places together with the text around it."""
    within = [line for line in lines if share_inside(line.bbox, bbox) > OWN]
    small = any(share_inside(f, bbox) > OWN and area(f) < SAME_FIGURE * area(bbox) for f in figures)
    return small and doubts.is_full_of_text(bbox, within)


def _is_known_figure(bbox: Box, drafts: Sequence[Draft]) -> bool:
    return any(
        (d.label == "picture" and (iou(bbox, d.bbox) > SAME_FIGURE or share_inside(bbox, d.bbox) > SAME_FIGURE))
        or (d.label in ("table", "seal", "formula") and share_inside(bbox, d.bbox) > SAME_FIGURE)
        for d in drafts
    )


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
        if draft.label == "table" and draft.found_by != "model":
            return draft  # its lines are why it is a table
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


def _without_numbers(left: Sequence[TextLine], drafts: Sequence[Draft]) -> list[TextLine]:
    """Lines outside all boxes, without the numbers and first words of headings and the markers of list items that the network boxed without them."""
    rest = []
    for line in left:
        text = line.text or ""
        wanted: frozenset[Label] = frozenset({"section_header"}) if structure.is_number(text) else frozenset()
        if structure.is_marker(text):
            wanted |= _GROWS
        home = next((d for d in drafts if d.label in wanted and any(_precedes(line, x) for x in d.lines)), None)
        home = home or next((d for d in drafts if d.label in _HEADS and any(_begins(line, x) for x in d.lines)), None)
        if home is None:
            rest.append(line)
        else:
            home.lines.append(line)
            home.bbox = hull([home.bbox, line.bbox])
    return rest


def _precedes(number: TextLine, line: TextLine) -> bool:
    """Whether a number or a marker stands right before a line, in its row."""
    height = number.bbox[3] - number.bbox[1]
    return (
        0 <= line.bbox[0] - number.bbox[2] <= NUMBER_GAP * height
        and overlap(number.bbox[1], number.bbox[3], line.bbox[1], line.bbox[3]) > 0.5 * height
    )


def _begins(words: TextLine, line: TextLine) -> bool:
    """Whether words stand right before a line, in its row and its type: the box of a heading began too late."""
    if not words.text or not words.font_size or words.font_size != line.font_size or not _precedes(words, line):
        return False
    return line.bbox[0] - words.bbox[2] <= WORD_GAP * (words.bbox[3] - words.bbox[1])


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
    aslant = [piece.line.bbox for piece in pieces if piece.line.angle % 90]  # hulls, mostly of paper
    others = sum(common(piece.line.bbox, empty.bbox) for piece in pieces if not piece.line.angle % 90)
    return others >= ON_LINES * area(empty.bbox) or any(iou(box, empty.bbox) > SAME_FIGURE for box in aslant)


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
