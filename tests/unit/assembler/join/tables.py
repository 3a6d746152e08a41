"""Builders of events, and tables in memory, for the tests of the pure join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.assembler.join.memory import (
    Document,
    Mark,
    Page,
    decode_mark,
    decode_state,
    encode_mark,
    encode_state,
    mark_of,
    open_key,
)
from services.assembler.join.turn import Outcome
from services.assembler.join.work import compose_task, layout_task
from shared.contracts import ids
from shared.contracts import records as r
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.options import page_ranges, selected_pages

FAILURE = DocfleetError(ErrorCode.crashed, "the page crashed its reader").info(Phase.rec)


class Tables:
    """The two tables as bytes, as the drivers keep them."""

    def __init__(self) -> None:
        self.open: dict[bytes, bytes] = {}
        self.parsed: dict[bytes, bytes] = {}

    def mark(self, document_id: str) -> Mark | None:
        found = self.parsed.get(document_id.encode())
        return decode_mark(found) if found else None

    def document(self, document_id: str) -> Document | None:
        found = self.open.get(open_key(document_id))
        return decode_state(found, Document) if found else None

    def page(self, document_id: str, page_no: int) -> Page | None:
        found = self.open.get(open_key(document_id, page_no))
        return decode_state(found, Page) if found else None

    def apply(self, outcome: Outcome) -> None:
        for write in outcome.writes:
            if write.value is None:
                self.open.pop(write.key, None)
            else:
                self.open[write.key] = encode_state(write.value)
        for parsed in outcome.parsed:
            self.parsed[parsed.document_id.encode()] = encode_mark(mark_of(parsed))
        if outcome.forgotten is not None:
            self.bury(outcome.document_id, outcome.forgotten)

    def bury(self, document_id: str, generation: int) -> None:
        """What a tombstone leaves."""
        self.parsed[document_id.encode()] = encode_mark(Mark(generation, "cancelled"))


def source(etag: str = "e1") -> r.SourceRef:
    return r.SourceRef(bucket="in", key="a.pdf", etag=etag, size=10)


def opened(document_id: str = "d", generation: int = 0, pages: int = 3, **given: Any) -> r.DocumentOpened:
    return r.DocumentOpened(
        **{
            "document_id": document_id,
            "generation": generation,
            "source": source(),
            "pages_total": pages,
            "selected": page_ranges(list(range(1, pages + 1))),
            "options_hash": "o",
            "pipeline_fingerprint": "f",
            "submitted_at": 1_000.0,
            **given,
        }
    )


def laid_out(page: int, tasks: Sequence[str] = (), document_id: str = "d", generation: int = 0) -> r.PageLaidOut:
    return r.PageLaidOut(
        document_id=document_id,
        generation=generation,
        page_no=page,
        task_id=layout_task(generation, page),
        layout_sha256=f"{page:064d}",
        tasks=[r.TaskRef(task_id=task, stage="rec") for task in tasks],
    )


def rec(page: int, generation: int = 0) -> str:
    return ids.task_id("rec", generation, [page])


def read(pages: list[int], task: str, document_id: str = "d", generation: int = 0) -> r.RegionsRead:
    return r.RegionsRead(document_id=document_id, generation=generation, pages=pages, task_id=task, stage="rec")


def failed(pages: list[int], task: str, document_id: str = "d", generation: int = 0) -> r.PageFailed:
    return r.PageFailed(document_id=document_id, generation=generation, pages=pages, task_id=task, error=FAILURE)


def composed(page: int, document_id: str = "d", generation: int = 0, status: Any = "ok") -> r.PageComposed:
    return r.PageComposed(
        document_id=document_id,
        generation=generation,
        page_no=page,
        task_id=compose_task(generation, page),
        status=status,
        sha256="0" * 64,
    )


def finished(document_id: str = "d", generation: int = 0, status: Any = "success") -> r.DocumentComposed:
    return r.DocumentComposed(
        document_id=document_id,
        generation=generation,
        task_id=ids.document_task_id(generation),
        status=status,
        source=r.SourceInfo(bucket="in", key="a.pdf", etag="e1"),
        result=r.ObjectRef(bucket="out", key="document.json"),
        markdown=None,
        totals=r.Totals(),
    )


def cancel(document_id: str = "d", generation: int = 0) -> r.CancelDocument:
    return r.CancelDocument(document_id=document_id, generation=generation)


def forgotten(document_id: str = "d", generation: int = 0) -> r.DocumentForgotten:
    return r.DocumentForgotten(document_id=document_id, generation=generation)


def proven(task: str, pages: list[int], attempt: int = 1, document_id: str = "d", generation: int = 0) -> r.StallProven:
    return r.StallProven(document_id=document_id, generation=generation, task_id=task, attempt=attempt, pages=pages)


def closed(document_id: str = "d", generation: int = 0) -> r.DocumentClosed:
    return r.DocumentClosed(document_id=document_id, generation=generation)


def rejected(document_id: str = "d", generation: int = 0, code: ErrorCode = ErrorCode.corrupt) -> r.DocumentRejected:
    error = DocfleetError(code, "no").info(Phase.ingest)
    return r.DocumentRejected(
        document_id=document_id, generation=generation, source=r.SourceInfo(bucket="in", key="a.pdf"), error=error
    )


def cached(document_id: str = "d", generation: int = 0) -> r.DocumentCached:
    return r.DocumentCached(
        document_id=document_id,
        generation=generation,
        source=r.SourceInfo(bucket="in", key="a.pdf"),
        result=r.ObjectRef(bucket="out", key="document.json"),
        markdown=None,
        totals=r.Totals(),
    )


def expression(pages: str) -> set[int]:
    """The page numbers of an expression; none of an empty one."""
    return set(selected_pages(pages, 99)) if pages else set()


def pages_of(event: r.DocumentOpened) -> list[int]:
    """The selected page numbers of a document."""
    return selected_pages(event.selected, event.pages_total) if event.selected else []
