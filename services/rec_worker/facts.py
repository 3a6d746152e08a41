"""What the engine child did, counted in the process that serves `/metrics`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from services.rec_worker.call import BatchFact, PageRead
from shared.telemetry import metrics, spans
from shared.telemetry.tracing import parse

WINDOW_S = 30.0
"""Seconds the busy share is taken over: a dozen pages on two cores, and two looks of a scraper."""


def count(answer: PageRead) -> None:
    """Add the facts that came with an answer to the metrics."""
    metrics.REC_CROPS.inc(answer.crops)
    metrics.REC_CACHE_HITS.inc(answer.cache_hits)
    metrics.REC_BLANK.inc(answer.blank)
    metrics.REC_DIRECT.labels(outcome="read").inc(answer.direct - answer.direct_fallbacks)
    metrics.REC_DIRECT.labels(outcome="fallback").inc(answer.direct_fallbacks)
    metrics.REC_DRAFTS.labels(look="none").inc(answer.looks.none)
    metrics.REC_DRAFTS.labels(look="part").inc(answer.looks.part)
    metrics.REC_DRAFTS.labels(look="whole").inc(answer.looks.whole)
    for fact in answer.facts:
        metrics.REC_BATCHES.labels(flush=fact.flush.value).inc()
        metrics.REC_BATCH_CROPS.observe(fact.items)
        metrics.REC_BATCH_DOCUMENTS.observe(fact.documents)
        metrics.REC_BATCH_FILL.observe(fact.width / (fact.bucket * fact.items))
        metrics.REC_ENGINE_SECONDS.inc(fact.seconds)


def record_batches(facts: Sequence[BatchFact]) -> None:
    """A span for each batch with a traced page in it: below the page whose crop came first, with links to the others."""
    for fact in facts:
        pages = [trace for text in fact.traces if (trace := parse(text)) is not None]
        if not pages:
            continue
        attributes = {
            "docfleet.batch.crops": fact.items,
            "docfleet.batch.room": fact.room,
            "docfleet.batch.bucket": fact.bucket,
            "docfleet.batch.documents": fact.documents,
            "docfleet.batch.flush": fact.flush.value,
        }
        span = spans.begin(
            "read batch", pages[0].child(), pages[0], "internal", attributes, pages[1:], fact.ended_at - fact.seconds
        )
        if fact.failed:
            span.failed("internal", "the engine failed on this batch; its crops are read one by one")
        span.end(fact.ended_at)


class Busy:
    """Share of the time in which the streams of the engine had a batch, over the last `WINDOW_S`, 0..1.

    Batches are known when the next page is answered, so the last seconds of a pause show late.
    """

    def __init__(self, streams: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._streams = streams
        self._clock = clock
        self._since = clock()
        self._seen: deque[tuple[float, float]] = deque()

    def add(self, facts: Sequence[BatchFact]) -> None:
        """Batches that ended just now."""
        self._seen.append((self._clock(), sum(fact.seconds for fact in facts)))
        metrics.REC_ENGINE_BUSY.set(self.share())

    def share(self) -> float:
        """The share now; 0 before the first batch."""
        now = self._clock()
        while self._seen and self._seen[0][0] <= now - WINDOW_S:
            self._since = self._seen.popleft()[0]
        window = now - max(self._since, now - WINDOW_S)
        return min(1.0, sum(seconds for _, seconds in self._seen) / (self._streams * window)) if window > 0 else 0.0
