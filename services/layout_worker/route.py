"""Who reads a region: its own text, the recogniser (`rec`), the vision-language model (`vl`) or nobody.

The policy is data: `READERS` says who reads what where there is a choice; the rest follows from whether the lines have text already.
A table goes to `rec` even when its lines are native: it has no structure yet (lines with text are not read again). Only where these lines
are a complete grid by themselves, structure and text are there and exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from services.layout_worker import doubts
from services.layout_worker.drafts import Draft
from shared.contracts.document import Label, Warning
from shared.contracts.ids import region_id, task_id
from shared.contracts.layout import Inspection, PageLayout, Region
from shared.contracts.records import PageTask, RecTask, TaskRef, VlTask

Reader = Literal["native", "rec", "vl", "none"]

VL_LABELS: frozenset[Label] = frozenset({"table", "seal", "formula"})
"""What goes to the VL model in `vl: auto`, if there is one."""
NEEDS_STRUCTURE: frozenset[Label] = frozenset({"table"})
"""What `rec` works on even when all its lines have text."""
GRID = "its own lines are a complete grid"
"""Reason of a table that needs no reader: its text is there, and its cells too, by ruling lines or because they stand in clear columns."""
READ_WITHOUT_LINES: frozenset[Label] = frozenset({"table", "seal", "formula"})
"""What `rec` works on even when no line was detected in it."""


def route(drafts: Sequence[Draft], inspection: Inspection, page_no: int) -> tuple[list[Region], list[Warning]]:
    """Regions with ids and readers, in the order of the drafts, and what a reader of the result should know."""
    regions = []
    poorer: Counter[str] = Counter()
    unread = 0
    for index, draft in enumerate(drafts):
        reader, reason = reader_of(draft, inspection)
        if (
            reader in ("rec", "native")
            and draft.label in VL_LABELS
            and reason != GRID
            and inspection.options.vl != "off"
        ):
            poorer[draft.label] += 1
        unread += reader == "none" and any(line.text is None for line in draft.lines)
        regions.append(
            Region(
                region_id=region_id(page_no, index),
                label=draft.label,
                raw_label=draft.raw_label,
                bbox=[round(v, 2) for v in draft.bbox],
                confidence=round(draft.confidence, 4),
                found_by=draft.found_by,
                read_by=reader,
                direct=draft.direct and reader == "rec",
                lines=draft.lines,
                grid=draft.grid,
                reason=(reason if reason == GRID else None) or draft.reason or reason,
            )
        )
    warnings = [
        Warning(
            code="vl_unavailable",
            page_no=page_no,
            message=f"{count} {label} region(s) read without a vision-language model; set vl.endpoints for a better reading",
        )
        for label, count in sorted(poorer.items())
    ]
    if unread:
        warnings.append(
            Warning(code="not_read", page_no=page_no, message=f"{unread} region(s) not read, because ocr is off")
        )
    return regions, warnings


def reader_of(draft: Draft, inspection: Inspection) -> tuple[Reader, str | None]:
    """Who reads this region, and why where that is not plain."""
    options = inspection.options
    has_text = any(line.text is not None for line in draft.lines)
    to_read = any(line.text is None for line in draft.lines)
    if draft.label == "picture":
        return "none", None
    if options.ocr == "off":
        if draft.label in NEEDS_STRUCTURE and has_text:
            return ("native", GRID) if _is_native_grid(draft) else ("rec", "structure only")
        return ("native" if has_text else "none"), None
    if inspection.vl_profile is not None and whole_pages(inspection):
        return "vl", f"vl={options.vl}"
    if draft.label in NEEDS_STRUCTURE and draft.grid is not None and _is_native_grid(draft):
        return "native", GRID  # cells and characters are exact; a model could only add mistakes
    if inspection.vl_profile is not None and options.vl == "auto" and draft.label in VL_LABELS:
        return "vl", None
    if draft.label in NEEDS_STRUCTURE:
        return (
            ("native", GRID)
            if _is_native_grid(draft)
            else ("rec", "structure only" if has_text and not to_read else None)
        )
    if to_read or draft.direct or (not draft.lines and draft.label in READ_WITHOUT_LINES):
        return "rec", "own text and picture" if has_text else None
    return ("native" if has_text else "none"), None


def _is_native_grid(draft: Draft) -> bool:
    return all(line.text is not None for line in draft.lines) and (
        draft.grid is not None or doubts.is_complete_grid(draft.lines)
    )


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
