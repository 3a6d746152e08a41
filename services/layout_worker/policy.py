"""Who reads a region, by the routing table (`layout.route`): data of the settings, looked through row by row.

A row decides when its conditions hold *and* its reader can do the work, so one table serves fleets with and without a vision-language
model, and every `options.ocr`. What no row decides follows from whether the region's lines have text already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from services.layout_worker.boxes import area
from services.layout_worker.regions.drafts import Draft
from services.layout_worker.tables.rows import is_complete_grid
from shared.contracts.document import Label
from shared.contracts.options import Options

if TYPE_CHECKING:
    from shared.settings import RouteRule

Reader = Literal["native", "rec", "vl", "none"]

NEEDS_STRUCTURE: frozenset[Label] = frozenset({"table"})
"""What `rec` works on even when all its lines have text (it does not read them again)."""
READ_WITHOUT_LINES: frozenset[Label] = frozenset({"table", "seal", "formula"})
"""What `rec` works on even when no line was detected in it."""


class Decision(msgspec.Struct, frozen=True):
    """Who reads a region, and the row that said so; without one it follows from the region's lines."""

    reader: Reader
    rule: str | None = None


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The table, and what may be done to one document."""

    rules: Sequence[RouteRule]
    page_area: float
    options: Options
    vl: bool
    """Whether there is a vision-language model to read single regions."""

    def decide(self, draft: Draft) -> Decision:
        """The first row that fits; else own text where it is whole, `rec` where lines are to be read, nobody where there is nothing."""
        for rule in self.rules:
            if self._fits(rule, draft) and self._can(rule.to, draft):
                return Decision(rule.to, rule.name)
        if self._can("rec", draft) and (draft.direct or has_unread(draft) or not draft.lines):
            return Decision("rec")
        return Decision("native" if has_text(draft) else "none")

    def _fits(self, rule: RouteRule, draft: Draft) -> bool:
        if rule.labels and draft.label not in rule.labels:
            return False
        share = area(draft.bbox) / max(self.page_area, 1e-6)
        if not (rule.share_from or 0.0) <= share < (rule.share_below or float("inf")):
            return False
        if rule.confidence_below is not None and not (
            draft.found_by == "model" and draft.confidence < rule.confidence_below
        ):
            return False
        if rule.confidence_from is not None and draft.confidence < rule.confidence_from:
            return False
        return _has(rule.text, draft) and _is_grid(rule.grid, draft)

    def _can(self, reader: Reader, draft: Draft) -> bool:
        if reader == "native":
            return (has_text(draft) or draft.grid is not None) and not has_unread(draft)
        if reader == "none":
            return True
        pixels = self.options.ocr != "off"
        if reader == "vl":
            return self.vl and pixels
        if draft.label in NEEDS_STRUCTURE and has_text(draft):
            return True
        return pixels and (draft.direct or has_unread(draft) or draft.label in READ_WITHOUT_LINES)


def has_text(draft: Draft) -> bool:
    """Whether any line has text of the page's own."""
    return any(line.text is not None for line in draft.lines)


def has_unread(draft: Draft) -> bool:
    """Whether any line is to be read."""
    return any(line.text is None for line in draft.lines)


def _has(wanted: str, draft: Draft) -> bool:
    if wanted == "all":
        return has_text(draft) and not has_unread(draft)
    if wanted == "some":
        return has_text(draft)
    return wanted == "any" or not has_text(draft)


def _is_grid(wanted: str, draft: Draft) -> bool:
    if wanted == "any":
        return True
    if has_unread(draft):
        return False
    # A drawn grid without any text is a form that nobody filled in.
    return draft.grid is not None or (wanted == "complete" and is_complete_grid(draft.lines))
