"""Every record that travels through Kafka (architecture.md, table of topics).

A record holds identities and references, never pictures, texts or documents (claim check), and stays below 20 kB.
What a stage needs beyond that it reads from the object store: `inspect.json` holds source, options and page geometry of
a document, `{page}.layout.json` the regions of a page.

The type of a record is its `type` field and the header `ce_type`; `docs.incoming`, `docs.parsed` and `docs.progress`
carry one type each, and no `type` field, because people write and read them.
Times are seconds since the epoch, except in those three, where they are RFC 3339.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias, cast

import msgspec
from msgspec import Meta

from shared.contracts.codec import SCHEMA_VERSION, decode
from shared.contracts.errors import ErrorInfo
from shared.contracts.options import Lane, Options, Priority

MAX_RECORD_BYTES = 20_000
"""No record of ours is larger, encoded; `shared.streams.outputs` refuses to produce one."""

MAX_PARSED_ERRORS = 20
"""Errors listed in `DocumentParsed`; `errors_total` counts all."""

PageNo: TypeAlias = Annotated[int, Meta(ge=1)]
Generation: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""No larger than what every reader of JSON holds exactly (RFC 8259, section 6)."""
DocumentId: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:\-]{1,128}$")]
AwareTime: TypeAlias = Annotated[datetime, Meta(tz=True)]
Status = Literal["success", "partial_success", "failure", "cancelled"]
PageStatus = Literal["ok", "failed", "blank", "skipped"]


class SourceRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the bytes of a document lie; `etag` or `version_id` pin them."""

    bucket: Annotated[str, Meta(min_length=1, max_length=255)]
    key: Annotated[str, Meta(min_length=1, max_length=1024)]
    version_id: Annotated[str, Meta(max_length=1024)] | None = None
    etag: Annotated[str, Meta(max_length=1024)] | None = None
    size: Annotated[int, Meta(ge=0)] | None = None


class SourceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A source after ingest looked at it."""

    bucket: str
    key: str
    version_id: str | None = None
    etag: str | None = None
    sha256: str | None = None
    size: int | None = None
    mime_type: str | None = None
    filename: str | None = None


class ObjectRef(msgspec.Struct, frozen=True, kw_only=True):
    """A stored result."""

    bucket: str
    key: str
    sha256: str | None = None
    bytes: int | None = None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over a document."""

    pages: int = 0
    pages_ok: int = 0
    blocks: int = 0
    tables: int = 0
    chars: int = 0
    ocr_regions: int = 0
    vl_regions: int = 0
    cache_hits: int = 0


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `queue_s` and `total_s` are wall time of the document, the others are summed over its pages."""

    queue_s: float = 0.0
    ingest_s: float = 0.0
    layout_s: float = 0.0
    rec_s: float = 0.0
    vl_s: float = 0.0
    assemble_s: float = 0.0
    total_s: float = 0.0


# --- what people write and read ---------------------------------------------------------------------------------------


class DocumentSubmitted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`docs.incoming`: a document to parse. Only `source` is required."""

    source: SourceRef
    schema_version: str = SCHEMA_VERSION
    document_id: DocumentId | None = None
    generation: Generation = 0
    tenant: Annotated[str, Meta(max_length=128)] | None = None
    priority: Priority = "normal"
    options: Options = Options()
    deadline: AwareTime | None = None
    not_before: AwareTime | None = None


class DocumentParsed(msgspec.Struct, frozen=True, kw_only=True):
    """`docs.parsed`: the one terminal record of a (document, generation). References only, never the document itself."""

    document_id: DocumentId
    generation: Generation
    status: Status
    source: SourceInfo
    schema_version: str = SCHEMA_VERSION
    result: ObjectRef | None = None
    markdown: ObjectRef | None = None
    totals: Totals = Totals()
    errors: Annotated[list[ErrorInfo], Meta(max_length=MAX_PARSED_ERRORS)] = []
    errors_total: int = 0
    warnings_total: int = 0
    timings: Timings = Timings()
    cached: bool = False
    trace_id: str | None = None
    supersedes: int | None = None
    """A lower generation that this one ended as `cancelled` (join's own memory)."""


class PageStages(msgspec.Struct, frozen=True, kw_only=True):
    """Pages of a document that are out, by the stage they wait for or are in. Pages not yet released are in none."""

    layout: int = 0
    reading: int = 0
    composing: int = 0


class DocumentProgress(msgspec.Struct, frozen=True, kw_only=True):
    """`docs.progress`: at most one a second per document."""

    document_id: DocumentId
    generation: Generation
    state: Literal["open", "composing", "done"]
    pages_total: int
    """Selected pages; `pages_done` of them are composed or failed for good, `pages_failed` is part of that."""
    pages_done: int
    pages_failed: int
    pages_ready: str
    """Base64 of a bitmap, least significant bit first: bit i is set when the i-th selected page can be read."""
    updated_at: AwareTime
    selected: str = ""
    """Selected pages as an expression (`1-3,7`): which page number bit i of `pages_ready` stands for."""
    stages: PageStages = PageStages()
    schema_version: str = SCHEMA_VERSION


# --- commands of users and tools --------------------------------------------------------------------------------------


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all typed records: which document, which attempt at it."""

    document_id: DocumentId
    generation: Generation
    schema_version: str = SCHEMA_VERSION


class CancelDocument(Event, frozen=True, kw_only=True, tag=True):
    """`docs.control`: end this generation of a document as `cancelled`."""

    requested_at: float = 0.0


# --- work -------------------------------------------------------------------------------------------------------------


class PageTask(Event, frozen=True, kw_only=True, tag=True):
    """`docs.pages`: lay out one page. Source, options and geometry are in `inspect.json`."""

    page_no: PageNo
    task_id: str
    lane: Lane = "first"
    attempt: int = 1
    deadline: float | None = None


class RecTask(Event, frozen=True, kw_only=True, tag=True):
    """`docs.rec`: read the lines of regions of one page."""

    page_no: PageNo
    task_id: str
    layout_sha256: str
    regions: list[str] = []
    """Region ids; empty means every region of the layout that is routed to `rec`."""
    answers: str | None = None
    """The VL task this reading stands in for; it is stored and announced under that id."""
    fallback_from: str | None = None
    """Name of the VL model or profile that could not read it."""
    fallback_error: ErrorInfo | None = None
    """Why it could not; its message is told in the block."""
    fallback_truncated: bool = False
    """Its answer was cut, or went round in circles: the block is warned with `vl_truncated`, else with `vl_fallback`."""
    lane: Lane = "first"
    attempt: int = 1
    deadline: float | None = None


class VlTask(Event, frozen=True, kw_only=True, tag=True):
    """`docs.vl`: one region, one page, or a range of consecutive selected pages for a vision-language model."""

    mode: Literal["region", "page", "range"]
    pages: Annotated[list[PageNo], Meta(min_length=1)]
    task_id: str
    profile: str
    kind: str = "page"
    """Label of the region (`table`, `seal`, `formula`, `picture`, `text`) or `page`."""
    region_id: str | None = None
    layout_sha256: str | None = None
    lane: Lane = "first"
    attempt: int = 1
    deadline: float | None = None


class ComposePage(Event, frozen=True, kw_only=True, tag=True):
    """`docs.compose`: build one page from its layout and readings. Its inputs are frozen in this record."""

    page_no: PageNo
    task_id: str
    laid_out: bool = True
    """False when the page failed before it had a layout."""
    readings: list[str] = []
    """Ids of the tasks that were answered."""
    failed: list[str] = []
    """Ids of the tasks that failed; their errors are stored."""
    lost: list[str] = []
    """Ids of the tasks that were proven lost twice; each is an error `timeout` of the page."""
    lane: Lane = "first"
    attempt: int = 1


class ComposeDocument(Event, frozen=True, kw_only=True, tag=True):
    """`docs.compose`: build the document from its composed pages."""

    task_id: str
    pages_total: int
    selected: str
    """Selected pages as an expression (`1-3,7`)."""
    unfinished: str = ""
    """Pages that had no time left (deadline), as an expression; they are listed as `timeout`."""
    lost: str = ""
    """Pages whose composing was proven lost twice, as an expression; listed as `timeout` where there is no page."""
    lane: Lane = "first"
    attempt: int = 1


class CloseDocument(Event, frozen=True, kw_only=True, tag=True):
    """`docs.compose`: write `done/{document_id}` for reconcile."""

    status: Status
    lane: Lane = "first"


# --- results ----------------------------------------------------------------------------------------------------------


class DocumentOpened(Event, frozen=True, kw_only=True, tag=True):
    """Ingest accepted a document; `inspect.json` is stored."""

    source: SourceRef
    pages_total: Annotated[int, Meta(ge=0)]
    selected: str
    """Selected pages as an expression; empty when there is none."""
    options_hash: str
    pipeline_fingerprint: str
    vl_profile: str | None = None
    """Profile used for VL work; none means no VL task is issued."""
    range_size: int = 0
    """Pages per VL range task in `vl: document`; 0 means no ranges."""
    lane: Lane = "first"
    deadline: float | None = None
    submitted_at: float | None = None
    opened_at: float = 0.0
    trace_id: str | None = None
    traceparent: str | None = None
    """Of the span that opened it: what is caused by a timer or a tool goes on from there."""


class DocumentRejected(Event, frozen=True, kw_only=True, tag=True):
    """Ingest could not open a document, or was told not to (`cancelled`, overdue)."""

    source: SourceInfo
    error: ErrorInfo
    submitted_at: float | None = None
    trace_id: str | None = None


class DocumentCached(Event, frozen=True, kw_only=True, tag=True):
    """The same content was parsed before, with the same options and models; its result was copied."""

    source: SourceInfo
    result: ObjectRef
    markdown: ObjectRef | None
    totals: Totals
    warnings_total: int = 0
    submitted_at: float | None = None
    trace_id: str | None = None


class TaskRef(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a page waits for."""

    task_id: str
    stage: Literal["rec", "vl"]


class PageLaidOut(Event, frozen=True, kw_only=True, tag=True):
    """A page's layout is stored; these tasks were issued for it."""

    page_no: PageNo
    task_id: str
    layout_sha256: str
    tasks: list[TaskRef] = []


class RegionsRead(Event, frozen=True, kw_only=True, tag=True):
    """A reading is stored under `task_id`. A range answers several pages at once."""

    pages: Annotated[list[PageNo], Meta(min_length=1)]
    task_id: str
    stage: Literal["rec", "vl"]


class RangeMismatched(Event, frozen=True, kw_only=True, tag=True):
    """A VL range came back with another number of pages than it was given."""

    pages: Annotated[list[PageNo], Meta(min_length=1)]
    task_id: str


class PageFailed(Event, frozen=True, kw_only=True, tag=True):
    """A task of a page failed for good; its error is stored under `task_id`."""

    pages: Annotated[list[PageNo], Meta(min_length=1)]
    task_id: str
    error: ErrorInfo


class PageComposed(Event, frozen=True, kw_only=True, tag=True):
    """`page.json` is stored."""

    page_no: PageNo
    task_id: str
    status: PageStatus
    sha256: str


class DocumentComposed(Event, frozen=True, kw_only=True, tag=True):
    """The document's results are stored."""

    task_id: str
    status: Literal["success", "partial_success", "failure"]
    source: SourceInfo
    result: ObjectRef
    markdown: ObjectRef | None
    totals: Totals
    errors: Annotated[list[ErrorInfo], Meta(max_length=MAX_PARSED_ERRORS)] = []
    errors_total: int = 0
    warnings_total: int = 0
    timings: Timings = Timings()


class DocumentFailed(Event, frozen=True, kw_only=True, tag=True):
    """Composing the document itself failed."""

    task_id: str
    error: ErrorInfo


class DeadlinePassed(Event, frozen=True, kw_only=True, tag=True):
    """A timer saw the deadline pass."""


class StallSuspected(Event, frozen=True, kw_only=True, tag=True):
    """A timer heard nothing of a document for a while. Whoever handles it has read everything that was sent before it, and begins to
    watch the tasks that are awaited even so."""


class StallProven(Event, frozen=True, kw_only=True, tag=True):
    """Everything that could have brought this task's answer was done, and it was not there."""

    task_id: str
    attempt: int
    pages: list[PageNo] = []
    """Pages that wait for the task; none means the document itself."""


class DocumentClosed(Event, frozen=True, kw_only=True, tag=True):
    """The terminal record was acknowledged; the open state may go."""


class DocumentForgotten(Event, frozen=True, kw_only=True, tag=True):
    """Purge or erase: end what is open up to this generation as `cancelled`, then publish a tombstone on `docs.parsed`, whose header
    `generation` is kept as a mark: nothing of this generation or a lower one begins again."""


class StateExpired(Event, frozen=True, kw_only=True, tag=True):
    """State of a document that was never opened is too old to keep."""


Work: TypeAlias = PageTask | RecTask | VlTask
"""What the join and the layout worker ask for."""
Compose: TypeAlias = ComposePage | ComposeDocument | CloseDocument
Result: TypeAlias = (
    DocumentOpened
    | DocumentRejected
    | DocumentCached
    | PageLaidOut
    | RegionsRead
    | RangeMismatched
    | PageFailed
    | PageComposed
    | DocumentComposed
    | DocumentFailed
    | DeadlinePassed
    | StallSuspected
    | StallProven
    | DocumentClosed
    | DocumentForgotten
    | StateExpired
)


def decode_compose(data: bytes) -> Compose:
    """A record of `docs.compose`; raises `DocfleetError(invalid_message)`."""
    return cast(Compose, decode(data, cast(type, Compose)))


def decode_result(data: bytes) -> Result:
    """A record of `docs.results`; raises `DocfleetError(invalid_message)`."""
    return cast(Result, decode(data, cast(type, Result)))
