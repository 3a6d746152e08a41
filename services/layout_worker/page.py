"""A page from what was found on it: first what must be read, then the layout. Pure; the service does the asking.

Two passes over the same rules (`regions.build`). The first knows the network's boxes and the page's own text and says what is missing
(`plan`); only then is the full picture rendered and searched for lines. The second has the lines too and is the layout (`assemble`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median_high
from typing import Literal

import msgspec

from services.layout_worker import route, upright
from services.layout_worker.boxes import Box, area, clipped, common, grown, iou, merged, share_inside
from services.layout_worker.found import FoundBox, FoundLine, Look, Strokes
from services.layout_worker.keeping import may_be_part
from services.layout_worker.regions import drawing, leftover, regions
from services.layout_worker.regions.clean import clean
from services.layout_worker.regions.drafts import HOLDS_TEXT, Draft, Drawn, Piece, Widget
from services.layout_worker.regions.leftover import Ink
from services.layout_worker.tables import ruled
from services.layout_worker.trust import match, trust
from services.layout_worker.trust.fonts import Verdicts
from shared.contracts.document import ModelRef
from shared.contracts.layout import Inspection, PageLayout, TextLine
from shared.documents.page import OpenedPage
from shared.objects import keys
from shared.settings import Settings

DIRECT_HEIGHT = 16.0
"""Points: a text region up to this height is one line, and is recognised without detection. (Of 155 text elements of generated pages 28 %
were lower, all of one line.)"""
BLANK_INK = 0.00005
"""Share of inked pixels below which a page is blank: 20 of the 450,000 of a small picture, dust."""

PLACE_MARGIN = 0.012
"""Space around a place that is looked at by itself, as a share of the page's long side: 10 pt of A4. The network wants paper around text."""
MOST_PLACES, MANY_PLACES = 0.3, 12
"""Share of the page, and number of places, from which the whole is looked at. Places are looked at 1.6 times as finely as a page, and what the
network is given is filled up to fixed sizes, so that 0.3 of the page costs about as much as all of it."""

WHOLE_PICTURE, PICTURE_HEIGHT = 0.5, 6.0
"""Intersection over union with a picture, and height by the usual line's, from which a detected "line" is that picture."""
SOME_OWN = 0.2
"""The page's own lines, by those detected, from which the page is not taken for a skewed scan: its own text is level."""

Search = Literal["nothing", "direct", "lines"]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be done about a page before its layout can be written."""

    trust: trust.Trust
    boxes: list[FoundBox]
    """Cleaned, page units."""
    drawn: Drawn
    ink: Ink | None = None
    turn: int = 0
    """Degrees by which the page was turned clockwise to make it upright, beyond what it asks for itself."""
    slope: float = 0.0
    """Fall of the text lines of a scan, dy by dx, by its ink."""
    search: Search
    """Whether text lines must be looked for in the picture; `direct`: all that is to be read are small single lines."""
    drafts: list[Draft] = []
    """Regions by what is known so far; the layout's own where nothing more is found."""
    within: list[Box] = []
    """Where lines are looked for, in page units; empty means everywhere. See `_places`."""
    looked_at: list[Box] = []
    """All that anybody will look at in the picture, in page units, where no lines are looked for; empty means everything."""
    picture: bool
    """Whether anybody needs the full picture."""


def plan(
    page: OpenedPage,
    look: Look,
    scale: tuple[float, float],
    inspection: Inspection,
    page_no: int,
    settings: Settings,
    verdicts: Verdicts | None = None,
) -> Plan:
    """`scale` is small-picture pixels per page unit, x and y; `verdicts` say what of the page's own text is like the picture."""
    options = inspection.options
    judged = trust.judge(page, options.ocr, page_no, verdicts)
    boxes = clean(
        [msgspec.structs.replace(box, bbox=_scaled(box.bbox, scale)) for box in look.boxes],
        page.width,
        page.height,
        settings.layout.min_confidence,
    )
    ink = leftover.ink_of(look, scale)
    boxes = [seen for box in boxes if (seen := drawing.seen(box, ink, judged.trusted)) is not None]
    drawn = Drawn(
        seals=[clipped(_scaled(seal, scale), page.width, page.height) for seal in look.seals],
        ruled=ruled.grids(page.rules),
        rules=page.rules,
        filled=page.filled_boxes,
        figures=drawing.of_page(page, ink),
        widgets=[Widget(one.bbox, one.checked) for one in page.annotations if one.kind == "widget" and one.shown],
    )
    drafts = regions.build(
        boxes,
        drawn,
        [_on_page(piece, page) for piece in _own_pieces(judged)],
        page.width,
        page.height,
        detected=False,
        max_regions=settings.limits.max_regions,
    )
    search = _search(page, look, judged, drafts, inspection, settings)
    router = route.Router(inspection, settings.layout.route, page.width * page.height)
    readers = [router.decide(draft).reader for draft in drafts]
    to_read = [draft.bbox for draft, reader in zip(drafts, readers, strict=True) if reader in ("rec", "vl")]
    return Plan(
        trust=judged,
        boxes=boxes,
        drawn=drawn,
        ink=ink,
        turn=look.turn,
        slope=look.slope,
        search=search,
        drafts=drafts,
        within=_places(page, judged, drafts, inspection) if search == "lines" else [],
        looked_at=to_read if search != "lines" and may_be_part(inspection) else [],
        picture=search != "nothing" or options.pictures or bool(to_read),
    )


def _search(
    page: OpenedPage,
    look: Look,
    judged: trust.Trust,
    drafts: Sequence[Draft],
    inspection: Inspection,
    settings: Settings,
) -> Search:
    if inspection.options.ocr == "off" or page.blank:
        return "nothing"
    if judged.untrusted:  # it is seen, whether or not anybody looked for ink
        return "lines"
    if look.ink < BLANK_INK:
        return "nothing"
    if judged.layer or not judged.trusted:
        return "lines"
    empty = [draft for draft in drafts if not draft.lines and draft.label not in ("picture", "seal")]
    if not all(is_direct(draft, page, settings) for draft in empty):
        return "lines"
    known = [draft.bbox for draft in empty] + [draft.bbox for draft in drafts if draft.label == "seal"]
    for picture in trust.pictures_to_read(page, inspection.options):
        if sum(common(picture, box) for box in known) < 0.7 * area(picture):
            return "lines"
    return "direct" if empty else "nothing"


def _places(page: OpenedPage, judged: trust.Trust, drafts: Sequence[Draft], inspection: Inspection) -> list[Box]:
    """Where a page that is otherwise its own text may hold more: its pictures, and text boxes without lines.

    Everywhere (an empty list) where its own text does not count, and where these places are so much of it that looking at them one by
    one, which is done at a finer scale, would cost more than looking at the whole.
    """
    if page.unit != "pt" or judged.untrusted or judged.layer or not judged.trusted:
        return []
    found = trust.pictures_to_read(page, inspection.options)
    found += [draft.bbox for draft in drafts if not draft.lines and draft.label not in ("picture", "seal")]
    margin = PLACE_MARGIN * max(page.width, page.height)
    places = merged([grown(box, margin, page.width, page.height) for box in found])
    much = sum(area(place) for place in places) > MOST_PLACES * page.width * page.height
    return [] if much or len(places) > MANY_PLACES else places


def is_direct(draft: Draft, page: OpenedPage, settings: Settings) -> bool:
    """Whether a text region without lines is small enough to be one line; for pictures of unknown resolution at `layout.dpi`."""
    limit = DIRECT_HEIGHT if page.unit == "pt" else DIRECT_HEIGHT * settings.layout.dpi / 72
    return draft.label in HOLDS_TEXT and draft.bbox[3] - draft.bbox[1] <= limit


def assemble(
    page: OpenedPage,
    planned: Plan,
    found: Sequence[FoundLine],
    picture: tuple[int, int] | None,
    models: list[ModelRef],
    inspection: Inspection,
    page_no: int,
    settings: Settings,
    strokes: Sequence[Strokes] = (),
) -> PageLayout:
    """The layout. `found`, `strokes` and `picture` (width, height) are in pixels of the full picture; without one nothing can be read."""
    judged = planned.trust
    scale = (picture[0] / page.width, picture[1] / page.height) if picture is not None else (1.0, 1.0)
    if picture is not None:
        found = _without_pictures(found, planned.boxes, scale, planned.drawn.figures, judged.trusted)
    pieces = _own_pieces(judged)
    layer: list[TextLine] = []
    unseen = judged.layer
    slope = 0.0
    if picture is not None and planned.search == "lines":
        slope = upright.slope_of(found, planned.slope) if len(judged.trusted) < SOME_OWN * len(found) else 0.0
        layer, unseen = match.supported(judged.layer, found, *scale)
        pieces += [Piece(line) for line in layer]
        detected = match.unread(found, [*judged.trusted, *layer], *scale)
        pieces += detected + match.overlooked(judged.untrusted, detected, *scale)
    pieces = [_on_page(piece, page) for piece in pieces]
    lines = [piece.line for piece in pieces]
    boxes = planned.boxes
    if planned.search == "lines":
        boxes = [seen for box in boxes if (seen := drawing.seen(box, planned.ink, lines)) is not None]
    drawn = drawing.completed(planned.drawn, boxes, planned.ink, page, lines, strokes, picture)
    if planned.search != "lines" and _is_same(drawn, planned.drawn):
        drafts = planned.drafts
    elif slope and picture is not None:
        drafts = upright.build(
            boxes,
            drawn,
            pieces,
            page.width,
            page.height,
            slope=slope,
            scale=scale,
            max_regions=settings.limits.max_regions,
        )
    else:
        drafts = regions.build(
            boxes,
            drawn,
            pieces,
            page.width,
            page.height,
            detected=planned.search == "lines",
            max_regions=settings.limits.max_regions,
        )
    if picture is not None and planned.search == "direct":
        for draft in drafts:
            draft.direct = not draft.lines and is_direct(draft, page, settings)
    router = route.Router(inspection, settings.layout.route, page.width * page.height)
    routed, warnings = router.route(drafts, page_no)
    read = sum(region.direct + sum(line.text is None for line in region.lines) for region in routed)
    native = sum(line.text is not None for region in routed for line in region.lines)
    kept = picture is not None and (inspection.options.pictures or any(r.read_by in ("rec", "vl") for r in routed))
    layout = PageLayout(
        document_id=inspection.document_id,
        generation=inspection.generation,
        page_no=page_no,
        width=round(page.width, 2),
        height=round(page.height, 2),
        unit=page.unit,
        rotation=page.rotation,
        slope=slope,
        kind=trust.kind_of(native - len(layer), read + len(layer), len(routed)),
        kind_reason=[
            *([f"turned={planned.turn}"] if planned.turn else []),
            *([f"skew={math.degrees(math.atan(slope)):.1f}"] if slope else []),
            f"image_coverage={page.image_coverage:.2f}",
            *judged.reasons,
            f"lines_to_read={read}",
        ],
        picture_key=keys.picture(inspection.document_id, inspection.generation, page_no) if kept else None,
        picture_width=picture[0] if kept and picture else None,
        picture_height=picture[1] if kept and picture else None,
        dpi=round(picture[0] / page.width * 72, 2) if kept and picture and page.unit == "pt" else None,
        regions=routed,
        invisible=[
            *(_on_page(Piece(line), page).line for line in judged.invisible),
            *(msgspec.structs.replace(_on_page(Piece(line), page).line, hidden="ocr_layer") for line in unseen),
        ],
        notes=[_on_page(Piece(line), page).line for line in judged.notes],
        links=page.links,
        models=models,
        warnings=[*page.warnings, *judged.warnings, *warnings],
    )
    return msgspec.structs.replace(layout, tasks=route.tasks_of(layout, inspection))


def _without_pictures(
    found: Sequence[FoundLine],
    boxes: Sequence[FoundBox],
    scale: tuple[float, float],
    figures: Sequence[Box] = (),
    own: Sequence[TextLine] = (),
) -> list[FoundLine]:
    """Detected lines, without those that are a picture: much higher than a line, and as large as one of the network's `boxes` (a chart, a
    photograph) or as high as one of the `figures` that the page places. `own` are the page's own lines; they too say what is usual."""
    heights = [upright.height_of(line) for line in found]
    heights += [(line.bbox[3] - line.bbox[1]) * scale[1] for line in own if not line.vertical]
    usual = median_high(heights) if heights else 0.0
    seen = [_in_pixels(box.bbox, scale) for box in boxes if box.label == "picture"]
    placed = [_in_pixels(box, scale) for box in figures]
    return [
        line
        for line in found
        if upright.height_of(line) <= PICTURE_HEIGHT * usual
        or not (
            any(iou(upright.box_of(line), box) > WHOLE_PICTURE for box in seen)
            or any(_is_as_high(line, box) for box in placed)
        )
    ]


def _is_as_high(line: FoundLine, picture: Box) -> bool:
    """Whether a line lies in a picture and reaches from its upper to its lower edge: a word in it would have some ground around."""
    inside = share_inside(upright.box_of(line), picture) > WHOLE_PICTURE
    return inside and upright.height_of(line) >= picture[3] - picture[1]


def _is_same(drawn: Drawn, before: Drawn) -> bool:
    """Whether nothing drawn came to light that was not known before."""
    return all(list(getattr(drawn, part)) == list(getattr(before, part)) for part in ("ruled", "rules", "figures"))


def _own_pieces(judged: trust.Trust) -> list[Piece]:
    return [Piece(line, red) for line, red in zip(judged.trusted, judged.red, strict=True)]


def _in_pixels(box: Sequence[float], scale: tuple[float, float]) -> Box:
    return [box[0] * scale[0], box[1] * scale[1], box[2] * scale[0], box[3] * scale[1]]


def _scaled(box: Sequence[float], scale: tuple[float, float]) -> Box:
    return [box[0] / scale[0], box[1] / scale[1], box[2] / scale[0], box[3] / scale[1]]


def _on_page(piece: Piece, page: OpenedPage) -> Piece:
    bbox = [round(v, 2) for v in clipped(piece.line.bbox, page.width, page.height)]
    return msgspec.structs.replace(piece, line=msgspec.structs.replace(piece.line, bbox=bbox))
