"""ingest: look at a submitted document and say what it is.

For one submission: apply the rules, pin the object (size, etag), keep the envelope, fetch and hash, inspect in a document child, look for
a result of the same content, then one answer: `DocumentOpened`, `DocumentCached`, or (through `failed`) `DocumentRejected`. Everything
stored is written once, so a submission that comes again finds what the first one stored and gives the same answer. One that has to wait
(for its time, or for a document with the same content) or may wait (a rule says so) goes to the topic's second lane, where it is in
nobody's way.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from datetime import UTC, datetime, timedelta

import msgspec
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential

from services.ingest import intake, rules, twins
from services.ingest.cache import cached_answer
from services.ingest.inspecting import Inspector, document_id_of, source_info
from shared.children.preference import current_lane
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import DoneMark, Inspection
from shared.contracts.options import Lane
from shared.contracts.records import (
    DocumentOpened,
    DocumentRejected,
    DocumentSubmitted,
    Status,
)
from shared.objects import keys
from shared.objects.ended import mark_ended
from shared.objects.open import open_store
from shared.settings import Settings
from shared.streams import deadletter
from shared.streams.catalog import load
from shared.streams.stage import Delivery, Emit
from shared.telemetry import metrics, spans

RESUBMIT_WAIT_S = 2.0
"""A submission that is not due yet (`not_before`) goes back to the topic after at most this long."""
WAITING = load().bulk_of("docs.incoming") or "docs.incoming"
"""Where it goes."""


class Ingest:
    """The stage `ingest`."""

    name = "ingest"
    phase = Phase.ingest

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = open_store(settings)
        self._bucket = settings.objects.bucket
        self._inspector = Inspector(settings, self._store)

    def decode(self, value: bytes, key: bytes | None) -> intake.Intake:
        return intake.read(value, key)

    def cost(self, record: intake.Intake) -> int:
        return 0

    async def start(self) -> None:
        await self._inspector.start()

    async def stop(self) -> None:
        await self._inspector.close()
        await self._store.close()

    async def process(self, delivery: Delivery[intake.Intake]) -> list[Emit]:
        """Answer every submission of a record. With more than one, the failure of one is its own answer only."""
        submissions = _submissions(delivery)
        outputs: list[Emit] = []
        for submission in submissions:
            try:
                outputs.extend(await self._answer(submission, delivery))
            except DocfleetError as error:
                if len(submissions) == 1:
                    raise
                outputs.extend(await self._rejected(submission, error, delivery))
        return outputs

    async def failed(self, delivery: Delivery[intake.Intake], error: DocfleetError) -> list[Emit]:
        """`DocumentRejected` for each submission of the record."""
        return [emit for s in _submissions(delivery) for emit in await self._rejected(s, error, delivery)]

    async def _rejected(
        self, submission: DocumentSubmitted, error: DocfleetError, delivery: Delivery[intake.Intake]
    ) -> list[Emit]:
        if error.code is ErrorCode.conflict:
            return []  # the id belongs to another source: answering would end that document
        with contextlib.suppress(DocfleetError):  # a rule that refuses is the very error
            if self._ruled(submission, delivery) is None:
                return []
        source = submission.source
        if submission.document_id is None and source.etag is None:
            with contextlib.suppress(
                DocfleetError
            ):  # an object that is not there has no etag: its id is that of the bare key
                source = msgspec.structs.replace(
                    source, etag=(await self._store.stat(source.bucket, source.key, version_id=source.version_id)).etag
                )
        document_id = document_id_of(source, submission.document_id)
        event = DocumentRejected(
            document_id=document_id,
            generation=submission.generation,
            source=source_info(source),
            error=error.info(Phase.ingest),
            submitted_at=delivery.timestamp,
            trace_id=delivery.trace_id,
        )
        await self._ended(document_id, submission.generation, "failure")
        metrics.INGEST_DOCUMENTS.labels(outcome="rejected").inc()
        return [Emit("docs.results", document_id, event)]

    def _ruled(self, submission: DocumentSubmitted, delivery: Delivery[intake.Intake]) -> DocumentSubmitted | None:
        source, event = submission.source, delivery.record.event
        if event and source.bucket == self._bucket and keys.is_ours(source.key):
            return (
                None  # a server that tells of all its buckets tells of our outputs too, and they must not become inputs
            )
        return rules.applied(self._settings.ingest.rules, submission, event=event)

    async def _answer(self, submission: DocumentSubmitted, delivery: Delivery[intake.Intake]) -> list[Emit]:
        """The answer to a submission; none to an event that a rule ignores."""
        ruled = self._ruled(submission, delivery)
        if ruled is None:
            metrics.INGEST_DOCUMENTS.labels(outcome="ignored").inc()
            return []
        submission = ruled
        if submission.priority == "bulk" and current_lane() == "first":
            # Only a look into the record said so. Here it would take the place of somebody who waits.
            metrics.INGEST_DOCUMENTS.labels(outcome="moved").inc()
            return [Emit(WAITING, (delivery.key or b"").decode(errors="replace"), submission)]
        now = datetime.now(UTC)
        if submission.not_before is not None and submission.not_before > now:
            await asyncio.sleep(min((submission.not_before - now).total_seconds(), RESUBMIT_WAIT_S))
            metrics.INGEST_DOCUMENTS.labels(outcome="deferred").inc()
            return [Emit(WAITING, (delivery.key or b"").decode(errors="replace"), submission)]
        if submission.deadline is not None and submission.deadline <= now:
            raise DocfleetError(ErrorCode.timeout, "the deadline had passed before the document was opened")
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(_changed),
            stop=stop_after_attempt(1 + self._settings.ingest.changed_retries),
            wait=wait_exponential(multiplier=0.1, max=2.0),
            reraise=True,
        ):
            with attempt:
                submission, opened = await self._inspector.look(ruled, delivery)
        return [await self._decided(submission, opened)]

    async def _decided(self, submission: DocumentSubmitted, opened: Inspection) -> Emit:
        """Answer from the cache, wait for a twin, or open. Replays (generation above 0) are always computed."""
        document_id = opened.document_id
        if opened.generation == 0:
            cached = await cached_answer(self._store, self._bucket, opened)
            if cached is None and submission.priority != "interactive" and self._settings.ingest.twin_wait_s > 0:
                turn = await twins.turn(
                    self._store, self._bucket, opened, time.time(), self._settings.ingest.twin_wait_s
                )
                if turn.kind == "ended":
                    cached = await cached_answer(self._store, self._bucket, opened)
                elif turn.kind == "wait":
                    metrics.INGEST_DOCUMENTS.labels(outcome="waiting").inc()
                    due = datetime.now(UTC) + timedelta(seconds=turn.wait_s)
                    return Emit(WAITING, document_id, msgspec.structs.replace(submission, not_before=due))
            if cached is not None:
                await self._ended(document_id, opened.generation, "success")
                metrics.INGEST_DOCUMENTS.labels(outcome="cached").inc()
                return Emit("docs.results", document_id, cached)
        metrics.INGEST_DOCUMENTS.labels(outcome="opened").inc()
        return Emit("docs.results", document_id, self._opened(submission, opened))

    async def _ended(self, document_id: str, generation: int, status: Status) -> None:
        mark = DoneMark(document_id=document_id, generation=generation, status=status)
        await mark_ended(self._store, self._bucket, mark, decided=False)

    def _opened(self, submission: DocumentSubmitted, inspection: Inspection) -> DocumentOpened:
        return DocumentOpened(
            document_id=inspection.document_id,
            generation=inspection.generation,
            source=submission.source,
            pages_total=len(inspection.pages),
            selected=inspection.selected,
            options_hash=inspection.options_hash,
            pipeline_fingerprint=inspection.pipeline_fingerprint,
            vl_profile=inspection.vl_profile,
            range_size=inspection.range_size,
            lane=self._lane(submission, len(inspection.pages)),
            deadline=submission.deadline.timestamp() if submission.deadline else None,
            submitted_at=inspection.submitted_at,
            opened_at=inspection.opened_at,
            trace_id=inspection.trace_id,
            traceparent=str(trace) if (trace := spans.current()) is not None else None,
        )

    def _lane(self, submission: DocumentSubmitted, pages: int) -> Lane:
        if submission.priority == "interactive":
            return "first"
        return "bulk" if submission.priority == "bulk" or pages > self._settings.ingest.bulk_pages else "first"


def _submissions(delivery: Delivery[intake.Intake]) -> list[DocumentSubmitted]:
    """What a record submits. One that was sent again from the dead letters says by a header at which generation: the one in it has ended,
    and its times are over."""
    asked = delivery.headers.get(deadletter.REPLAY_GENERATION, b"")
    if not asked.isdigit():
        return delivery.record.submissions
    return [
        msgspec.structs.replace(s, generation=max(s.generation, int(asked)), deadline=None, not_before=None)
        for s in delivery.record.submissions
    ]


def _changed(error: BaseException) -> bool:
    return isinstance(error, DocfleetError) and error.code is ErrorCode.source_changed
