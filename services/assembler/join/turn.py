"""One event under way: the state as it becomes, and what the event asks for."""

from __future__ import annotations

import msgspec

from services.assembler.join.memory import Document, Mark, Memory, Opened, Page, Write, mark_of
from shared.contracts.errors import DocfleetError
from shared.contracts.records import CancelDocument, DocumentParsed, Result
from shared.streams.stage import Emit

replace = msgspec.structs.replace


class Outcome(msgspec.Struct):
    """What an event asks for. Appends in this order: `writes` (table `open`), `parsed` and `forgotten` (table `parsed`), `emits`."""

    document_id: str
    writes: list[Write] = []
    parsed: list[DocumentParsed] = []
    forgotten: int | None = None
    """Publish a tombstone, after `parsed`; the generation up to which nothing begins again."""
    emits: list[Emit] = []
    suspected: bool = False
    """Watch what this document still waits for (`proofs`)."""
    ignored: str | None = None
    """Why the event changed nothing: `done`, `stale` (a lower generation), `unknown` (no such document), `foreign`, `frozen`, `duplicate`."""
    refused: DocfleetError | None = None
    """The event is a dead letter: `conflict`, or a kind this join does not handle."""
    trace_id: str | None = None
    """32 hex, where the document is known."""
    traceparent: str | None = None
    """Of the span that opened the document, where it is open."""


class Turn:
    """One event. Holds the state as it becomes, so that work is derived from the state after the event."""

    def __init__(self, memory: Memory, event: Result | CancelDocument, at: float) -> None:
        self.memory = memory
        self.document_id = event.document_id
        self.generation = event.generation
        self.at = at
        self.mark: Mark | None = memory.mark(self.document_id)
        self.document = memory.document(self.document_id) or Document()
        self.opened: Opened | None = self.document.opened
        opening = self.opened.event if self.opened else None
        self.outcome = Outcome(
            self.document_id,
            trace_id=opening.trace_id if opening else None,
            traceparent=opening.traceparent if opening else None,
        )

    # --- appends ------------------------------------------------------------------------------------------------------

    def end(self, parsed: DocumentParsed) -> None:
        """Append a terminal record, unless this generation or a higher one has one."""
        if self.mark is None or parsed.generation > self.mark.generation:
            self.mark = mark_of(parsed)
            self.outcome.parsed.append(parsed)

    def keep_opened(self, opened: Opened) -> None:
        """Write the open generation, where it changed."""
        if opened != self.opened:
            self.opened = opened
            self.keep(replace(self.document, opened=opened))

    def keep(self, document: Document) -> None:
        self.document = document
        self.outcome.writes.append(Write(self.document_id, None, document))

    def keep_page(self, page_no: int, before: Page | None, page: Page) -> None:
        if page != before:
            self.outcome.writes.append(Write(self.document_id, page_no, page))

    def drop_page(self, page_no: int) -> None:
        if self.memory.page(self.document_id, page_no) is not None:
            self.outcome.writes.append(Write(self.document_id, page_no, None))

    def drop_pages(self, opened: Opened) -> None:
        """Delete what is left of the pages of a generation."""
        for index, page_no in enumerate(opened.pages):
            if not opened.done(index):
                self.drop_page(page_no)

    def emit(self, emits: list[Emit]) -> None:
        self.outcome.emits.extend(emits)

    def ignore(self, why: str) -> None:
        self.outcome.ignored = why

    def page(self, page_no: int) -> Page | None:
        """The page's record; one of another generation counts as none."""
        page = self.memory.page(self.document_id, page_no)
        return page if page is not None and page.generation == self.generation else None
