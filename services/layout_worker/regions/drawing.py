"""What is drawn on a page beside its text: pictures that the page places, ink that is no text, and rules of scanned tables."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from services.layout_worker.boxes import Box, area, common, share_inside
from services.layout_worker.found import FoundBox, Strokes
from services.layout_worker.regions import doubts, leftover
from services.layout_worker.regions.drafts import Drawn
from services.layout_worker.regions.leftover import Ink
from services.layout_worker.tables import scanned
from shared.contracts.layout import TextLine
from shared.documents.page import OpenedPage

LEAST_SIDE, LEAST_SHARE, MOST_SHARE = 16.0, 0.004, 0.85
"""Points of a picture's shorter side, and shares of the page it covers, from and up to which it is a thing on the page: smaller ones are
icons and bullets, larger ones its ground or its scan."""
UNDER_TEXT = 0.2
"""Share of a picture under lines of text from which it is their ground."""
USUAL = 12.0
"""Height of a detected line in points, where an image does not say its resolution: 10 pt text."""


def of_page(page: OpenedPage, ink: Ink | None) -> list[Box]:
    """Pictures that the page places, without icons, grounds and their own empty edges; none of an image file, which is one picture."""
    if page.unit != "pt":
        return []
    whole, visible = page.width * page.height, [line.bbox for line in page.lines if line.visible]
    return [
        box if ink is None else leftover.inked(ink, box)
        for box in page.image_boxes
        if min(box[2] - box[0], box[3] - box[1]) >= LEAST_SIDE
        and LEAST_SHARE * whole <= area(box) <= MOST_SHARE * whole
        and sum(common(line, box) for line in visible) < UNDER_TEXT * area(box)
    ]


def seen(box: FoundBox, ink: Ink | None, lines: Sequence[TextLine]) -> FoundBox | None:
    """A box of the network that is there: none for a picture of bare paper, or of nothing but known `lines`; a table where these are rows."""
    if box.label != "picture" or ink is None or not leftover.is_empty(ink, box.bbox, [line.bbox for line in lines]):
        return box
    within = [line for line in lines if share_inside(line.bbox, box.bbox) > 0.5]
    return msgspec.structs.replace(box, label="table") if doubts.is_rows(within) else None


def completed(
    drawn: Drawn,
    boxes: Sequence[FoundBox],
    ink: Ink | None,
    page: OpenedPage,
    lines: Sequence[TextLine],
    strokes: Sequence[Strokes],
    picture: tuple[int, int] | None,
) -> Drawn:
    """`drawn` with what can only be told when all lines are known: pictures of ink that is no text, and grids of scanned tables.

    `boxes` are the network's, `picture` is the full picture's size, in whose pixels `strokes` are.
    """
    ruled, rules = list(drawn.ruled), list(drawn.rules)
    if strokes and picture is not None:
        point = 1.0
        if page.unit != "pt":
            point = median([line.bbox[3] - line.bbox[1] for line in lines if not line.vertical] or [USUAL]) / USUAL
        scale = (picture[0] / page.width, picture[1] / page.height)
        tables = [box.bbox for box in boxes if box.label == "table"]
        ruled += scanned.grids(strokes, lines, scale, point, tables, drawn.seals)
        if page.unit == "pt":
            rules += scanned.rules(strokes, lines, scale, point)
    figures = [box for box in drawn.figures if sum(common(line.bbox, box) for line in lines) < UNDER_TEXT * area(box)]
    if ink is not None:
        pictures = [box.bbox for box in boxes if box.label in ("picture", "table", "formula")]
        others = [*pictures, *figures, *drawn.seals, *(table.bbox for table in ruled)]
        known = [*(line.bbox for line in lines), *others, *(rule.bbox for rule in page.rules)]
        texts = [line.bbox for line in lines]
        figures += leftover.figures(leftover.clusters(ink, known), [*others, *texts], page.width, page.height)
    return msgspec.structs.replace(drawn, ruled=ruled, rules=rules, figures=figures)
