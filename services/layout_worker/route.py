"""From regions to readers and tasks: its own text, the recogniser (`rec`), the vision-language model (`vl`) or nobody.

Who reads a region is decided by `policy`; here its words, its warnings and the records that follow.
A table goes to `rec` even when its lines are native: it has no structure yet (lines with text are not read again). Only where these lines
are a complete grid by themselves, structure and text are there and exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from services.layout_worker.boxes import share_inside
from services.layout_worker.policy import NEEDS_STRUCTURE, Decision, Policy, has_text, has_unread
from services.layout_worker.regions.drafts import Draft
from shared.contracts.document import Warning
from shared.contracts.ids import region_id, task_id
from shared.contracts.layout import Inspection, PageLayout, Region
from shared.contracts.records import PageTask, RecTask, TaskRef, VlTask

if TYPE_CHECKING:
    from shared.settings import RouteRule

MOST_OF_PICTURE = 0.5
"""Share of the box of a picture that a text was found in from which another box is that picture, clipped or without its caption."""
GRID = "its own lines are a complete grid"
"""Reason of a table that needs no reader: its text is there, and its cells too, by ruling lines or because they stand in clear columns."""


class Router:
    """Routes the regions of one page of a document."""

    def __init__(self, inspection: Inspection, rules: Sequence[RouteRule], page_area: float) -> None:
        """`page_area` in square units of the page."""
        self._inspection = inspection
        self._options = inspection.options
        single = inspection.vl_profile is not None and inspection.options.vl == "auto"
        self._policy = Policy(rules=rules, page_area=page_area, options=inspection.options, vl=single)
        self._richest = Policy(rules=rules, page_area=page_area, options=inspection.options, vl=True)

    def decide(self, draft: Draft) -> Decision:
        """Who reads this region, by which row of the table."""
        if whole_pages(self._inspection) and self._options.ocr != "off" and draft.label != "picture":
            return Decision("vl")
        return self._policy.decide(draft)

    def route(self, drafts: Sequence[Draft], page_no: int) -> tuple[list[Region], list[Warning]]:
        """Regions with ids and readers, in the order of the drafts, and what a reader of the result should know."""
        decisions = [self.decide(draft) for draft in drafts]
        ids = [region_id(page_no, index) for index in range(len(drafts))]
        regions = [
            Region(
                region_id=ids[index],
                label=draft.label,
                raw_label=draft.raw_label,
                bbox=[round(v, 2) for v in draft.bbox],
                confidence=round(draft.confidence, 4),
                found_by=draft.found_by,
                read_by=decided.reader,
                direct=draft.direct and decided.reader == "rec",
                lines=draft.lines,
                grid=draft.grid,
                reason=self._reason(draft, decided),
                route=decided.rule,
                picture_id=_picture_of(draft, drafts, ids),
            )
            for index, (draft, decided) in enumerate(zip(drafts, decisions, strict=True))
        ]
        return regions, [*self._poorer(drafts, decisions, page_no), *_not_read(drafts, decisions, page_no)]

    def _reason(self, draft: Draft, decided: Decision) -> str | None:
        """In words, where it is not plain; that a table needs no reader says more than how its region came about."""
        if decided.reader == "native" and draft.label in NEEDS_STRUCTURE:
            return GRID
        if draft.reason is not None:
            return draft.reason
        if decided.reader == "vl":
            return f"vl={self._options.vl}" if decided.rule is None else None
        if decided.reader == "rec" and draft.label in NEEDS_STRUCTURE and has_text(draft) and not has_unread(draft):
            return "structure only"
        if decided.reader == "rec" and has_text(draft):
            return "own text and picture"
        return None

    def _poorer(self, drafts: Sequence[Draft], decisions: Sequence[Decision], page_no: int) -> list[Warning]:
        """What a model would have read by the same table, had there been one."""
        if self._options.vl == "off":
            return []
        counts = Counter(
            draft.label
            for draft, decided in zip(drafts, decisions, strict=True)
            if (decided.reader == "rec" or (decided.reader == "native" and draft.label not in NEEDS_STRUCTURE))
            and self._richest.decide(draft).reader == "vl"
        )
        return [
            Warning(
                code="vl_unavailable",
                page_no=page_no,
                message=f"{count} {label} region(s) read without a vision-language model; set vl.endpoints for a better reading",
            )
            for label, count in sorted(counts.items())
        ]


def _picture_of(draft: Draft, drafts: Sequence[Draft], ids: Sequence[str]) -> str | None:
    """Id of the picture a text stands in: the one that covers most of the box it was found in."""
    if draft.inside is None:
        return None
    shares = [
        (share_inside(draft.inside, other.bbox), one)
        for other, one in zip(drafts, ids, strict=True)
        if other.label == "picture"
    ]
    share, best = max(shares, default=(0.0, ""), key=lambda pair: pair[0])
    return best if share >= MOST_OF_PICTURE else None


def _not_read(drafts: Sequence[Draft], decisions: Sequence[Decision], page_no: int) -> list[Warning]:
    unread = [
        (draft, decided)
        for draft, decided in zip(drafts, decisions, strict=True)
        if decided.reader == "none" and has_unread(draft)
    ]
    if not unread:
        return []
    why = "because layout.route says so" if any(decided.rule for _, decided in unread) else "because ocr is off"
    return [Warning(code="not_read", page_no=page_no, message=f"{len(unread)} region(s) not read, {why}")]


def whole_pages(inspection: Inspection) -> bool:
    """Whether the VL model reads whole pages, or ranges of them, instead of regions."""
    return inspection.vl_profile is not None and inspection.options.vl in ("page", "document")


def tasks_of(layout: PageLayout, inspection: Inspection) -> list[TaskRef]:
    """The tasks a page waits for. A range of pages (`inspection.range_size`) is the join's to name, not ours."""
    generation, page = layout.generation, [layout.page_no]
    tasks = []
    if any(region.read_by == "rec" for region in layout.regions):
        tasks.append(TaskRef(task_id=task_id("rec", generation, page), stage="rec"))
    if whole_pages(inspection):
        if inspection.range_size == 0 and any(region.read_by == "vl" for region in layout.regions):
            tasks.append(TaskRef(task_id=task_id("vl", generation, page), stage="vl"))
    else:
        tasks += [
            TaskRef(task_id=task_id("vl", generation, page, [region.region_id]), stage="vl")
            for region in layout.regions
            if region.read_by == "vl"
        ]
    return tasks


def records_of(
    task: PageTask, layout: PageLayout, layout_sha256: str, inspection: Inspection
) -> list[RecTask | VlTask]:
    """The records of `layout.tasks`, the same for every attempt at the page."""
    regions = {
        task_id("vl", layout.generation, [layout.page_no], [region.region_id]): region
        for region in layout.regions
        if region.read_by == "vl"
    }
    records: list[RecTask | VlTask] = []
    for ref in layout.tasks:
        if ref.stage == "rec":
            records.append(
                RecTask(
                    document_id=task.document_id,
                    generation=task.generation,
                    page_no=task.page_no,
                    task_id=ref.task_id,
                    layout_sha256=layout_sha256,
                    lane=task.lane,
                    deadline=task.deadline,
                )
            )
            continue
        region = regions.get(ref.task_id)
        records.append(
            VlTask(
                document_id=task.document_id,
                generation=task.generation,
                mode="region" if region else "page",
                pages=[task.page_no],
                task_id=ref.task_id,
                profile=inspection.vl_profile or "",
                kind=region.label if region else "page",
                region_id=region.region_id if region else None,
                layout_sha256=layout_sha256,
                lane=task.lane,
                deadline=task.deadline,
            )
        )
    return records
