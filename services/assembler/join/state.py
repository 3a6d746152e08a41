"""The pure join: (state, event) to (changes of the state, terminal records, work).

The document's conductor. It releases pages in a window, gathers what was read, asks for composing and ends each generation
with exactly one `DocumentParsed`. It does no I/O and reads no clock: `at` is the event's own timestamp.

The rule that carries everything: **what is emitted depends on the state after the event, not on the change the event made.** An
event that is handled again (after a crash, some or all of its appends may exist) emits the same records again, and whoever
gets them finds the work done by its id. An event emits only work of its own page and of the one page its end releases.

Ending is one append: the event that ends a generation only appends to `parsed`; the open state stays until `DocumentClosed`, which
is sent when that append is acknowledged. A mark in `parsed` beats open state.
"""

from __future__ import annotations

from services.assembler.join import ending, lost, pages, work
from services.assembler.join.memory import (
    MAX_SUPERSEDED,
    Document,
    Mark,
    Memory,
    Opened,
    Superseded,
    Write,
)
from services.assembler.join.turn import Outcome, Turn, replace
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.ids import document_task_id
from shared.contracts.options import page_ranges
from shared.contracts.records import (
    CancelDocument,
    CloseDocument,
    DeadlinePassed,
    DocumentCached,
    DocumentClosed,
    DocumentComposed,
    DocumentFailed,
    DocumentForgotten,
    DocumentOpened,
    DocumentRejected,
    PageFailed,
    PageLaidOut,
    RangeMismatched,
    RegionsRead,
    Result,
    SourceInfo,
    SourceRef,
    StallProven,
    StallSuspected,
    StateExpired,
)
from shared.streams.stage import Emit

REPLAY_S = 3_600.0
"""Seconds between the opening of a document and a command, by their timestamps, within which both may be replayed: one commit interval,
and what a join that fell behind handles in it."""

PARKED_S = 86_400.0
"""Seconds a cancel waits for its document (architecture.md, The join's rules)."""


def join(memory: Memory, event: Result | CancelDocument, at: float, window: int) -> Outcome:
    """Handle one event.

    `memory` is read, never written: the caller applies `Outcome.writes` and `Outcome.parsed`. `at` is the timestamp of the
    event's record, seconds since the epoch. `window` is the setting for documents that open now, pages.
    """
    turn = Turn(memory, event, at)
    handle(turn, event, window)
    return turn.outcome


# --- which events count -------------------------------------------------------------------------------------------


def handle(turn: Turn, event: Result | CancelDocument, window: int) -> None:
    if isinstance(event, DocumentClosed):
        close(turn)
    elif isinstance(event, DocumentForgotten):
        forget(turn)
    elif turn.mark is not None and turn.generation <= turn.mark.generation:
        turn.ignore("done")
    elif isinstance(event, DocumentOpened | DocumentRejected | DocumentCached):
        begin(turn, event, window)
    elif isinstance(event, CancelDocument):
        cancel(turn)
    elif isinstance(event, StateExpired):
        expire(turn)
    elif turn.opened is None or turn.generation > turn.opened.generation:
        turn.ignore("unknown")
    elif turn.generation < turn.opened.generation:
        turn.ignore("stale")
    elif turn.document.parked == turn.generation and not _replaying(turn, turn.opened):
        turn.end(ending.cancelled(turn.opened.event, turn.at, ending.supersedes(turn.opened)))  # it waited for a replay
    elif isinstance(event, DocumentComposed | DocumentFailed):
        finish(turn, event, turn.opened)
    elif isinstance(event, DeadlinePassed):
        run_out(turn, turn.opened)
    elif isinstance(event, StallSuspected):
        turn.outcome.suspected = True
    elif isinstance(event, StallProven) and not event.pages:
        lost.prove_document(turn, event, turn.opened)
    elif turn.opened.unfinished is not None:
        turn.ignore("frozen")
    elif isinstance(event, PageLaidOut):
        pages.lay_out(turn, event, turn.opened)
    elif isinstance(event, RegionsRead):
        pages.answer(turn, event, turn.opened, failed=False)
    elif isinstance(event, RangeMismatched):
        pages.split_range(turn, event, turn.opened)
    elif isinstance(event, PageFailed):
        pages.fail_page(turn, event, turn.opened)
    elif isinstance(event, StallProven):
        lost.prove_pages(turn, event, turn.opened)
    else:
        pages.compose(turn, event, turn.opened)


# --- documents ----------------------------------------------------------------------------------------------------


def begin(turn: Turn, event: DocumentOpened | DocumentRejected | DocumentCached, window: int) -> None:
    """Ingest's answer: the first of a generation wins."""
    old = turn.opened
    ending.show_superseded(turn, turn.generation)
    if old is not None and turn.generation < old.generation:
        end_late(turn, event)
        return
    if old is not None and turn.generation == old.generation:
        if not _same_source(old.event.source, event.source):
            turn.outcome.refused = DocfleetError(
                ErrorCode.conflict, "this document id is already open at this generation, with another source"
            )
        elif isinstance(event, DocumentOpened) and turn.document.parked == turn.generation:
            turn.end(ending.cancelled(old.event, turn.at, ending.supersedes(old)))
        elif isinstance(event, DocumentOpened):
            release(turn, old)
        else:
            turn.ignore("duplicate")
        return
    turn.outcome.trace_id = event.trace_id
    turn.outcome.traceparent = event.traceparent if isinstance(event, DocumentOpened) else None
    mark = turn.mark
    if old is not None:
        turn.end(ending.superseded(turn.document_id, remember(old, mark), turn.at))
    if isinstance(event, DocumentRejected):
        turn.end(ending.rejected(event, turn.at))
    elif isinstance(event, DocumentCached):
        turn.end(ending.cached(event, turn.at))
    elif turn.document.parked == turn.generation:
        turn.end(ending.cancelled(event, turn.at, old.generation if old else None))
    else:
        if old is not None:
            turn.drop_pages(old)
        superseded = [*old.superseded, remember(old, mark)] if old else []
        if mark is not None and (not superseded or mark.generation > superseded[-1].generation):
            # It ended without ever being open (rejected, cached, cancelled before it came), and its append may yet be lost.
            superseded.append(Superseded(mark.generation, event.source, event.trace_id, event.submitted_at, ended=True))
        opened = Opened(event, window, superseded=superseded[-MAX_SUPERSEDED:])
        parked = turn.document.parked
        later = parked is not None and parked > turn.generation
        turn.opened = opened
        turn.keep(Document(opened, parked if later else None, turn.document.parked_at if later else 0.0))
        release(turn, opened)


def end_late(turn: Turn, event: DocumentOpened | DocumentRejected | DocumentCached) -> None:
    """A lower generation than the open one, without a terminal record: it ends here and now.

    It comes late, or again: it had ended without ever being open (rejected, cached, cancelled before it came), that append was
    lost in a crash and the opening of the higher generation was not.
    """
    if isinstance(event, DocumentRejected):
        turn.end(ending.rejected(event, turn.at))
    elif isinstance(event, DocumentCached):
        turn.end(ending.cached(event, turn.at))
    else:
        late = Superseded(event.generation, event.source, event.trace_id, event.submitted_at)
        turn.end(ending.superseded(turn.document_id, late, turn.at))


def remember(old: Opened, mark: Mark | None) -> Superseded:
    """What is kept of a generation that gives way. Kept also when it has ended: that append may yet be lost."""
    event = old.event
    ended = mark is not None and mark.generation >= event.generation and mark.status != "cancelled"
    return Superseded(event.generation, event.source, event.trace_id, event.submitted_at, ended)


def release(turn: Turn, opened: Opened) -> None:
    """The first window of pages; a document without pages is complete at once."""
    for index in range(min(opened.window, len(opened.pages))):
        turn.emit(work.page_work(opened, index))
    turn.emit(work.compose_document(opened))


def cancel(turn: Turn) -> None:
    """End the open generation, or park the cancel until its generation opens."""
    if turn.opened is not None and turn.generation < turn.opened.generation:
        turn.ignore("stale")
    elif turn.opened is not None and turn.generation == turn.opened.generation and not _replaying(turn, turn.opened):
        ending.show_superseded(turn, turn.generation)
        turn.end(ending.cancelled(turn.opened.event, turn.at, ending.supersedes(turn.opened)))
    elif turn.document.parked is None or turn.document.parked < turn.generation:
        turn.keep(replace(turn.document, parked=turn.generation, parked_at=turn.at))


def _replaying(turn: Turn, opened: Opened) -> bool:
    """Whether a lower generation that has ended is not in `parsed`: its append was lost in a crash, so that its events and the opening of
    this generation are going to be replayed, and a command must not overtake them. Not after an hour: then the mark may have been
    forgotten."""
    shown = turn.mark.generation if turn.mark is not None else -1
    behind = any(old.generation > shown for old in opened.superseded)
    return behind and turn.at - opened.event.opened_at < REPLAY_S


def expire(turn: Turn) -> None:
    """Forget a cancel whose document never came."""
    parked, age = turn.document.parked, turn.at - turn.document.parked_at
    if parked is None or parked != turn.generation or age < PARKED_S:
        turn.ignore("unknown")
    elif turn.opened is not None:
        turn.keep(replace(turn.document, parked=None, parked_at=0.0))
    else:
        turn.outcome.writes.append(Write(turn.document_id, None, None))


def run_out(turn: Turn, opened: Opened) -> None:
    """The deadline passed: what is done now is what the document will have."""
    if opened.event.deadline is None:
        turn.ignore("foreign")
        return
    if not opened.complete:
        left = [page_no for index, page_no in enumerate(opened.pages) if not opened.done(index)]
        turn.keep_opened(replace(opened, unfinished=page_ranges(left)))
    assert turn.opened is not None
    turn.emit(work.compose_document(turn.opened))


def finish(turn: Turn, event: DocumentComposed | DocumentFailed, opened: Opened) -> None:
    """Compose answered for the document."""
    if not opened.complete or event.task_id != document_task_id(opened.generation):
        turn.ignore("foreign")
        return
    ending.show_superseded(turn, turn.generation)
    if isinstance(event, DocumentComposed):
        turn.end(ending.composed(event, opened.event, turn.at, ending.supersedes(opened)))
    else:
        turn.end(ending.failed(event, opened.event, turn.at, ending.supersedes(opened)))


def close(turn: Turn) -> None:
    """The terminal record is acknowledged: delete the open state, pages first, and have `done/` written.

    Only state of this generation and lower ones: a higher one may have its mark already, but not yet its acknowledgement.
    """
    mark = turn.mark
    if mark is None or turn.generation > mark.generation:
        turn.ignore("unknown")
        return
    if turn.opened is not None and turn.opened.generation <= turn.generation:
        turn.drop_pages(turn.opened)
        turn.opened = None
    parked = turn.document.parked
    if parked is not None and parked <= turn.generation:
        parked = None
    if turn.opened is None and parked is None:
        if turn.memory.document(turn.document_id) is not None:
            turn.outcome.writes.append(Write(turn.document_id, None, None))
    else:
        left = replace(turn.document, opened=turn.opened, parked=parked)
        if left != turn.document:
            turn.keep(left)
    if turn.generation == mark.generation:
        record = CloseDocument(document_id=turn.document_id, generation=mark.generation, status=mark.status)
        turn.emit([Emit("docs.compose", turn.document_id, record)])


def forget(turn: Turn) -> None:
    """Purge or erase: end what is open up to this generation, then a tombstone. A record of a higher generation stands."""
    opened = turn.opened
    if turn.mark is not None and turn.generation < turn.mark.generation:
        turn.ignore("stale")
        return
    ending.show_superseded(turn, turn.generation + 1)
    if opened is not None and opened.generation <= turn.generation:
        turn.end(ending.cancelled(opened.event, turn.at, ending.supersedes(opened)))
    turn.outcome.forgotten = turn.generation


def _same_source(one: SourceRef, other: SourceRef | SourceInfo) -> bool:
    """Whether two answers are about the same bytes; what one of them does not know does not tell them apart."""
    if (one.bucket, one.key) != (other.bucket, other.key):
        return False
    return all(
        mine is None or theirs is None or mine == theirs
        for mine, theirs in ((one.version_id, other.version_id), (one.etag, other.etag))
    )
