"""Tables of a page that are sure: by their ruling lines, by rules across and coloured rows, by alignment; and how far they reach."""

from __future__ import annotations

from collections.abc import Sequence

from services.layout_worker.boxes import Box, area, common, hull, share_inside
from services.layout_worker.found import FoundBox
from services.layout_worker.regions import captions, doubts
from services.layout_worker.regions.drafts import Draft, Drawn
from services.layout_worker.tables import aligned, extent, ruled, striped
from shared.contracts.layout import TextLine

OWN = 0.5
"""Share of a line's, or a rule's, area in a box from which it belongs to it."""
INSIDE, MOST_OF = 0.8, 0.6
"""Shares of a table by its rows in the network's, and of that one, from which it may be a part of it."""
WIDER = 1.25
"""Times the width of the network's table from which rows that go on beside it are more than its box cut short."""
ON_OTHERS = 0.3
"""Share of a table by its rows that another table may cover."""


def without_grid(
    drawn: Drawn,
    lines: Sequence[TextLine],
    grids: Sequence[Box],
    fields: Sequence[Draft],
    cut: Sequence[TextLine] | None = None,
    seen: Sequence[Box] = (),
) -> list[Draft]:
    """Tables without a drawn grid: with rules across or coloured rows, or by alignment.

    `cut` are the lines in parts where there is wide white in them: rows of near cells are told by these only where whole lines say nothing
    and the network, whose tables are `seen`, saw none (a sentence has wide white too, after each full-width comma).
    """
    rules = [rule for rule in drawn.rules if not any(share_inside(rule.bbox, _around(f.bbox)) > OWN for f in fields)]
    tables: list[Draft] = []
    for box in striped.by_stacks(rules, drawn.filled, lines):
        if all(common(box, grid) < ON_OTHERS * area(box) for grid in grids):
            tables.append(
                Draft(
                    label="table",
                    raw_label="striped",
                    bbox=box,
                    confidence=1.0,
                    found_by="native",
                    reason="rules or colours of its rows",
                )
            )
    taken = [*grids, *(table.bbox for table in tables), *drawn.figures, *drawn.seals]
    free = [line for line in lines if all(common(line.bbox, box) <= 0 for box in taken)]
    for cells_of in aligned.by_alignment(_not_captions(free)):
        tables.append(_by_alignment(cells_of))
    if cut is not None:
        taken += [*seen, *(table.bbox for table in tables)]
        free = [line for line in cut if all(common(line.bbox, box) <= 0 for box in taken)]
        tables += [_by_alignment(cells_of) for cells_of in aligned.by_alignment(_not_captions(free), cut=True)]
    return tables


def _not_captions(lines: Sequence[TextLine]) -> list[TextLine]:
    return [line for line in lines if not captions.begins_caption(line.text or "")]


def _by_alignment(lines: Sequence[TextLine]) -> Draft:
    return Draft(
        label="table",
        raw_label="aligned",
        bbox=hull(line.bbox for line in lines),
        confidence=0.9,
        found_by="native" if all(line.text is not None for line in lines) else "leftover",
        reason="short texts in rows and columns",
    )


def fit(drafts: Sequence[Draft], drawn: Drawn) -> None:
    """Give tables of the page's own text that have no grid the box around what is seen of them."""
    for draft in drafts:
        if (
            draft.label == "table"
            and draft.grid is None
            and draft.lines
            and all(x.text is not None for x in draft.lines)
        ):
            draft.bbox = extent.extent(draft.bbox, draft.lines, drawn.rules, drawn.filled)


def is_part(table: Draft, seen: FoundBox, lines: Sequence[TextLine]) -> bool:
    """Whether a table by its rows is most of one that the network saw, and what else is in that is short as cells are."""
    if share_inside(table.bbox, seen.bbox) < INSIDE or area(table.bbox) < MOST_OF * area(seen.bbox):
        return False
    rest = [x for x in lines if share_inside(x.bbox, seen.bbox) > OWN and share_inside(x.bbox, table.bbox) <= OWN]
    return bool(rest) and all(x.bbox[2] - x.bbox[0] < 0.5 * (seen.bbox[2] - seen.bbox[0]) for x in rest)


def reaches_out(table: Draft, seen: FoundBox, lines: Sequence[TextLine]) -> bool:
    """Whether a table by alignment alone is rows of one that the network saw together with lines of the next column of text.

    Only where the lines are read from pixels, and only of a table that the network is sure of: it may have missed a column of a weak one.
    """
    if table.raw_label != "aligned" or seen.score < doubts.WEAK_TABLE:
        return False
    if table.bbox[2] - table.bbox[0] < WIDER * (seen.bbox[2] - seen.bbox[0]):
        return False
    held = [x for x in lines if share_inside(x.bbox, table.bbox) > OWN]
    inside = [x for x in held if share_inside(x.bbox, seen.bbox) > OWN]
    beside = [x for x in held if x.bbox[0] >= seen.bbox[2] or x.bbox[2] <= seen.bbox[0]]
    return (
        all(x.text is None for x in held) and bool(inside) and bool(beside) and len(inside) + len(beside) == len(held)
    )


def is_band(table: Draft, seen: FoundBox, lines: Sequence[TextLine]) -> bool:
    """Whether a table by its rows is only a band of a larger one that the network saw, such as its head between two rules.

    Only where the lines are read from pixels: rules of a scan are what could be seen of them, those of a page's own are all there are.
    """
    if share_inside(table.bbox, seen.bbox) < INSIDE or area(table.bbox) >= MOST_OF * area(seen.bbox):
        return False
    return all(x.text is None for x in lines if share_inside(x.bbox, table.bbox) > OWN)


def _around(box: Box) -> Box:
    return [box[0] - ruled.SNAP, box[1] - ruled.SNAP, box[2] + ruled.SNAP, box[3] + ruled.SNAP]


def of_drawing(drawing: ruled.Ruled) -> Draft:
    return Draft(
        label="table",
        raw_label="ruled",
        bbox=list(drawing.bbox),
        confidence=1.0,
        found_by="native",
        grid=drawing.grid,
        reason="its ruling lines",
    )
