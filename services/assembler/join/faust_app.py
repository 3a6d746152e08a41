"""The join's driver on Kafka: a Faust app.

Faust brings group membership, co-located partitions of sources and tables, recovery of the tables, and commits. It runs
`at_least_once`; `exactly_once` is refused (reference: it lost and doubled records in every two-worker test).

What is not Faust's: **producing**. Its producer hands records over through a buffer whose flush gives up after a tenth of a second
and does not count the record just taken out of it, and it logs a failed send and commits all the same; either way offsets
could be committed whose records were never written. So `OutboxProducer` stands in its place: everything is appended through the
join's outbox (one idempotent librdkafka producer), Faust's flush, which precedes each commit and each recovery, waits until every record
is acknowledged, and a failed append ends the process on the spot.

And **what is committed**: Faust's account of acknowledged offsets can jump over events that it dropped while partitions moved.
`JoinConsumer` commits what `Positions` says, and no event is handled before its predecessor (seen under load on Kafka 4.3.1: after a
rebalance offset 40 was delivered before 0 to 39, with nothing committed; one document of 300 was lost to a SIGKILL at that moment).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
import threading
import time
from typing import Any

import structlog
from aiokafka.errors import IllegalStateError
from aiokafka.partitioner import murmur2
from confluent_kafka import KafkaException
from faust.types import TP

from services.assembler.join.driver import Driver, Record
from services.assembler.join.events import CONTROL, OPEN, PARSED, SOURCES, read_event
from services.assembler.join.faust_client import JoinConsumer, OutboxProducer, data_folder, heartbeat_s, make_app
from services.assembler.join.faust_tables import (
    FaustTables,
    JoinStore,
    JoinTable,
    TimedMark,
    evict,
    read_mark,
    read_open,
    read_tombstone,
    record_of,
)
from services.assembler.join.lease import SLEPT, Lease
from services.assembler.join.memory import Document, Page, encode_state
from services.assembler.join.offsets import checked_partitions, committed, offsets_since
from services.assembler.join.outbox import Outbox
from services.assembler.join.positions import Positions
from services.assembler.join.proofs import LOOK_S
from services.assembler.join.rows import Disk, DiskRows
from services.assembler.join.stages import Stages
from services.assembler.join.watchdog import Watchdog
from shared import faultpoints
from shared.contracts.errors import DocfleetError
from shared.settings import Settings
from shared.telemetry import metrics
from shared.telemetry.health import Health

log = structlog.get_logger()

TICK_S = 0.25
"""How often the timers are asked."""
STILL_S = 5.0
"""A partition that has events and brings none for so long is read again from where it stands."""
EVICT_S = 60.0
"""How often old marks are forgotten."""
MAX_PENDING = 20_000
"""Appends without an acknowledgement, beyond which no event is taken."""
UNDELIVERED = 4
"""Exit code after a failed append."""


class FaustJoin:
    """The app and what belongs to it."""

    def __init__(self, settings: Settings, health: Health) -> None:
        self._settings = settings
        self._health = health
        self._partitions = checked_partitions(settings)
        session_s = settings.kafka.session_timeout_ms / 1000
        self._lease = Lease(session_s, heartbeat_s(session_s), _slept)
        self._outbox = Outbox(settings, failed=_end, before=self._lease.check)
        self.app = make_app(settings, self._partitions)
        self._positions = Positions()
        self.app.transport.Consumer = functools.partial(JoinConsumer, positions=self._positions)
        producer = OutboxProducer(self.app.transport, loop=None, beacon=self.app.beacon)
        producer.outbox = self._outbox
        self.app.producer = producer
        self._parsed, parsed = self._table("parsed", PARSED)
        self._opened, opened = self._table("open", OPEN)
        parsed.read, opened.read = read_mark, read_open
        parsed.buried = read_tombstone
        if settings.join.store == "rocksdb":
            disk = Disk(data_folder(settings), settings.join.cache_bytes)
            opened.make = lambda number: DiskRows(disk, number, lambda key, row: read_open(key, row, 0.0), encode_state)
        parsed.starts = lambda new: offsets_since(settings, PARSED, settings.join.remember_s, new)
        self._tables = FaustTables(self._outbox, parsed, opened)
        self._driver = Driver(self._tables, self._outbox, settings.join.window, settings.join.stall_s)
        self._tables.driver = self._driver
        opened.moved = self._moved
        parsed.bury = opened.bury = self._driver.bury
        self._stores: tuple[JoinStore[TimedMark], JoinStore[Document | Page]] = parsed, opened
        self._stages = Stages(settings)
        self._watchdog = Watchdog(settings, self._progress, self._owned)
        self._opened.on_recover(self._recovered)
        sources = self.app.topic(*SOURCES, key_serializer="raw", value_serializer="raw", allow_empty=True)
        self.app.agent(sources, name="join")(self._agent)
        self.app.task(self._tick)
        self.app.on_partitions_revoked.connect(self._revoked)
        threading.Thread(target=self._poll, name="outbox", daemon=True).start()
        self._ticking = False
        self._watchdog.follow(asyncio.get_event_loop(), lambda: not self._ticking)
        self._watchdog.start()
        self._lease.start()

    def _table(self, name: str, changelog: str) -> tuple[JoinTable, Any]:
        topic = self.app.topic(
            changelog,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            partitions=self._partitions,
            compacting=True,
            acks=False,
            internal=True,
            maxsize=131_072,
            allow_empty=True,
        )
        table = JoinTable(
            self.app,
            name=name,
            store="memory://",
            key_type=bytes,
            value_type=bytes,
            partitions=self._partitions,
            changelog_topic=topic,
            beacon=self.app.tables.beacon,
        )
        self.app.tables.add(table)
        return table, table.data

    # --- events -------------------------------------------------------------------------------------------------------

    async def _agent(self, stream: Any) -> None:
        async for event in stream.events():
            record = record_of(event.message)
            place = record.topic, record.partition
            verdict = self._positions.judge(place, record.offset)
            if verdict == "skip":
                continue
            if verdict == "seek":
                back = self._positions.next(place) or 0
                log.info(
                    "events are missing", place=place, offset=record.offset, back=back, moving=self.app.rebalancing
                )
                if self.app.rebalancing:
                    continue  # Faust seeks back itself when partitions have moved
                with contextlib.suppress(IllegalStateError):  # the partition is going this very moment
                    await self.app.consumer.seek_wait({TP(*place): back})
                continue
            try:
                self._handle(record)
                self._positions.handled(place, record.offset)
            except Exception:
                # Faust would acknowledge the event and go on without it.
                log.exception("ended by an error", topic=record.topic, offset=record.offset)
                _end("the driver failed")
            if self._driver.handled % 100 == 0:
                await asyncio.sleep(0)
            while self._outbox.pending() > MAX_PENDING:
                await asyncio.sleep(0.01)

    def _handle(self, record: Record) -> None:
        home = self._home(record)
        if home != record.partition:
            # A client with another partitioner, or without a key. The document's state is elsewhere.
            log.info("a command is sent on to its partition", partition=record.partition, home=home)
            head = [(name, value or b"") for name, value in record.headers]
            self._outbox.append(record.topic, record.key, record.value, head, partition=home)
            return
        self._tables.turn_to(record.partition, record.timestamp_ms / 1000)
        self._driver.handle(record)

    def _home(self, record: Record) -> int:
        """The partition of the document a command is about; events of the stages always lie in theirs."""
        if record.topic != CONTROL:
            return record.partition
        try:
            event = read_event(record.topic, record.value)
        except DocfleetError:
            return record.partition  # foreign bytes: a dead letter, wherever they lie
        return (int(murmur2(event.document_id.encode())) & 0x7FFFFFFF) % self._partitions

    async def _tick(self) -> None:
        self._ticking = True
        evicted = looked = proved = time.monotonic()
        while not self.app.should_stop:
            self._watchdog.beat()
            self._health.beat("join")
            if not self.app.rebalancing:
                self._driver.tick(time.time())
            if time.monotonic() - looked > STILL_S:
                looked = time.monotonic()
                await self._read_again()
            if time.monotonic() - proved > LOOK_S:
                proved = time.monotonic()
                if topics := self._driver.ask():
                    self._driver.take(await asyncio.to_thread(self._stages.look, topics))
            if time.monotonic() - evicted > EVICT_S:
                evicted = time.monotonic()
                self._evict()
            await asyncio.sleep(TICK_S)

    async def _read_again(self) -> None:
        """Events may be fetched and dropped while partitions move; Faust then seeks back, but not to a committed offset of 0."""
        consumer = self.app.consumer
        if self.app.rebalancing:
            return
        with contextlib.suppress(IllegalStateError, AssertionError):  # a partition is going this very moment
            ends = {place: consumer.highwater(TP(*place)) or 0 for place in self._owned()}
            lag = self._positions.lag(ends)
            for topic in SOURCES:
                metrics.LAG.labels(topic=topic).set(lag[topic])
            for place, offset in self._positions.still(ends).items():
                log.info("no events come, reading again", place=place, offset=offset, end=ends[place])
                await consumer.seek_wait({TP(*place): offset})

    def _evict(self) -> None:
        parsed, opened = self._stores
        known = opened.rows.values()
        evict(
            parsed,
            time.time() - self._settings.join.remember_s,
            lambda key: any(key in rows for rows in known),
        )

    # --- partitions come and go ---------------------------------------------------------------------------------------

    async def _revoked(self, app: Any, revoked: set[TP], **_: Any) -> None:
        self._driver.moved()
        metrics.REBALANCES.labels(event="revoked").inc()
        self._health.ready("recovery", False, "partitions are moving")

    def _moved(self, revoked: set[TP], new: set[TP]) -> None:
        for tp in (*revoked, *new):
            self._positions.drop((tp.topic, tp.partition))

    async def _recovered(self) -> None:
        """The tables are up to date: new partitions begin at their commits, the timers with what is open and what has ended."""
        faultpoints.reached("after_recovery_before_events")
        begin = self._owned() - self._positions.places()
        try:
            found = await asyncio.to_thread(committed, self._settings, begin) if begin else {}
        except KafkaException as error:  # Faust would not notice
            _end(f"no committed offsets: {error.args[0].str()}")
            return
        for place, offset in found.items():
            self._positions.begin(place, max(0, offset))
        parsed, opened = self._stores
        timers = self._driver.timers
        timers.clear()
        for partition, rows in opened.rows.items():
            for key, row in rows.items():
                if isinstance(row, Page):
                    name, _, page_no = key.decode().partition("/")
                    timers.note_page(name, int(page_no), row)
                else:
                    name = key.decode()
                    mark = parsed.partition(partition).get(key)
                    timers.note(name, row, mark)
                    self._driver.recovered(name, row, mark)
                    if mark is not None:
                        self._driver.acknowledged(name, mark.generation)
        owned = self._owned()
        log.info("recovered", partitions=len(owned), open=len(timers), ended=sum(map(len, parsed.rows.values())))
        metrics.REBALANCES.labels(event="assigned").inc()
        metrics.JOIN_OPEN.set(len(timers))
        for topic in SOURCES:
            metrics.ASSIGNED.labels(topic=topic).set(sum(place[0] == topic for place in owned))
        self._health.ready("recovery", True)

    def _owned(self) -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in self.app.consumer.assignment() if tp.topic in SOURCES}

    def _progress(self) -> object:
        parsed, opened = self._stores
        return self._driver.handled, parsed.applied, opened.applied, self.app.rebalancing_count

    def _poll(self) -> None:
        while True:
            self._outbox.poll(0.1)


def _end(why: str, code: int = UNDELIVERED) -> None:
    """End the process before it can commit: what was handled since the last commit is handled again by whoever comes next."""
    log.critical("ended by an error", why=why)
    sys.stderr.flush()
    os._exit(code)


def _slept(slept_s: float) -> None:
    _end(f"slept for {slept_s:.1f} s, longer than the session may last: another has the partitions", SLEPT)
