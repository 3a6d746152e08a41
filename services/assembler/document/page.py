"""One page: from its layout and readings to `page.json`.

Status: `failed` when nothing could be read and something went wrong; `blank` when there is nothing; else `ok`, with the
errors of what could not be read listed beside it (the document is then `partial_success`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from statistics import mean
from typing import Literal

import msgspec
from msgspec.structs import replace

from services.assembler.document import arrange, captions, flow, joins, links, lists, sections, turned, upright
from services.assembler.document.kinds import kinds
from services.assembler.document.regions import apart, best_readings, skew
from shared.contracts.document import Block, Confidence, ContentLayer, Label, Page, Unit, Warning
from shared.contracts.errors import ErrorInfo
from shared.contracts.layout import ComposedPage, PageLayout, Reading, Region, RegionReading, TextLine
from shared.contracts.records import PageStatus

LOW_CONFIDENCE = 0.6
"""Mean confidence of a block's lines below which a warning says so."""
_Grade = Literal["poor", "fair", "good", "excellent"]
GRADES: tuple[tuple[float, _Grade], ...] = ((0.95, "excellent"), (0.85, "good"), (0.7, "fair"))
"""Least overall confidence of each grade, `poor` below: our own steps, no calibration stands behind them yet."""


class PageInput(msgspec.Struct, frozen=True, kw_only=True):
    """All that a page is made of. Size and unit are the inspection's, used where the page has no layout."""

    document_id: str
    generation: int
    page_no: int
    width: float
    height: float
    unit: Unit
    rotation: int = 0
    layout: PageLayout | None = None
    readings: list[Reading] = []
    errors: list[ErrorInfo] = []
    image_uri: str | None = None


def compose_page(given: PageInput) -> ComposedPage:
    """The composed page; `assemble_s` is left at 0 for whoever holds a clock."""
    parts = (error for reading in given.readings for error in reading.errors)
    errors = sorted([*given.errors, *parts], key=msgspec.json.encode)
    if given.layout is None:
        page = Page(
            page_no=given.page_no,
            width=given.width,
            height=given.height,
            unit=given.unit,
            rotation=given.rotation,
            status="failed" if errors else "blank",
            kind="blank",
            kind_reason=["no layout"],
            image_uri=given.image_uri,
        )
        return ComposedPage(
            document_id=given.document_id, generation=given.generation, page=page, blocks=[], errors=errors
        )
    if given.layout.flow is not None:
        return _flowing(given, given.layout)
    if given.layout.slope:
        level, readings = upright.straightened(given.layout, given.readings)
        level = replace(level, links=[])  # they are in the frame of the page, as its blocks will be again
        composed = upright.restored(compose_page(replace(given, layout=level, readings=readings)), given.layout)
        return replace(composed, blocks=links.linked(composed.blocks, given.layout.links, given.page_no))
    if angle := turned.main_angle(given.layout, given.readings):
        level = replace(turned.straightened(given.layout, angle), links=[])
        composed = turned.restored(compose_page(replace(given, layout=level)), given.layout, angle)
        return replace(composed, blocks=links.linked(composed.blocks, given.layout.links, given.page_no))
    layout = given.layout
    read = best_readings(given.readings)
    known = {region.region_id for region in layout.regions}
    regions = sorted(_remaining(layout.regions, read, known), key=lambda region: region.region_id)
    slope = skew(layout)
    found = [
        block for region in regions for block in turned.blocks_of(region, read.get(region.region_id), layout, slope)
    ]
    for region_id in sorted(set(read) - known):
        found += turned.blocks_of(_found_by_reader(region_id, read[region_id], layout), read[region_id], layout, slope)
    ordered = arrange.arranged(found)
    straight = [block for block in ordered if not block.angle]
    blocks = joins.joined_over_columns(sections.promoted(lists.marked(kinds.told(straight, layout.height))))
    blocks = arrange.with_turned(blocks, ordered)
    blocks += [*_apart(layout.notes, layout, "notes"), *_apart(layout.invisible, layout, "invisible")]
    blocks = captions.attached(blocks)
    names = {block.id: f"p{given.page_no:05d}-b{index:03d}" for index, block in enumerate(blocks)}
    blocks = links.linked(_numbered(blocks, names), layout.links, given.page_no)
    warnings = sorted(
        [
            *layout.warnings,
            *(w for reading in given.readings for w in reading.warnings),
            *_doubts(blocks, given.page_no),
            *_told(read, names, given.page_no),
            *_unread(regions, read, given.page_no),
        ],
        key=msgspec.json.encode,
    )
    models = {msgspec.json.encode(m): m for m in (*layout.models, *(m for r in given.readings for m in r.models))}
    seconds = {"rec": 0.0, "vl": 0.0}
    for reading in sorted(given.readings, key=lambda r: r.task_id):
        seconds["vl" if any(r.method == "vl" for r in reading.regions) else "rec"] += reading.seconds
    page = Page(
        page_no=given.page_no,
        width=layout.width,
        height=layout.height,
        unit=layout.unit,
        rotation=layout.rotation,
        dpi=layout.dpi,
        status=_status(blocks, errors),
        kind=layout.kind,
        kind_reason=layout.kind_reason,
        confidence=_confidence(regions, blocks),
        languages=layout.languages,
        image_uri=given.image_uri,
    )
    return ComposedPage(
        document_id=given.document_id,
        generation=given.generation,
        page=page,
        blocks=blocks,
        errors=errors,
        warnings=warnings,
        models=[models[key] for key in sorted(models)],
        ocr_regions=sum(1 for r in read.values() if r.method in ("direct_rec", "det_rec")),
        vl_regions=sum(1 for r in read.values() if r.method == "vl"),
        cache_hits=sum(reading.cache_hits for reading in given.readings),
        layout_s=layout.layout_s,
        rec_s=seconds["rec"],
        vl_s=seconds["vl"],
    )


def _flowing(given: PageInput, layout: PageLayout) -> ComposedPage:
    """The one page of a document that is text without places; what was read is text in its pictures."""
    sheet = compose_page(replace(given, layout=replace(layout, flow=None)))
    blocks = flow.blocks_of(layout, sheet.blocks)
    blocks = _numbered(blocks, {block.id: f"p{given.page_no:05d}-b{i:03d}" for i, block in enumerate(blocks)})
    page = replace(
        sheet.page,
        width=given.width,
        height=given.height,
        unit=None,
        dpi=None,
        status=_status(blocks, sheet.errors),
        image_uri=None,
    )
    return replace(
        sheet, page=page, blocks=blocks, warnings=[replace(warning, block_id=None) for warning in sheet.warnings]
    )


def _found_by_reader(region_id: str, reading: RegionReading, layout: PageLayout) -> Region:
    """A region that only the reader knows (VL page mode); without a box of its own it is the whole page."""
    label: Label = reading.label or "text"
    box = reading.bbox or [0.0, 0.0, layout.width, layout.height]
    return Region(
        region_id=region_id, label=label, raw_label=label, bbox=box, confidence=1.0, found_by="model", read_by="vl"
    )


def _remaining(regions: Sequence[Region], read: Mapping[str, RegionReading], known: Set[str]) -> Iterator[Region]:
    """The layout's regions, without those for the VL model where it read the whole page and found its own."""
    whole = any(region_id not in known for region_id in read)
    return (region for region in regions if not (whole and region.read_by == "vl" and region.region_id not in read))


def _told(read: Mapping[str, RegionReading], names: Mapping[str, str], page_no: int) -> list[Warning]:
    """What the readers doubt, said of the first block of the region."""
    first: dict[str, str] = {}
    for own, name in names.items():
        first.setdefault(own.partition("/")[0], name)
    return [
        Warning(code=doubt.code, message=doubt.message, page_no=page_no, block_id=first.get(region_id))
        for region_id, reading in read.items()
        for doubt in reading.doubts
    ]


def _numbered(blocks: Sequence[Block], names: Mapping[str, str]) -> list[Block]:
    """Final ids in order, references renamed."""
    return [
        replace(
            block,
            id=names[block.id],
            order=index,
            parent_id=names[block.parent_id] if block.parent_id else None,
            caption_ids=[names[other] for other in block.caption_ids],
            footnote_ids=[names[other] for other in block.footnote_ids],
        )
        for index, block in enumerate(blocks)
    ]


def _apart(lines: Sequence[TextLine], layout: PageLayout, layer: ContentLayer) -> list[Block]:
    ordered = sorted(lines, key=lambda line: (line.bbox[1], line.bbox[0], line.text or ""))
    return [apart(line, i, layout, layer) for i, line in enumerate(ordered) if (line.text or "").strip()]


def _status(blocks: Sequence[Block], errors: Sequence[ErrorInfo]) -> PageStatus:
    seen = [block for block in blocks if block.content_layer not in ("invisible", "background")]
    if errors and not any(block.text or block.latex for block in seen):
        return "failed"
    return "ok" if seen else "blank"


def _doubts(blocks: Sequence[Block], page_no: int) -> list[Warning]:
    return [
        Warning(
            code="low_confidence",
            message=f"read with confidence {block.confidence:.2f}",
            page_no=page_no,
            block_id=block.id,
        )
        for block in blocks
        if block.confidence is not None and block.confidence < LOW_CONFIDENCE and block.text
    ]


def _unread(regions: Sequence[Region], read: Mapping[str, RegionReading], page_no: int) -> list[Warning]:
    count = sum(region.read_by in ("rec", "vl") and region.region_id not in read for region in regions)
    if not count:
        return []
    return [Warning(code="not_read", message=f"regions that nobody could read: {count}", page_no=page_no)]


def _confidence(regions: Sequence[Region], blocks: Sequence[Block]) -> Confidence:
    """Means: of the layout network's boxes, of read blocks by their characters, of read tables; overall is the least."""
    layout = [region.confidence for region in regions if region.found_by == "model"]
    read = [(b.confidence, len(b.text)) for b in blocks if b.confidence is not None and b.text]
    table = [b.confidence for b in blocks if b.table is not None and b.confidence is not None]
    text = sum(c * n for c, n in read) / sum(n for _, n in read) if read else None
    parts = {
        "layout": mean(layout) if layout else None,
        "text": text,
        "table": mean(table) if table else None,
    }
    known = [value for value in parts.values() if value is not None]
    overall = min(known) if known else None
    grade: _Grade | None = "poor" if overall is not None else None
    for least, name in reversed(GRADES):
        if overall is not None and overall >= least:
            grade = name
    rounds = {key: None if value is None else round(value, 4) for key, value in parts.items()}
    return Confidence(**rounds, overall=None if overall is None else round(overall, 4), grade=grade)
