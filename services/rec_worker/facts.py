"""What the engine child did, counted in the process that serves `/metrics`."""

from __future__ import annotations

from services.rec_worker.call import PageRead
from shared.telemetry import metrics


def count(answer: PageRead) -> None:
    """Add the facts that came with an answer to the metrics."""
    metrics.REC_CROPS.inc(answer.crops)
    metrics.REC_CACHE_HITS.inc(answer.cache_hits)
    for fact in answer.facts:
        metrics.REC_BATCHES.labels(flush=fact.flush.value).inc()
        metrics.REC_BATCH_CROPS.observe(fact.items)
        metrics.REC_BATCH_DOCUMENTS.observe(fact.documents)
        metrics.REC_BATCH_FILL.observe(fact.width / (fact.bucket * fact.items))
