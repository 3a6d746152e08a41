"""The terminal record of a (document, generation): one `DocumentParsed`, from whatever ended it."""

from __future__ import annotations

import msgspec

from services.assembler.join.memory import Opened, Superseded
from services.assembler.join.turn import Turn
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError, ErrorCode, ErrorInfo, Phase
from shared.contracts.records import (
    MAX_RECORD_BYTES,
    DocumentCached,
    DocumentComposed,
    DocumentFailed,
    DocumentOpened,
    DocumentParsed,
    DocumentRejected,
    SourceInfo,
    SourceRef,
    Status,
    Timings,
)


def supersedes(opened: Opened) -> int | None:
    """The generation that an open one ended."""
    return next((old.generation for old in reversed(opened.superseded) if not old.ended), None)


def show_superseded(turn: Turn, below: int) -> None:
    """Publish the `cancelled` of superseded generations lower than this one, unless `parsed` shows them: the append may be lost.

    It was made while the superseding generation was opened, so it is lost only if that event comes again. Asking there, and before
    the open generation ends, is enough, and keeps terminal records in the order of generations.
    """
    for old in turn.opened.superseded if turn.opened else []:
        if old.generation < below:
            turn.end(superseded(turn.document_id, old, turn.at))


def source_info(source: SourceRef) -> SourceInfo:
    """A source of which no more is known than where it lies."""
    return SourceInfo(
        bucket=source.bucket, key=source.key, version_id=source.version_id, etag=source.etag, size=source.size
    )


def bounded(parsed: DocumentParsed) -> DocumentParsed:
    """The record, with as many of its errors as keep it below `MAX_RECORD_BYTES` encoded; `errors_total` counts all."""
    while parsed.errors and len(encode(parsed)) > MAX_RECORD_BYTES:
        parsed = msgspec.structs.replace(parsed, errors=parsed.errors[:-1])
    return parsed


def seconds_since(begin: float | None, at: float) -> float:
    return max(0.0, round(at - begin, 3)) if begin is not None else 0.0


def composed(event: DocumentComposed, opened: DocumentOpened, at: float, supersedes: int | None) -> DocumentParsed:
    """Compose stored the results. `at` is the event's timestamp, seconds since the epoch."""
    total_s = seconds_since(opened.submitted_at, at) or event.timings.total_s
    return bounded(
        DocumentParsed(
            document_id=event.document_id,
            generation=event.generation,
            status=event.status,
            source=event.source,
            result=event.result,
            markdown=event.markdown,
            totals=event.totals,
            errors=event.errors,
            errors_total=event.errors_total,
            warnings_total=event.warnings_total,
            timings=msgspec.structs.replace(event.timings, total_s=total_s),
            trace_id=opened.trace_id,
            supersedes=supersedes,
        )
    )


def failed(event: DocumentFailed, opened: DocumentOpened, at: float, supersedes: int | None) -> DocumentParsed:
    """Composing the document failed; its pages stay readable."""
    return _without_result(
        event.document_id,
        event.generation,
        "failure",
        source_info(opened.source),
        event.error,
        seconds_since(opened.submitted_at, at),
        opened.trace_id,
        supersedes,
    )


def rejected(event: DocumentRejected, at: float) -> DocumentParsed:
    """Ingest could not open it, or was told not to."""
    status: Status = "cancelled" if event.error.code is ErrorCode.cancelled else "failure"
    total_s = seconds_since(event.submitted_at, at)
    return _without_result(
        event.document_id, event.generation, status, event.source, event.error, total_s, event.trace_id, None
    )


def cached(event: DocumentCached, at: float) -> DocumentParsed:
    """The same content had been parsed; its result was copied."""
    return DocumentParsed(
        document_id=event.document_id,
        generation=event.generation,
        status="success",
        source=event.source,
        result=event.result,
        markdown=event.markdown,
        totals=event.totals,
        warnings_total=event.warnings_total,
        timings=Timings(total_s=seconds_since(event.submitted_at, at)),
        cached=True,
        trace_id=event.trace_id,
    )


def cancelled(opened: DocumentOpened, at: float, supersedes: int | None) -> DocumentParsed:
    """Its user asked for it."""
    error = DocfleetError(ErrorCode.cancelled, "cancelled on request").info(Phase.assemble)
    return _without_result(
        opened.document_id,
        opened.generation,
        "cancelled",
        source_info(opened.source),
        error,
        seconds_since(opened.submitted_at, at),
        opened.trace_id,
        supersedes,
    )


def superseded(document_id: str, old: Superseded, at: float) -> DocumentParsed:
    """A higher generation was opened before this one ended."""
    error = DocfleetError(ErrorCode.cancelled, "superseded by a higher generation").info(Phase.assemble)
    return _without_result(
        document_id,
        old.generation,
        "cancelled",
        source_info(old.source),
        error,
        seconds_since(old.submitted_at, at),
        old.trace_id,
        None,
    )


def _without_result(
    document_id: str,
    generation: int,
    status: Status,
    source: SourceInfo,
    error: ErrorInfo,
    total_s: float,
    trace_id: str | None,
    supersedes: int | None,
) -> DocumentParsed:
    return bounded(
        DocumentParsed(
            document_id=document_id,
            generation=generation,
            status=status,
            source=source,
            errors=[error],
            errors_total=1,
            timings=Timings(total_s=total_s),
            trace_id=trace_id,
            supersedes=supersedes,
        )
    )
