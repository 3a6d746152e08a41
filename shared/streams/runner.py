"""The life of a record: polled, admitted, decoded, processed, produced, completed, committed.

    consumer thread (poller)          event loop (this file)
      poll ------ arrived ---------->  offer -> admission -> stage.process -> deliver -> complete
      commit <--- every interval ----  contiguous prefix, and what is beyond it, of every partition
      pause  <--- back-pressure -----  partitions whose records wait
      revoke ---- drain (blocks) --->  finish or abandon, state; the thread commits it and lets go

All state is the event loop's; the thread asks and tells through it. (A record is decoded as soon as it arrives, because lane, cost,
deadline and cancellation are in it; it is *worked on* only when admitted.)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

import structlog
from confluent_kafka import KafkaException

from shared import faultpoints
from shared.children.preference import in_lane
from shared.settings import Settings
from shared.streams import traced
from shared.streams.admission import Admission
from shared.streams.bridge import Bridge
from shared.streams.catalog import load
from shared.streams.clients import group_of
from shared.streams.control import Cancelled, Control
from shared.streams.gauges import Gauges
from shared.streams.life import Life
from shared.streams.offsets import PROBATION, OffsetTracker
from shared.streams.outputs import Outputs
from shared.streams.poller import Poller
from shared.streams.rebalance import Start
from shared.streams.refusals import refused
from shared.streams.stage import Stage
from shared.streams.starting import started
from shared.streams.waiting import Away
from shared.streams.work import Assignment, Commit, Item, Place, Polled
from shared.telemetry import metrics, spans
from shared.telemetry.health import Health

log = structlog.get_logger()

GRACE_S = 5.0
"""After the drain budget: for cancelled calls to end and the last commit."""

HIGH_WATER_BYTES = 4 * 2**20
"""Of values that wait, per partition; foreign records may be large."""


class Runner:
    """One stage as a member of its consumer group. `run` once; `stop` from the same event loop."""

    def __init__(self, stage: Stage[Any], settings: Settings, health: Health) -> None:
        self._stage = stage
        self._settings = settings
        self._limits = settings.stage(stage.name)
        self._health = health
        self._group = group_of(stage.name)
        self._topics = [topic.name for topic in load().read_by(self._group)]
        self._admission = Admission(self._limits.max_in_flight, self._limits.max_in_flight_bytes)
        # A partition fetches on while fewer than these wait. Not too few: a pause throws away what was fetched, and a resumed partition
        # needs a turn of the consumer and a fetch before its next record.
        self._high_water = max(64, min(500, 4 * self._limits.max_in_flight))
        self._cancelled = Cancelled()
        self._away = Away(health)
        self._tasks: dict[Item, asyncio.Task[None]] = {}
        self._claims: set[asyncio.Task[None]] = set()
        self._epoch = 0
        self._warm = False
        self._controlled = False
        self._stopping = asyncio.Event()
        self._broken: BaseException | None = None
        self._paused: frozenset[Place] = frozenset()

    async def run(self) -> None:
        """Work until `stop`. Raises what broke the consumer, or what `stage.start` raised."""
        self._loop = asyncio.get_running_loop()
        self._gauges = Gauges(self._topics, self._admission)
        self._outputs = Outputs(self._settings, self._stage.name)
        self._life = Life(
            self._stage,
            self._group,
            self._outputs,
            self._cancelled,
            self._away,
            self._mark,
            self._settings.limits.max_record_bytes,
        )
        bridge = Bridge(self, self._loop)
        self._poller = Poller(self._settings, self._group, self._topics, bridge)
        control = Control(
            self._settings,
            cancelled=bridge.post(self._cancel),
            at_end=bridge.post(self._control_read),
            broken=bridge.broken,
        )
        for condition in ("stage", "group", "control"):
            self._health.ready(condition, False, "starting")
        # A thread that drains for a revoke does not turn meanwhile.
        self._health.limit("consumer", self._limits.drain_s + GRACE_S + 60)
        control.start()
        if self._settings.kafka.embedded:
            self._poller.start()  # forming the group and warming up overlap: there is nobody to take partitions from
        committing: asyncio.Task[None] | None = None
        try:
            if await started(self._stage, self._health, self._stopping):
                self._warm = True
                self._pump()
                if not self._settings.kafka.embedded:
                    self._poller.start()
            committing = self._loop.create_task(self._commit_regularly())
            await self._stopping.wait()
        finally:
            if committing:
                committing.cancel()
            await self._end(control)
        if self._broken is not None:
            raise self._broken

    def stop(self) -> None:
        """Drain and end. A second call abandons what is in flight at once."""
        if self._stopping.is_set():
            for task in self._tasks.values():
                task.cancel()
        self._health.ready("stage", False, "stopping")
        self._stopping.set()

    async def _end(self, control: Control) -> None:
        began = time.monotonic()
        self._repause()
        commits = await self.drain([a.place for a in self._admission.assignments()])
        faultpoints.reached("after_drain_before_commit")
        self._poller.finish(commits)
        await asyncio.to_thread(self._poller.join, GRACE_S)
        await asyncio.to_thread(control.stop)
        await asyncio.to_thread(self._outputs.close, GRACE_S)
        await self._stage.stop()
        log.info("ended", drained_s=round(time.monotonic() - began, 3))

    # --- polled and admitted ------------------------------------------------------------------------------------------

    def arrived(self, records: Iterable[Polled]) -> None:
        """Records were polled."""
        for polled in records:
            assignment = self._admission.find((polled.topic, polled.partition))
            if assignment is None:
                metrics.SKIPPED.labels(topic=polled.topic, reason="stale_epoch").inc()
            elif not assignment.tracker.add(polled.offset):
                metrics.SKIPPED.labels(topic=polled.topic, reason="done").inc()
            else:
                self._admission.offer(self._life.receive(polled, assignment))
        self._pump()

    def _pump(self) -> None:
        """Admit what may be admitted, and pause the partitions whose records wait."""
        while self._admitting() and (item := self._admission.next()) is not None:
            metrics.WAIT_SECONDS.labels(topic=item.polled.topic).observe(
                max(0.0, time.time() - item.polled.timestamp_ms / 1000), exemplar=metrics.exemplar(item.trace)
            )
            self._tasks[item] = self._loop.create_task(self._work(item))
        self._gauges.in_flight()
        self._repause()

    def _admitting(self) -> bool:
        return self._warm and self._controlled and not self._stopping.is_set() and not self._away

    def _repause(self) -> None:
        """Pause at high water, resume at half of it."""
        paused = set()
        for assignment in self._admission.assignments():
            share = 2 if assignment.place in self._paused else 1
            full = len(assignment.waiting) >= self._high_water // share
            heavy = assignment.waiting_bytes >= HIGH_WATER_BYTES // share
            if self._stopping.is_set() or full or heavy:
                paused.add(assignment.place)
        if paused != self._paused:
            self._paused = frozenset(paused)
            self._poller.pause(self._paused)
            self._gauges.paused(paused)

    # --- processed, produced, completed -------------------------------------------------------------------------------

    async def _work(self, item: Item) -> None:
        """An admitted record to its end; whatever ends it, admission and tracker hear of it."""
        tracker = item.assignment.tracker
        structlog.contextvars.bind_contextvars(
            topic=item.polled.topic,
            partition=item.polled.partition,
            offset=item.offset,
            document_id=getattr(item.record, "document_id", None),
            trace_id=item.trace.trace_id,
        )
        again, through = False, False
        span = traced.begun(item, self._group)
        spans.enter(item.trace)
        try:
            with in_lane(item.assignment.lane):
                again = not await self._life.lead(item)
            through = True
            if not again:
                tracker.complete(item.offset)
        except asyncio.CancelledError:
            if item.cancelled and item.assignment.open:
                tracker.complete(item.offset)
                metrics.SKIPPED.labels(topic=item.polled.topic, reason="cancelled").inc()
            else:
                tracker.abandon(item.offset)
        except Exception as error:
            log.exception("a record could neither be worked on nor failed")
            tracker.abandon(item.offset)
            self.broken(error)
        finally:
            if item.error is not None:
                span.failed(str(item.error.code), item.error.message)
            span.end()
            self._away.over(item, through=through)
            self._tasks.pop(item, None)
            self._admission.ended(item)
            if again:
                tracker.abandon(item.offset)
                if item.assignment.open:
                    self._admission.offer_alone(item)
            self._pump()

    async def _mark(self, item: Item) -> bool:
        """Commit that this record runs alone now, so that the death of this process is laid at its door.

        With it goes what was completed in every other partition: of a record that ran alone before this one and is done, the broker
        would else know only that it ran alone, and the death that this one brings would count against both.
        """
        item.assignment.tracker.run_alone(item.offset)
        item.waits = True  # a drain must not wait for a commit of the very thread that waits for the drain
        try:
            commits = [assignment.commit() for assignment in self._admission.assignments()]
            marked = await asyncio.wrap_future(self._poller.commit_now(commits))
            if not marked:
                await asyncio.sleep(0.5)
        finally:
            item.waits = False
        return marked

    # --- committed ----------------------------------------------------------------------------------------------------

    async def _commit_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._limits.commit_interval_s)
            self._health.beat("loop")
            self._gauges.behind(self._poller.ends)
            commits = []
            for assignment in self._admission.assignments():
                commit = assignment.commit()
                if (commit.offset, commit.metadata) != assignment.committed:
                    commits.append(commit)
            if commits:
                self._poller.commit(commits)

    def committed(self, commits: list[Commit], ok: bool) -> None:
        """The broker answered; what it refused is sent again at the next interval."""
        for commit in commits if ok else ():
            if assignment := self._admission.find((commit.topic, commit.partition)):
                assignment.committed = (commit.offset, commit.metadata)

    # --- partitions come and go ---------------------------------------------------------------------------------------

    def assigned(self, starts: list[Start]) -> None:
        """Partitions came; they go on from what their commits say."""
        new = []
        for start in starts:
            self._epoch += 1
            tracker = OffsetTracker(start.offset, start.metadata, probation=min(PROBATION, self._limits.max_in_flight))
            assignment = Assignment(start.topic, start.partition, self._epoch, tracker)
            assignment.committed = (start.offset, start.metadata)
            self._admission.assign(assignment)
            new.append(assignment)
        self._health.ready("group", True)
        self._health.ready("broker", True)
        self._gauges.assigned()
        claiming = self._loop.create_task(self._claim(new))
        self._claims.add(claiming)
        claiming.add_done_callback(self._claims.discard)

    async def _claim(self, assignments: list[Assignment]) -> None:
        """Take the predecessor's clean mark away, then admit."""
        faultpoints.reached("after_assign_before_claim")
        while still := [assignment for assignment in assignments if assignment.open]:
            commits = [assignment.commit() for assignment in still]
            if await asyncio.wrap_future(self._poller.commit_now(commits)):
                for assignment in still:
                    assignment.claimed = True
                self._pump()
                return
            await asyncio.sleep(0.2)

    async def drain(self, places: list[Place]) -> list[Commit]:
        """Forget what waits, finish what is in flight within the budget, abandon the rest; returns the last commits, marked clean.

        What is being delivered is not abandoned: it is about to be done, and would be told twice."""
        began = time.monotonic()
        budget = self._limits.drain_s if self._stopping.is_set() else self._limits.revoked_s
        gone = self._admission.withdraw(places)
        tasks = {task for item, task in self._tasks.items() if item.assignment in gone and not item.waits}
        for item, task in list(self._tasks.items()):
            if item.assignment in gone and item.waits:
                task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=budget)
            for item, task in list(self._tasks.items()):
                if task in late and not item.delivering:
                    task.cancel()
            if late:
                log.warning("abandoned at the end of the drain budget", records=len(late))
                await asyncio.wait(late, timeout=GRACE_S / 2)
            metrics.DRAIN_SECONDS.observe(time.monotonic() - began)
        commits = [assignment.commit(clean=True) for assignment in gone]
        self._close(gone)
        return commits

    def lost(self, places: list[Place]) -> None:
        """Partitions belong to somebody else already: what is in flight of them is of no use."""
        gone = self._admission.withdraw(places)
        self._close(gone)
        for item, task in list(self._tasks.items()):
            if item.assignment in gone:
                task.cancel()

    def _close(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            assignment.open = False
        self._gauges.assigned()
        self._pump()

    # --- cancelled, broken --------------------------------------------------------------------------------------------

    def _cancel(self, document_id: str, generation: int) -> None:
        document = (document_id, generation)
        self._cancelled.add(document)
        for item, task in list(self._tasks.items()):
            if item.document == document and item.error is None:
                item.cancelled = True
                task.cancel()

    def _control_read(self) -> None:
        self._controlled = True
        self._health.ready("control", True)
        self._pump()

    def broker(self, ok: bool, why: str) -> None:
        """The broker went away, or came back."""
        self._health.ready("broker", ok, why)
        if not ok:
            metrics.UNAVAILABLE.labels(what="broker").inc()

    def broken(self, error: BaseException) -> None:
        """End, with this error."""
        if isinstance(error, KafkaException):
            error = refused(self._settings.kafka, error.args[0], "read", self._group) or error
        if self._broken is None:
            log.error("the consumer can't go on", why=str(error))
            self._broken = error
        self.stop() if not self._stopping.is_set() else None

    def turned(self) -> None:
        """The consumer's loop went round (called on its thread; Health is made for that)."""
        self._health.beat("consumer")
