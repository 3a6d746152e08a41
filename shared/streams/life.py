"""What happens to one admitted record: judged, processed, produced; or failed, with a failure record and a dead letter.

Here is decided what becomes of an error (the table of them is in `shared.streams.stage`). Nothing here knows of other records,
partitions or commits; that is the runner's.
"""

from __future__ import annotations

import errno
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

import structlog

from shared import faultpoints
from shared.children.errors import ChildDied, ChildStalled
from shared.contracts.errors import DocfleetError, ErrorCode, Phase, Unavailable
from shared.streams import deadletter, headers, traced
from shared.streams.control import Cancelled
from shared.streams.outputs import Outputs
from shared.streams.poison import convicted, verdict
from shared.streams.stage import Delivery, Emit, Stage
from shared.streams.waiting import Away
from shared.streams.work import Assignment, Item, Polled
from shared.telemetry import metrics

log = structlog.get_logger()

SHORTAGES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""Errors of the system that say nothing about the record: no room on a disk of this machine, no descriptor left. They pass."""


class Life:
    """Leads records of one stage through their life. Many at once; holds no state of its own."""

    def __init__(
        self,
        stage: Stage[Any],
        group: str,
        outputs: Outputs,
        cancelled: Cancelled,
        away: Away,
        mark: Callable[[Item], Awaitable[bool]],
        max_record_bytes: int,
    ) -> None:
        """`mark` commits that a record is about to run alone; false when the broker would not have it."""
        self._stage = stage
        self._group = group
        self._outputs = outputs
        self._cancelled = cancelled
        self._away = away
        self._mark = mark
        self._max_record_bytes = max_record_bytes

    def receive(self, polled: Polled, assignment: Assignment) -> Item:
        """A polled record, decoded; one that can't be read has its outcome already."""
        item = Item(polled, assignment, *traced.caused(polled.headers, decides=self._stage.phase is Phase.ingest))
        size = len(polled.value or b"")
        try:
            if polled.value is None:
                raise DocfleetError(ErrorCode.invalid_message, "the record has no value")
            if size > self._max_record_bytes:
                raise DocfleetError(ErrorCode.invalid_message, f"the record has {size} bytes, too many to be looked at")
            item.record = self._stage.decode(polled.value, polled.key)
            item.cost = self._stage.cost(item.record)
        except DocfleetError as error:
            item.error = error
        except Exception as error:
            item.error = DocfleetError(ErrorCode.invalid_message, f"decoding raised {type(error).__name__}")
            item.stack = traceback.format_exc()
        return item

    async def lead(self, item: Item) -> bool:
        """True when the record is over, false when it has to run again alone. An exception out of it is a bug of ours."""
        self._judge(item)
        if item.cancelled and item.error is None:
            return True
        if item.marked and item.error is None and not await self._mark(item):
            return False
        while True:
            try:
                if item.error is not None:
                    await self._fail(item, item.error)
                else:
                    emits = await self._process(item)
                    item.delivering = True
                    faultpoints.reached("after_store_before_produce")
                    await self._outputs.deliver(emits, item.trace)
                    faultpoints.reached("after_produce_before_commit")
                metrics.PROCESSED.labels(topic=item.polled.topic).inc()
                return True
            except Unavailable as trouble:
                item.delivering = False
                await self._away.wait(item, trouble)
            except DocfleetError as error:
                item.delivering = False
                item.error = error
            except Exception as error:
                if item.error is not None:
                    raise
                item.error = verdict(item, error)
                item.stack = traceback.format_exc()
                deadly = isinstance(error, ChildDied | ChildStalled)
                log.warning("child ended" if deadly else "unexpected error", alone=item.alone, exc_info=not deadly)
                if item.error is None:
                    return False

    def _judge(self, item: Item) -> None:
        """Outcomes that are clear before any work: cancelled, overdue, poisonous."""
        if item.error is not None:
            return
        deadline = getattr(item.record, "deadline", None)
        until = deadline.timestamp() if isinstance(deadline, datetime) else deadline
        if item.document in self._cancelled:
            item.cancelled = True
            metrics.SKIPPED.labels(topic=item.polled.topic, reason="cancelled").inc()
            # The join has ended an opened document already; one that is not open yet has to be answered.
            if self._stage.phase is Phase.ingest:
                item.error = DocfleetError(ErrorCode.cancelled, "cancelled before it was opened")
        elif until is not None and until < time.time():
            item.error = DocfleetError(ErrorCode.timeout, "its deadline passed before work on it began")
            item.letter = False
        else:
            item.error = convicted(item)

    def _delivery(self, item: Item) -> Delivery[Any]:
        return Delivery(
            record=item.record,
            lane=item.assignment.lane,
            key=item.polled.key,
            headers=headers.read(item.polled.headers),
            timestamp=item.polled.timestamp_ms / 1000,
            attempts=item.attempts,
            topic=item.polled.topic,
            partition=item.polled.partition,
            offset=item.offset,
            trace_id=item.trace.trace_id,
            raw=item.polled.value or b"",
        )

    async def _process(self, item: Item) -> list[Emit]:
        began = time.perf_counter()
        outcome = "ok"
        item.attempts += 1
        try:
            return await self._stage.process(self._delivery(item))
        except Unavailable:
            item.attempts -= 1
            outcome = "unavailable"
            raise
        except DocfleetError as error:
            outcome = str(error.code)
            raise
        except OSError as error:
            outcome = type(error).__name__
            if error.errno not in SHORTAGES:
                raise
            item.attempts -= 1
            raise Unavailable("machine", f"this machine is short of something: {error.strerror}") from error
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            metrics.STAGE_SECONDS.labels(topic=item.polled.topic, outcome=outcome).observe(
                time.perf_counter() - began, exemplar=metrics.exemplar(item.trace)
            )

    async def _fail(self, item: Item, error: DocfleetError) -> None:
        """The failure record and the dead letter of a record with a typed outcome."""
        error.attempts = max(error.attempts, item.attempts)
        told = item.document
        if item.record is not None:
            try:
                emits = await self._stage.failed(self._delivery(item), error)
                await self._outputs.deliver(emits, item.trace)
                told = _told(emits) or item.document
            except Unavailable:
                raise
            except Exception:
                log.exception(
                    "the failure of a record could not be told; its dead letter remains", code=str(error.code)
                )
                item.stack += "\n" + traceback.format_exc()
                item.letter = True
        topic = item.polled.topic
        metrics.FAILED.labels(topic=topic, code=str(error.code)).inc()
        log.info("failed", code=str(error.code), why=error.message, attempts=error.attempts)
        faultpoints.reached("after_failure_before_letter")
        if item.letter and error.code is not ErrorCode.cancelled:
            await self._bury(item.polled, error, item.stack, told)

    async def _bury(self, polled: Polled, error: DocfleetError, stack: str, document: tuple[str, int] | None) -> None:
        head = deadletter.headers(
            polled.headers,
            topic=polled.topic,
            partition=polled.partition,
            offset=polled.offset,
            timestamp_ms=polled.timestamp_ms,
            group=self._group,
            code=error.code,
            message=error.message,
            stack=stack,
            attempts=error.attempts,
            document=document,
        )
        try:
            await self._outputs.deliver_raw(deadletter.TOPIC, polled.key, polled.value, head)
        except DocfleetError as refusal:
            size = len(polled.value or b"")
            log.error("a dead letter goes without its value", bytes=size, why=refusal.message)
            head.append(("dlt.value.omitted", str(size).encode()))
            try:
                await self._outputs.deliver_raw(deadletter.TOPIC, polled.key, None, head)
            except DocfleetError as second:
                log.error("a dead letter was refused altogether", why=second.message, headers=dict(head))
                return
        metrics.DEAD_LETTERED.labels(topic=polled.topic, code=str(error.code)).inc()


def _told(emits: Sequence[Emit]) -> tuple[str, int] | None:
    """The document that failure records are about; none where there is not exactly one."""
    found = {(name, e.record.generation) for e in emits if (name := getattr(e.record, "document_id", None))}  # type: ignore[attr-defined]
    return found.pop() if len(found) == 1 else None
