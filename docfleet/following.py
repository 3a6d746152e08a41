"""Which pages of a document can be read now: from the reports of its progress, and at first, at last and now and then from the store."""

from __future__ import annotations

import base64
import time
from typing import Protocol

from docfleet.feed import Published
from shared.contracts.errors import DocfleetError
from shared.contracts.options import selected_pages
from shared.contracts.records import DocumentParsed, DocumentProgress

LOOK_S = 5.0
"""Seconds between two looks whether a document has ended, for one whose end was published before anybody listened."""
MOST_PAGES = 1_000_000
"""Above any page number, so that an expression that means all pages, or too many, stays small."""


class Look(Protocol):
    """What the store says of a document."""

    def composed(self, document_id: str, generation: int) -> list[int]: ...

    def ended(self, document_id: str, generation: int) -> bool: ...


class Following:
    """One document, one generation. Invariant: `taken` are the pages that were handed out; none is handed out twice."""

    def __init__(self, document_id: str, generation: int | None, look: Look) -> None:
        """Without a generation, that of the first report counts."""
        self.document_id = document_id
        self.generation = generation
        self.taken: set[int] = set()
        self._fresh: set[int] = set()
        self._look = look
        self._heard_end = False
        self._looked_at: float | None = None
        self._listed: bool | None = None

    def hear(self, record: Published) -> None:
        """Take in a report. Other documents and generations are passed over."""
        if record.document_id != self.document_id or not isinstance(record, DocumentProgress | DocumentParsed):
            return
        if self.generation is None:
            self.generation = record.generation
        if isinstance(record, DocumentParsed):
            self._heard_end |= record.generation >= self.generation  # a higher generation ends this one
        elif record.generation == self.generation:
            self._fresh.update(ready(record))

    @property
    def ended(self) -> bool:
        """Whether no page will be composed after now. Asks the store once in `LOOK_S`. Raises `Unavailable`."""
        due = self._looked_at is None or time.monotonic() - self._looked_at > LOOK_S
        if not self._heard_end and self.generation is not None and due:
            self._looked_at = time.monotonic()
            self._heard_end = self._look.ended(self.document_id, self.generation)
        return self._heard_end

    def take(self) -> list[int]:
        """Numbers of the pages that can be read and were not handed out, ascending. Raises `Unavailable`."""
        # The store is listed at first, for what was reported before anybody listened, and at last: the report of the last second may
        # come after the end, or never.
        if self.generation is not None and (self._listed is None or (self._heard_end and not self._listed)):
            self._listed = self._heard_end
            self._fresh.update(self._look.composed(self.document_id, self.generation))
        fresh = sorted(self._fresh - self.taken)
        self._fresh.clear()
        self.taken.update(fresh)
        return fresh


def ready(report: DocumentProgress) -> list[int]:
    """Numbers of the pages that can be read, ascending; none where the report cannot be understood."""
    try:
        bits = base64.b64decode(report.pages_ready, validate=True)
        pages = selected_pages(report.selected, MOST_PAGES) if report.selected else []
    except (ValueError, DocfleetError):
        return []
    return [page for at, page in enumerate(pages) if at >> 3 < len(bits) and bits[at >> 3] >> (at & 7) & 1]
