"""The whole document: from its composed pages to `document.json` and its Markdown.

Status: `failure` when pages were asked for and not one of them is ok or blank; `partial_success` when any page failed or
any error is listed; else `success`. Pages that were not asked for are listed as `skipped` and decide nothing.
Work and memory are linear in the number of blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from services.assembler.document import furniture, joins, lists, markdown, sections, ties
from shared.contracts.document import Block, Lineage, Markdown, Page, PageKind, ParsedDocument, Warning
from shared.contracts.errors import DocfleetError, ErrorCode, ErrorInfo, Phase
from shared.contracts.layout import ComposedPage, Inspection
from shared.contracts.options import selected_pages
from shared.contracts.records import PageStatus, Timings, Totals

DocumentStatus = Literal["success", "partial_success", "failure"]


class DocumentInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a document is made of besides its pages. `now`: seconds since the epoch; `unfinished`: pages out of time."""

    inspection: Inspection
    selected: str
    unfinished: str = ""
    now: float
    pipeline_version: str
    markdown_uri: str | None = None
    """Where the Markdown will be stored."""
    failures: dict[str, list[ErrorInfo]] = {}
    """Page number (as text) to the errors of a selected page that has no `page.json`."""


def compose_document(given: DocumentInput, composed: Iterable[ComposedPage]) -> tuple[ParsedDocument, str | None]:
    """The document and its Markdown (none when `options.formats` does not ask for it).

    `composed` may come in any order and may lack pages; a selected page that is neither there nor in `failures` nor in
    `unfinished` is a fault of the fleet and listed as `internal`.
    """
    inspection = given.inspection
    found = {page.page.page_no: page for page in composed}
    total = len(inspection.pages)
    chosen, late = expressed(given.selected, total), expressed(given.unfinished, total)
    pages = [_page(number, given, found, chosen, late) for number in range(1, total + 1)]
    del found  # thousands of pages: what is not needed any more is let go at once
    if inspection.unit is None:  # a document without places says itself what is what
        blocks = [block for page in pages for block in page.blocks]
    else:
        pages = furniture.separated(pages)
        blocks = joins.joined_over_pages([page.blocks for page in pages])
        blocks = ties.tied(lists.nested(sections.levelled(blocks, inspection.outline)))
    pages = [replace(page, blocks=[]) for page in pages]
    blocks, section_tree = sections.tree([replace(block, order=i) for i, block in enumerate(blocks)])
    text, written = markdown.written(blocks) if "markdown" in inspection.options.formats else (None, Markdown())
    errors = [error for page in pages for error in page.errors]
    models = {msgspec.json.encode(model): model for page in pages for model in page.models}
    document = ParsedDocument(
        document_id=inspection.document_id,
        generation=inspection.generation,
        source=inspection.source,
        status=_status([page.page for page in pages], errors),
        errors=errors,
        warnings=_warnings(inspection, pages, blocks),
        pages=[page.page for page in pages],
        blocks=blocks,
        sections=section_tree,
        outline=inspection.outline,
        markdown=replace(written, uri=given.markdown_uri if text is not None else None),
        totals=_totals(pages, blocks),
        timings=_timings(given, pages),
        lineage=Lineage(
            pipeline_version=given.pipeline_version,
            pipeline_fingerprint=inspection.pipeline_fingerprint,
            options_hash=inspection.options_hash,
            models=[models[key] for key in sorted(models)],
            trace_id=inspection.trace_id,
        ),
    )
    return document, text


def _page(
    number: int, given: DocumentInput, found: Mapping[int, ComposedPage], chosen: frozenset[int], late: frozenset[int]
) -> ComposedPage:
    if number not in chosen:
        return _empty(number, given, "skipped", "not selected", [])
    if number in late:
        error = DocfleetError(ErrorCode.timeout, "the deadline of the document passed before this page was done")
        return _empty(number, given, "failed", "deadline", [error.info(Phase.assemble, number)])
    if number in found:
        return found[number]
    errors = given.failures.get(str(number), [])
    if not errors:
        lost = DocfleetError(ErrorCode.internal, "the page was not composed, and nothing says why")
        errors = [lost.info(Phase.assemble, number)]
    return _empty(number, given, "failed", "not composed", errors)


def expressed(pages: str, total: int) -> frozenset[int]:
    """Pages of a record's expression, in which, unlike in options, nothing means none."""
    return frozenset(selected_pages(pages, total)) if pages.strip() else frozenset()


def _empty(number: int, given: DocumentInput, status: PageStatus, reason: str, errors: list[ErrorInfo]) -> ComposedPage:
    geometry = given.inspection.pages[number - 1]
    kind: PageKind = "blank"
    page = Page(
        page_no=number,
        width=geometry.width,
        height=geometry.height,
        unit=given.inspection.unit,
        rotation=geometry.rotation,
        status=status,
        kind=kind,
        kind_reason=[reason],
    )
    return ComposedPage(
        document_id=given.inspection.document_id,
        generation=given.inspection.generation,
        page=page,
        blocks=[],
        errors=errors,
    )


def _status(pages: list[Page], errors: list[ErrorInfo]) -> DocumentStatus:
    wanted = [page.status for page in pages if page.status != "skipped"]
    if wanted and not any(status in ("ok", "blank") for status in wanted):
        return "failure"
    return "partial_success" if errors or "failed" in wanted else "success"


def _warnings(inspection: Inspection, pages: list[ComposedPage], blocks: list[Block]) -> list[Warning]:
    """All warnings; one that names a block which was joined to another keeps its page only."""
    ids = {block.id for block in blocks}
    return [
        warning if warning.block_id is None or warning.block_id in ids else replace(warning, block_id=None)
        for warning in (*inspection.warnings, *(w for page in pages for w in page.warnings))
    ]


def _totals(pages: list[ComposedPage], blocks: list[Block]) -> Totals:
    return Totals(
        pages=len(pages),
        pages_ok=sum(page.page.status in ("ok", "blank") for page in pages),
        blocks=len(blocks),
        tables=sum(block.table is not None for block in blocks),
        chars=sum(len(block.text) for block in blocks if block.content_layer in ("body", "furniture", "notes")),
        ocr_regions=sum(page.ocr_regions for page in pages),
        vl_regions=sum(page.vl_regions for page in pages),
        cache_hits=sum(page.cache_hits for page in pages),
    )


def _timings(given: DocumentInput, pages: list[ComposedPage]) -> Timings:
    """`queue_s`: from submission until ingest began; `total_s`: from submission (or ingest) until now."""
    inspection = given.inspection
    begun = inspection.opened_at - inspection.ingest_s
    since = inspection.submitted_at if inspection.submitted_at is not None else begun
    return Timings(
        queue_s=round(max(0.0, begun - since), 3),
        ingest_s=round(inspection.ingest_s, 3),
        layout_s=round(sum(page.layout_s for page in pages), 3),
        rec_s=round(sum(page.rec_s for page in pages), 3),
        vl_s=round(sum(page.vl_s for page in pages), 3),
        assemble_s=round(sum(page.assemble_s for page in pages), 3),
        total_s=round(max(0.0, given.now - since), 3),
    )
