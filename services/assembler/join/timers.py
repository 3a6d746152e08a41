"""What time brings about: timers only *send*; the state changes when what they sent comes back as an event.

Progress at most once a second per document, `DocumentClosed` once the terminal record is acknowledged, `DeadlinePassed`, and
`StateExpired` for a cancel whose document never came. Pure: time is passed in, nothing is produced here.
"""

from __future__ import annotations

import base64
from collections import Counter
from datetime import UTC, datetime

from services.assembler.join import bitmap
from services.assembler.join.memory import Document, Mark, Opened, Page
from services.assembler.join.state import PARKED_S
from shared.contracts.records import DeadlinePassed, DocumentClosed, DocumentProgress, PageStages, StateExpired
from shared.streams.stage import Emit

PROGRESS_S = 1.0
"""Least seconds between two progress records of a document."""
AGAIN_S = 30.0
"""Seconds until a timer that changed nothing (its event is still unread, or was lost with a partition) sends again."""


class Timers:
    """Invariant: knows exactly the documents with open state, as they were last shown to it by `note`."""

    def __init__(self) -> None:
        self._dirty: dict[str, tuple[Opened, bool]] = {}
        self._sent: dict[str, float] = {}
        self._deadlines: dict[str, tuple[float, int]] = {}
        self._parked: dict[str, tuple[float, int]] = {}
        self._closable: dict[str, tuple[float, int]] = {}
        self._states: dict[str, Document] = {}
        self._frozen: dict[str, set[int]] = {}

    def __len__(self) -> int:
        return sum(document.opened is not None for document in self._states.values())

    def note(self, document_id: str, document: Document | None, mark: Mark | None) -> None:
        """The state of a document after an event (none: deleted)."""
        if document is None:
            self.forget(document_id)
            return
        self._states[document_id] = document
        opened = document.opened
        self._deadlines.pop(document_id, None)
        self._parked.pop(document_id, None)
        if document.parked is not None:
            self._parked[document_id] = document.parked_at + PARKED_S, document.parked
        if opened is not None:
            done = mark is not None and mark.generation >= opened.generation
            self._dirty[document_id] = opened, done
            if opened.event.deadline is not None and not opened.complete and not done:
                self._deadlines[document_id] = opened.event.deadline, opened.generation

    def note_page(self, document_id: str, page_no: int, page: Page | None) -> None:
        """The record of a page after an event (none: deleted). To be shown before the document it belongs to."""
        if page is not None and page.frozen:
            self._frozen.setdefault(document_id, set()).add(page_no)
        elif (frozen := self._frozen.get(document_id)) is not None:
            frozen.discard(page_no)
            if not frozen:
                del self._frozen[document_id]

    def forget(self, document_id: str) -> None:
        """The document's state is gone, or belongs to another worker now. A last progress still goes out."""
        for table in (self._deadlines, self._parked, self._closable, self._states, self._frozen):
            table.pop(document_id, None)

    def clear(self) -> None:
        """Forget everything: partitions moved, `note` follows for what is left."""
        for table in (self._dirty, self._deadlines, self._parked, self._closable, self._states, self._frozen):
            table.clear()

    def acknowledged(self, document_id: str, generation: int) -> None:
        """The broker has the terminal record; what is open of this generation may go."""
        if document_id in self._states:
            self._closable[document_id] = 0.0, generation

    def due(self, now: float) -> list[Emit]:
        """What is to be sent now. `now` in seconds since the epoch."""
        emits = [Emit("docs.progress", name, self._progress_due(name, now)) for name in self._progress_names(now)]
        for name, generation in _take(self._closable, now):
            event = DocumentClosed(document_id=name, generation=generation)
            emits.append(Emit("docs.results", name, event))
            opened = self._states[name].opened
            if opened is not None and opened.generation > generation:
                del self._closable[name]  # what is open stays open: nothing will tell that the event had its effect
        for name, generation in _take(self._deadlines, now):
            emits.append(Emit("docs.results", name, DeadlinePassed(document_id=name, generation=generation)))
        for name, generation in _take(self._parked, now):
            emits.append(Emit("docs.results", name, StateExpired(document_id=name, generation=generation)))
        return emits

    def pending(self) -> Counter[str]:
        """Pages of open documents that are not done, by the stage they wait for or are in, and those not yet released."""
        found: Counter[str] = Counter()
        for name, document in self._states.items():
            if (opened := document.opened) is None or opened.complete or name in self._closable:
                continue
            stages = _stages(opened, len(self._frozen.get(name, ())))
            found.update(layout=stages.layout, reading=stages.reading, composing=stages.composing)
            done = bitmap.count(bitmap.union(opened.composed, opened.failed))
            out = stages.layout + stages.reading + stages.composing
            found["unreleased"] += max(0, len(opened.pages) - done - out)
        return found

    def oldest(self) -> float | None:
        """When the oldest open document was submitted, seconds since the epoch; none where none is open."""
        opened = [d.opened.event for n, d in self._states.items() if d.opened is not None and n not in self._closable]
        return min((event.submitted_at or event.opened_at for event in opened), default=None)

    def _progress_names(self, now: float) -> list[str]:
        return [name for name in self._dirty if now - self._sent.get(name, 0.0) >= PROGRESS_S]

    def _progress_due(self, name: str, now: float) -> DocumentProgress:
        opened, done = self._dirty.pop(name)
        if done:
            self._sent.pop(name, None)
        else:
            self._sent[name] = now
        return _progress(opened, done, now, len(self._frozen.get(name, ())))


def _take(table: dict[str, tuple[float, int]], now: float) -> list[tuple[str, int]]:
    """What is due, put back for another try later: only the event's effect on the state ends it."""
    due = [(name, generation) for name, (at, generation) in table.items() if at <= now]
    table.update({name: (now + AGAIN_S, generation) for name, generation in due})
    return due


def _progress(opened: Opened, done: bool, now: float, composing: int) -> DocumentProgress:
    ready = opened.composed.ljust((len(opened.pages) + 7) // 8, b"\0")
    return DocumentProgress(
        document_id=opened.event.document_id,
        generation=opened.generation,
        state="done" if done else "composing" if opened.complete else "open",
        pages_total=len(opened.pages),
        pages_done=bitmap.count(bitmap.union(opened.composed, opened.failed)),
        pages_failed=bitmap.count(opened.failed),
        pages_ready=base64.b64encode(ready).decode(),
        updated_at=datetime.fromtimestamp(now, UTC),
        selected=opened.event.selected,
        stages=PageStages() if done or opened.complete else _stages(opened, composing),
    )


def _stages(opened: Opened, composing: int) -> PageStages:
    """Where the pages are that are out. Whole bitmaps at a time: this runs each second for documents of thousands of pages."""
    composed, failed, laid_out, unlaid = (
        int.from_bytes(bits, "little") for bits in (opened.composed, opened.failed, opened.laid_out, opened.unlaid)
    )
    done = composed | failed
    # The first window, and for each page that is done the one behind it by a window.
    released = ((1 << opened.window) - 1 | done << opened.window) & ((1 << len(opened.pages)) - 1)
    settled = (laid_out | unlaid | done) & released
    return PageStages(
        layout=(released & ~settled).bit_count(),
        reading=max(0, (settled & ~done).bit_count() - composing),
        composing=composing,
    )
