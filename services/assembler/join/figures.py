"""What the join measures of pages and documents: it alone sees a page from its release to its end.

Times are of this process's memory only: a page that was out when the process started, or when its partition came, is counted but
not timed.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Counter

from services.assembler.join import bitmap
from services.assembler.join.memory import Document, Opened
from shared.contracts.records import DocumentParsed, PageTask
from shared.streams.stage import Emit
from shared.telemetry import metrics
from shared.telemetry.tracing import TraceParent

STAGES = ("layout", "reading", "composing", "unreleased")
"""What pending pages wait for."""


class Figures:
    """Invariant: holds a release time for no page that has ended, and for no document that has.

    Counters are kept with their labels on: to look them up costs more than to count.
    """

    def __init__(self) -> None:
        self._released: dict[tuple[str, int], dict[int, float]] = {}
        self._polled: dict[str, Counter] = {}
        self._events: dict[type, Counter] = {}
        for status in ("success", "partial_success", "failure", "cancelled"):
            metrics.JOIN_ENDED.labels(status=status)  # there from the start: a rate needs a first value to rise from
        self._pages = {status: metrics.PAGES.labels(status=status) for status in ("composed", "failed", "unfinished")}

    def polled(self, topic: str) -> None:
        """A record came."""
        if (counter := self._polled.get(topic)) is None:
            counter = self._polled[topic] = metrics.POLLED.labels(topic=topic)
        counter.inc()

    def event(self, kind: type) -> None:
        """It was an event of this type."""
        if (counter := self._events.get(kind)) is None:
            counter = self._events[kind] = metrics.JOIN_EVENTS.labels(type=kind.__name__)
        counter.inc()

    def __len__(self) -> int:
        """Pages that are out, of those whose release was seen."""
        return sum(map(len, self._released.values()))

    def released(self, emits: Iterable[Emit], now: float) -> None:
        """Work was emitted; a page that is released again keeps its first time. `now` on any steady clock, seconds."""
        for emit in emits:
            if isinstance(task := emit.record, PageTask):
                pages = self._released.setdefault((task.document_id, task.generation), {})
                pages.setdefault(task.page_no, now)

    def changed(self, before: Document | None, after: Document | None, now: float, trace: TraceParent) -> None:
        """An event of a document was handled: pages that ended by it are counted and timed."""
        old = before.opened if before is not None else None
        new = after.opened if after is not None else None
        if old is None or new is None or old.generation != new.generation:
            return
        if old.composed is new.composed and old.failed is new.failed and old.unfinished is new.unfinished:
            return
        if old.unfinished is None and new.unfinished is not None:
            self._pages["unfinished"].inc(len(new.pages) - _done(new).bit_count())
            self._released.pop((new.event.document_id, new.generation), None)
        pages = self._released.get((new.event.document_id, new.generation), {})
        ended = _done(new) & ~_done(old)
        while ended:
            index = ended.bit_length() - 1
            ended ^= 1 << index
            status = "failed" if bitmap.has(new.failed, index) else "composed"
            self._pages[status].inc()
            if (began := pages.pop(new.pages[index], None)) is not None:
                metrics.PAGE_SECONDS.observe(now - began, exemplar=metrics.exemplar(trace))

    def ended(self, parsed: DocumentParsed, trace: TraceParent) -> None:
        """A terminal record goes out."""
        metrics.JOIN_ENDED.labels(status=parsed.status).inc()
        seconds = metrics.DOCUMENT_SECONDS.labels(status=parsed.status)
        seconds.observe(parsed.timings.total_s, exemplar=metrics.exemplar(trace))
        self._released.pop((parsed.document_id, parsed.generation), None)

    def clear(self) -> None:
        """Partitions moved: what is out may end elsewhere."""
        self._released.clear()


def _done(opened: Opened) -> int:
    return int.from_bytes(opened.composed, "little") | int.from_bytes(opened.failed, "little")
