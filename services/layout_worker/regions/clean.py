"""The network's boxes without what it saw twice, or did not see at all: weak ones, doubles, boxes in boxes, and giants.

Measured ground for the confidence: layout_cdla at 0.3 leaves 0.4 % of the lines of generated scans and 0.6 % of the characters of real
pages outside all of its boxes; at its default of 0.5 up to 45 % of a page.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from services.layout_worker.boxes import area, clipped, iou, share_inside
from services.layout_worker.found import FoundBox
from services.layout_worker.regions.drafts import HOLDS_TEXT
from shared.contracts.document import Label

SAME_BOX = 0.6
"""Boxes with a larger intersection over union are one thing, seen twice."""
INSIDE = 0.85
"""Share of a box's area in another from which it counts as contained."""
TWICE = 0.6
"""The same for two boxes of one label: the network gives some footers twice, one box lower than the other."""
GIANT, WITNESSES = 0.75, 3
"""Share of the page from which a box over this many others, that are surer than it, is the page and no thing on it."""
_KEPT_INSIDE: frozenset[Label] = frozenset({"title", "section_header", "caption", "page_number", "formula", "seal"})
"""A box of these labels inside a text box is a part with a meaning of its own."""


def clean(boxes: Sequence[FoundBox], width: float, height: float, min_confidence: float) -> list[FoundBox]:
    """Boxes of the network, clipped to the page (of this size in their units), best first."""
    kept: list[FoundBox] = []
    for box in sorted(boxes, key=lambda b: (-b.score, b.bbox)):
        bbox = clipped(box.bbox, width, height)
        if box.score >= min_confidence and area(bbox) > 0 and all(iou(bbox, other.bbox) < SAME_BOX for other in kept):
            kept.append(msgspec.structs.replace(box, bbox=bbox))
    kept = [box for box in kept if not _is_giant(box, kept, width * height)]
    return [box for box in kept if not any(_adds_nothing(box, other) for other in kept)]


def _is_giant(box: FoundBox, boxes: Sequence[FoundBox], page: float) -> bool:
    """Whether a box over the page only says that there is something on it: others, surer ones, say what."""
    if area(box.bbox) < GIANT * page:
        return False
    better = [o for o in boxes if o is not box and o.score > box.score and share_inside(o.bbox, box.bbox) >= INSIDE]
    return len(better) >= WITNESSES


def _adds_nothing(inner: FoundBox, outer: FoundBox) -> bool:
    least = TWICE if inner.label == outer.label else INSIDE
    if inner is outer or area(inner.bbox) >= area(outer.bbox) or share_inside(inner.bbox, outer.bbox) < least:
        return False
    if outer.label in ("picture", "table"):
        return inner.label not in ("caption", "seal")
    if outer.label in HOLDS_TEXT:
        return inner.label in HOLDS_TEXT - _KEPT_INSIDE or inner.label == outer.label
    return inner.label in HOLDS_TEXT
