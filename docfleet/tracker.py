"""What a run looks like while it runs: counts of documents and pages by stage, from the events that pass.

Tolerant: an event that comes twice counts once, one of an unknown document not at all, and the terminal record
corrects whatever was missed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import msgspec

from shared.contracts.options import selected_pages
from shared.contracts.records import (
    DocumentOpened,
    DocumentParsed,
    DocumentProgress,
    PageComposed,
    PageFailed,
    PageLaidOut,
    RegionsRead,
)


@dataclass
class Course:
    """One document under way. Page numbers are 1-based; `pages` is the number of selected pages, none until it is opened."""

    pages: int | None = None
    laid_out: set[int] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    composed: set[int] = field(default_factory=set)
    reported: int = 0
    ended: DocumentParsed | None = None

    @property
    def pages_done(self) -> int:
        return max(len(self.composed), self.reported)


@dataclass(frozen=True)
class Counts:
    """Sums over all documents. `tasks` are recogniser and VL tasks; `pages` grows as documents are opened."""

    documents: int
    opened: int
    ended: int
    pages: int
    laid_out: int
    tasks: int
    answered: int
    composed: int


class Tracker:
    """Documents by id."""

    def __init__(self) -> None:
        self.courses: dict[str, Course] = {}
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def submitted(self, document_id: str) -> None:
        """This document is to be followed."""
        self.courses.setdefault(document_id, Course())
        self._note("submitted")

    def feed(self, event: msgspec.Struct) -> None:
        """Take in a record of `docs.results`, `docs.progress` or `docs.parsed`."""
        course = self.courses.get(getattr(event, "document_id", ""))
        if course is None:
            return
        self._note(type(event).__name__)
        match event:
            case DocumentOpened():
                course.pages = len(selected_pages(event.selected, event.pages_total)) if event.selected else 0
            case PageLaidOut():
                course.laid_out.add(event.page_no)
                course.tasks.update(task.task_id for task in event.tasks)
            case RegionsRead():
                course.answered.add(event.task_id)
            case PageFailed():
                course.answered.add(event.task_id)
            case PageComposed():
                course.composed.add(event.page_no)
            case DocumentProgress():
                course.reported = max(course.reported, event.pages_done)
            case DocumentParsed():
                course.ended = event
                course.pages = course.pages if course.pages is not None else event.totals.pages
                course.reported = course.pages

    def _note(self, what: str) -> None:
        now = time.monotonic()
        self._first.setdefault(what, now)
        self._last[what] = now

    def milestones(self, since: float) -> list[str]:
        """When each kind of event was first and last seen, in seconds after `since` (monotonic), as lines."""
        names = sorted(self._first, key=lambda name: self._first[name])
        return [f"{self._first[name] - since:7.2f} s … {self._last[name] - since:7.2f} s  {name}" for name in names]

    def counts(self) -> Counts:
        """Sums for a progress bar."""
        courses = self.courses.values()
        return Counts(
            documents=len(courses),
            opened=sum(c.pages is not None for c in courses),
            ended=sum(c.ended is not None for c in courses),
            pages=sum(c.pages or 0 for c in courses),
            laid_out=sum(len(c.laid_out) for c in courses),
            tasks=sum(len(c.tasks) for c in courses),
            answered=sum(len(c.tasks & c.answered) for c in courses),
            composed=sum(c.pages_done for c in courses),
        )
