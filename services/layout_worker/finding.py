"""Text lines of a page's picture: the whole page once, then the places where there is ink and no line.

A page of text with pictures in it is looked at in its pictures alone, at the finer of the detector's two scales: print in figures is small.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from services.layout_worker.boxes import Box, area, common
from services.layout_worker.found import FoundLine, Lines, LinesRequest
from services.layout_worker.page import Plan
from services.layout_worker.regions import leftover
from services.layout_worker.upright import box_of
from shared.children.child import Child
from shared.documents.page import OpenedPage, Pictures

LARGE_SIDE = 1_536
"""Pixels of a page's long side at the scale at which its pictures are looked at; the detector's own for small print
(`shared.models.lines`)."""
MARGIN = 0.012
"""Space around a place that is looked at again, as a share of the page's long side: 10 pt of A4. The network wants paper around text."""
SAME = 0.5
"""Share of a line under known ones from which it was seen before."""


async def find_lines(engine: Child, opened: OpenedPage, planned: Plan, shown: Pictures) -> Lines:
    """Text lines of the full picture where the plan wants any, and the rules of a page that draws none itself: tables that the
    network missed have them too."""
    if planned.search != "lines" or shown.full is None:
        return Lines(lines=[])
    size, pixels = shown.full
    scale = (size.width / opened.width, size.height / opened.height)
    request = LinesRequest(
        width=size.width,
        height=size.height,
        seals=[_scaled(seal, scale) for seal in planned.drawn.seals],
        tables=[] if opened.rules or planned.within else [[0.0, 0.0, float(size.width), float(size.height)]],
        slope=planned.slope,
        parts=[_scaled(place, scale) for place in planned.within],
        parts_scale=min(1.0, LARGE_SIDE / max(size.width, size.height)),
    )
    lines, _ = await engine.call("lines", request, [pixels], returns=Lines)
    parts = again(lines.lines, planned, opened.width, opened.height, scale)
    if not parts:
        return lines
    more, _ = await engine.call(
        "lines",
        msgspec.structs.replace(request, tables=[], parts=[_scaled(part, scale) for part in parts], parts_scale=1.0),
        [pixels],
        returns=Lines,
    )
    return msgspec.structs.replace(lines, lines=[*lines.lines, *unknown(more.lines, lines.lines)])


def again(
    found: Sequence[FoundLine], planned: Plan, width: float, height: float, scale: tuple[float, float]
) -> list[Box]:
    """Places of the page, in its units, where there is ink that no line, picture or seal explains. `scale` is pixels per page unit."""
    if planned.ink is None:
        return []
    known = [
        *(_unscaled(box_of(line), scale) for line in found),
        *(line.bbox for line in planned.trust.trusted),
        *(box.bbox for box in planned.boxes if box.label == "picture"),
        *planned.drawn.seals,
    ]
    return leftover.parts(leftover.clusters(planned.ink, known), width, height, MARGIN * max(width, height))


def unknown(more: Sequence[FoundLine], known: Sequence[FoundLine]) -> list[FoundLine]:
    """Lines of a second look that the first did not find."""
    boxes = [box_of(line) for line in known]
    out = []
    for line in more:
        box = box_of(line)
        if sum(common(box, other) for other in boxes) < SAME * area(box):
            out.append(line)
            boxes.append(box)
    return out


def _scaled(box: Sequence[float], scale: tuple[float, float]) -> Box:
    return [box[0] * scale[0], box[1] * scale[1], box[2] * scale[0], box[3] * scale[1]]


def _unscaled(box: Sequence[float], scale: tuple[float, float]) -> Box:
    return [box[0] / scale[0], box[1] / scale[1], box[2] / scale[0], box[3] / scale[1]]
