"""Every metric of docfleet: one table, read by `docs/reference/metrics.md` and by nobody else's imagination.

A metric is a module attribute; who measures imports it and says `metrics.POLLED.labels(topic="docs.rec").inc()`.
Rules: names begin with `docfleet_`, units are in the name (`_seconds`, `_bytes`), counters end in `_total`; labels have few
values (topics, error codes, kinds), never a document, page or tenant. Which service a sample belongs to is the scraper's
`job` label: each process serves its own `/metrics`. Numbers of a child process travel to its parent with the calls' answers and are
counted there. Histograms of recorded traces carry exemplars with the trace id (OpenMetrics form).
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from shared.telemetry import memory
from shared.telemetry.tracing import TraceParent

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)

# --- the life of a record (shared/streams) ----------------------------------------------------------------------------

POLLED = Counter("docfleet_records_polled_total", "Records taken from the broker.", ["topic"])
PROCESSED = Counter(
    "docfleet_records_processed_total", "Records whose outputs were delivered and that count as done.", ["topic"]
)
FAILED = Counter(
    "docfleet_records_failed_total",
    "Records that ended with a typed error, a failure record went out.",
    ["topic", "code"],
)
DEAD_LETTERED = Counter("docfleet_dead_letters_total", "Records copied to docs.dlq.", ["topic", "code"])
SKIPPED = Counter(
    "docfleet_records_skipped_total",
    "Records dropped before any work; `reason` is `cancelled`, `stale_epoch` (came late from an earlier assignment) or `done` "
    "(completed before, as the commit metadata says).",
    ["topic", "reason"],
)
PRODUCED = Counter("docfleet_records_produced_total", "Records whose delivery the broker reported.", ["topic"])
IN_FLIGHT = Gauge("docfleet_in_flight_records", "Records admitted and not yet completed.")
IN_FLIGHT_BYTES = Gauge("docfleet_in_flight_bytes", "Decoded bytes the admitted records are estimated to hold.")
ASSIGNED = Gauge("docfleet_assigned_partitions", "Partitions this process owns.", ["topic"])
PAUSED = Gauge("docfleet_paused_partitions", "Partitions not fetched from at the moment (back-pressure).", ["topic"])
COMMITS = Counter("docfleet_commits_total", "Offset commits.", ["outcome"])
REBALANCES = Counter(
    "docfleet_rebalances_total", "Partition changes; `event` is `assigned`, `revoked` or `lost`.", ["event"]
)
DRAIN_SECONDS = Histogram(
    "docfleet_drain_seconds", "Time from revoke or SIGTERM until what was in flight had ended.", buckets=_SECONDS
)
STAGE_SECONDS = Histogram(
    "docfleet_stage_seconds",
    "Time of one record in its stage, from decoded to processed; `outcome` is `ok` or an error code.",
    ["topic", "outcome"],
    buckets=_SECONDS,
)
WAIT_SECONDS = Histogram(
    "docfleet_queue_wait_seconds", "Time from a record's timestamp until it was admitted.", ["topic"], buckets=_SECONDS
)
UNAVAILABLE = Counter(
    "docfleet_unavailable_total", "Times the stage had to wait because `what` (objects, broker, vl) was away.", ["what"]
)
LAG = Gauge(
    "docfleet_lag_records",
    "Records behind the committed offset in the partitions this process owns, as of the last fetch of each. What nobody owns is in nobody's "
    "lag; `docfleet_pending_pages` of the join counts that too.",
    ["topic"],
)
OLDEST = Gauge(
    "docfleet_oldest_pending_seconds",
    "Age of the oldest record in the partitions this process owns that was polled and is not done; 0 when there is none.",
    ["topic"],
)
CHILD_RESTARTS = Counter(
    "docfleet_child_restarts_total",
    "Child processes replaced, those of an engine child (`npu-…`, the sessions of an NPU) too; `reason` is `died`, `stalled`, `failed` (it "
    "answers, but its device has failed) or `recycled` (planned, at its memory mark).",
    ["child", "reason"],
)
CHILD_MEMORY = Gauge(
    "docfleet_child_resident_bytes", "Resident memory of a child process, as of its last answer.", ["child"]
)

MEMORY_USED = Gauge(
    "docfleet_memory_used_bytes",
    "Memory taken in the container this process lives in, file cache that can go not counted; of the machine where no limit is set.",
)
MEMORY_LIMIT = Gauge(
    "docfleet_memory_limit_bytes", "Memory the container may take; of the machine where no limit is set."
)
MEMORY_USED.set_function(memory.used)
MEMORY_LIMIT.set_function(memory.limit)

# --- ingest -------------------------------------------------------------------------------------------------------------

INGEST_DOCUMENTS = Counter(
    "docfleet_ingest_documents_total",
    "Submissions by what became of them: `opened` (to be computed), `cached`, `waiting` (a document with the same content is being "
    "computed; looked at again later), `deferred` (not due yet), `moved` (patient, to the second lane), "
    "`ignored` (an event that a rule does not want), `rejected`.",
    ["outcome"],
)

# --- rec_worker ---------------------------------------------------------------------------------------------------------

REC_BATCHES = Counter(
    "docfleet_rec_batches_total",
    "Batches of text-line crops; `flush` is why the batch went: `full`, `cost` (as wide as may be), `linger` (its time was up), "
    "`idle` (nothing more was on its way), `due` (a deadline), `retry` (a crop alone after its batch had failed) or `drain`.",
    ["flush"],
)
REC_BATCH_CROPS = Histogram("docfleet_rec_batch_crops", "Crops in a batch.", buckets=(1, 2, 3, 4, 6, 8, 12, 16, 32, 64))
REC_BATCH_DOCUMENTS = Histogram(
    "docfleet_rec_batch_documents", "Documents whose crops share a batch.", buckets=(1, 2, 3, 4, 6, 8, 16)
)
REC_BATCH_FILL = Histogram(
    "docfleet_rec_batch_fill_ratio",
    "Share of a batch's padded width that is picture, 0..1.",
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
)
REC_CROPS = Counter("docfleet_rec_crops_total", "Text-line crops that were asked for.")
REC_CACHE_HITS = Counter(
    "docfleet_rec_cache_hits_total", "Crops answered from the crop cache; misses are the rest of the crops."
)
REC_PAGE_CACHE = Counter(
    "docfleet_rec_page_cache_total", "Pages looked up in the page cache: `hit` or `miss`.", ["result"]
)
REC_BLANK = Counter("docfleet_rec_blank_crops_total", "Crops without ink, which are not read.")
REC_DIRECT = Counter(
    "docfleet_rec_direct_regions_total",
    "Regions read as one line without detection: `read`, or `fallback` when that was not sure and detection was asked after all.",
    ["outcome"],
)
REC_DRAFTS = Counter(
    "docfleet_rec_drafts_total",
    "Crops read by the small network, by how much of them the large one read again: `none`, `part` (the doubtful places) or `whole`.",
    ["look"],
)
REC_ENGINE_SECONDS = Counter(
    "docfleet_rec_engine_seconds_total", "Time in which a stream of the engine had a batch, all streams together."
)
REC_ENGINE_BUSY = Gauge(
    "docfleet_rec_engine_busy_ratio",
    "Share of the last 30 s in which the engine's streams had a batch, 0..1, as of the last page.",
)

# --- vl_worker ----------------------------------------------------------------------------------------------------------

VL_IN_FLIGHT = Gauge("docfleet_vl_in_flight_requests", "Requests under way.", ["endpoint"])
VL_LIMIT = Gauge("docfleet_vl_limit_requests", "Requests the limiter allows at once.", ["endpoint"])
VL_WAITING = Gauge("docfleet_vl_waiting_requests", "Requests that wait for an endpoint with room.")
VL_BREAKER = Gauge(
    "docfleet_vl_breaker_state",
    "0 closed (asked), 1 half-open (a probe is under way), 2 open (left alone).",
    ["endpoint"],
)
VL_REQUESTS = Counter(
    "docfleet_vl_requests_total",
    "Requests by outcome: `ok`, `truncated` (finish_reason length), `stopped` (broken off, it looped), `overloaded` (429, 503, 504), "
    "`faulty` (500, cut, stalled), `absent` (no connection, 502, wrong key or model), `refused` (any other status), `timeout`, `cancelled`.",
    ["endpoint", "outcome"],
)
VL_FAULTS = Counter(
    "docfleet_vl_faults_total",
    "Answers that a guard refused: `truncated`, `empty`, `repetition`, `thinking`, `echo`, `overlong`, `malformed`.",
    ["fault"],
)
VL_SECONDS = Histogram("docfleet_vl_request_seconds", "Time of one request, all of it.", ["endpoint"], buckets=_SECONDS)
VL_FIRST_TOKEN_SECONDS = Histogram(
    "docfleet_vl_first_token_seconds", "Time from sending a request to its first token.", ["endpoint"], buckets=_SECONDS
)
VL_TOKENS = Counter("docfleet_vl_tokens_total", "Tokens of answers; the rate of it is tokens a second.", ["endpoint"])
VL_TASKS = Counter(
    "docfleet_vl_tasks_total",
    "Tasks by what became of them: `read` by the model, `fallback` to the small models. The share of the second is the fallback share.",
    ["outcome"],
)

# --- assembler: join ----------------------------------------------------------------------------------------------------

PENDING_PAGES = Gauge(
    "docfleet_pending_pages",
    "Pages of open documents that are not done, of the owned partitions; `stage` is what they wait for or are in: `layout`, `reading`, "
    "`composing`, or `unreleased` (a document has a window of pages out at once, these come later). The sum is what autoscaling looks at; it "
    "does not depend on any worker being there.",
    ["stage"],
)
PAGES = Counter(
    "docfleet_pages_total",
    "Pages that ended; `status` is `composed` or `failed` (composed from an error, or not composable). Pages of documents that the "
    "cache answered are in none: no work was done.",
    ["status"],
)
PAGE_SECONDS = Histogram(
    "docfleet_page_seconds",
    "Time of a page from its release by the join until it ended: all stages and all queues. A page that was out when the join started "
    "is not measured.",
    buckets=_SECONDS,
)
DOCUMENT_SECONDS = Histogram(
    "docfleet_document_seconds",
    "Time of a document from the timestamp of its submission until its terminal record.",
    ["status"],
    buckets=(*_SECONDS, 900.0, 3600.0, 14_400.0),
)
JOIN_OLDEST = Gauge(
    "docfleet_join_oldest_document_seconds",
    "Time since the submission of the oldest open document of the owned partitions; 0 when none is open.",
)
JOIN_OPEN = Gauge("docfleet_join_open_documents", "Documents that have begun and not ended, of the owned partitions.")
JOIN_EVENTS = Counter("docfleet_join_events_total", "Events by type.", ["type"])
JOIN_IGNORED = Counter(
    "docfleet_join_ignored_events_total",
    "Events that changed nothing; `reason` is `done`, `stale` (a lower generation), `unknown` (no such document), `foreign` (not of "
    "this document's work), `frozen` (after its deadline) or `duplicate`.",
    ["reason"],
)
JOIN_FOREIGN = Counter(
    "docfleet_join_foreign_records_total",
    "Records that could not be read and were skipped and dead-lettered.",
    ["topic"],
)
JOIN_LOST = Counter(
    "docfleet_join_lost_tasks_total",
    "Tasks proven lost; `outcome` is `reissued` (the first time) or `timeout` (the second).",
    ["outcome"],
)
JOIN_ENDED = Counter("docfleet_join_ended_documents_total", "Terminal records published.", ["status"])


def exemplar(trace: TraceParent | None) -> dict[str, str] | None:
    """What an observation carries along, so that one leads from a slow sample to a trace: only of traces that are recorded."""
    return {"trace_id": trace.trace_id} if trace is not None and trace.sampled else None


_THINGS = {
    "records",
    "letters",
    "partitions",
    "commits",
    "rebalances",
    "restarts",
    "documents",
    "batches",
    "crops",
    "hits",
}
_THINGS |= {"drafts", "regions", "requests", "faults", "tokens", "tasks", "events", "pages"}


def unit(name: str) -> str:
    """What a metric is counted in, from its name: `seconds`, `bytes`, `ratio`, `state`, or the things themselves (`pages`, `requests`)."""
    words = name.split("_")
    for measure in ("seconds", "bytes", "ratio", "state"):
        if measure in words:
            return measure
    return next((word for word in reversed(words) if word in _THINGS), "times")
