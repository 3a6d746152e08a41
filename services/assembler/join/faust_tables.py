"""The two tables as Faust keeps them: recovered from their changelogs, in memory, by partition.

Faust decides which partitions are ours and reads their changelogs; what is held and from where recovery starts is decided here:

- State never outlives the process, and never outlives the assignment of its partition.
- `open` is recovered whole. `parsed` is recovered from `now - remember`, because its changelog is `docs.parsed`, which keeps
  every document ever parsed; of a record only the mark is kept. Marks that grow older than that are evicted in memory only:
  a deletion through the table would publish a tombstone.
- Bytes that are not ours are skipped, counted and dead-lettered. An exception here would leave Faust's recovery hanging.

Writes do not go through Faust's table interface, but through the join's outbox (see `faust_app`), to the partition of the event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, Generic, TypeVar

import faust
import structlog
from faust.stores import memory
from faust.types import TP

from services.assembler.join.driver import Driver, Record
from services.assembler.join.events import OPEN, PARSED
from services.assembler.join.memory import (
    Document,
    Mark,
    Page,
    Write,
    decode_state,
    encode_state,
    mark_of,
    open_key,
    tombstone_mark,
)
from services.assembler.join.outbox import Outbox
from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.ids import is_document_id
from shared.contracts.records import DocumentParsed
from shared.streams.headers import Headers
from shared.telemetry import metrics

log = structlog.get_logger()

V = TypeVar("V")
Bury = Callable[[Record, DocfleetError], None]


class TimedMark(Mark, frozen=True, array_like=True):
    """A mark and when its record was written, seconds since the epoch."""

    at: float = 0.0


class JoinStore(memory.Store, Generic[V]):  # type: ignore[misc]
    """Rows by partition. Invariant: holds partitions only that are assigned, and nothing from before their assignment."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rows: dict[int, MutableMapping[bytes, V]] = {}
        self.make: Callable[[int], MutableMapping[bytes, V]] = lambda _: {}
        self.read: Callable[[bytes | None, bytes, float], V] = _unread
        self.buried: Callable[[Headers | list[tuple[str, bytes | None]], float], V | None] = lambda head, at: None
        self.starts: Callable[[set[int]], dict[int, int]] = lambda _: {}
        self.bury: Bury | None = None
        self.moved: Callable[[set[TP], set[TP]], None] = lambda revoked, new: None
        self.applied = 0
        self._owned: set[int] | None = None
        self._offsets: dict[TP, int] = {}

    # --- what the join does -------------------------------------------------------------------------------------------

    def partition(self, number: int) -> MutableMapping[bytes, V]:
        """Rows of a partition."""
        rows = self.rows.get(number)
        if rows is None:
            rows = self.rows[number] = self.make(number)
        return rows

    def appended(self, partition: int, offset: int) -> None:
        """Our own append has this offset; recovery needs it no more. May be called on any thread."""
        tp = TP(self.table.changelog_topic.get_topic_name(), partition)
        if offset > self._offsets.get(tp, -1):
            self._offsets[tp] = offset

    # --- what Faust does ----------------------------------------------------------------------------------------------

    def persisted_offset(self, tp: TP) -> int | None:
        """The last offset of a changelog partition that is in the rows, or does not need to be.

        Never none: Faust would go on from an offset that it remembers from an earlier assignment, whose rows are gone.
        """
        return self._offsets.get(tp, -1)

    def apply_changelog_batch(self, batch: Iterable[Any], to_key: Any, to_value: Any) -> None:
        """Take records of the changelog; never raises for what is in them."""
        for event in batch:
            message = event.message
            if self._owned is not None and message.partition not in self._owned:
                continue  # was on its way when the partition went
            self.applied += 1
            rows = self.partition(message.partition)
            # Tables are ordered by time of writing (see `evict`), so a row that is written again goes to the end.
            rows.pop(message.key, None)
            if message.value is None:
                if (left := self.buried(record_of(message).headers, message.timestamp)) is not None:
                    rows[message.key] = left
            else:
                try:
                    rows[message.key] = self.read(message.key, message.value, message.timestamp)
                except DocfleetError as error:
                    self._refuse(message, error)
            self._offsets[message.tp] = max(message.offset, self._offsets.get(message.tp, -1))

    def _refuse(self, message: Any, error: DocfleetError) -> None:
        metrics.JOIN_FOREIGN.labels(topic=message.topic).inc()
        if self.bury is not None:
            self.bury(record_of(message), error)

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Forget what is not ours any more, and find out where recovery of what is new begins."""
        topic = self.table.changelog_topic.get_topic_name()
        self._owned = {tp.partition for tp in assigned if tp.topic == topic}
        self.moved(revoked, newly_assigned)
        for tp in (*revoked, *newly_assigned):
            if tp.topic == topic:
                if (rows := self.rows.pop(tp.partition, None)) is not None:
                    rows.clear()
                self._offsets.pop(tp, None)
        new = {tp.partition for tp in newly_assigned if tp.topic == topic}
        if new:
            for number, offset in (await asyncio.to_thread(self.starts, new)).items():
                self._offsets[TP(topic, number)] = offset

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        """Nothing to do: rows of other partitions went when they were revoked."""


def _unread(key: bytes | None, value: bytes, at: float) -> Any:
    raise NotImplementedError


class JoinTable(faust.Table):  # type: ignore[misc]
    """A Faust table on a `JoinStore`."""

    def _new_store_by_url(self, url: Any) -> Any:
        return JoinStore(
            url,
            self.app,
            self,
            table_name=self.name,
            key_type=self.key_type,
            key_serializer=self.key_serializer,
            value_serializer=self.value_serializer,
            value_type=self.value_type,
            loop=self.loop,
        )


def read_open(key: bytes | None, value: bytes, at: float) -> Document | Page:
    """A row of `open`, by the form of its key. Raises `DocfleetError(invalid_message)` for foreign bytes."""
    document_id, slash, page_no = _text(key).partition("/")
    if not is_document_id(document_id) or (slash and not page_no.isdecimal()):
        raise DocfleetError(ErrorCode.invalid_message, "not a key of the join")
    return decode_state(value, Page) if slash else decode_state(value, Document)


def read_mark(key: bytes | None, value: bytes, at: float) -> TimedMark:
    """A row of `parsed`, from a record of `docs.parsed`. Raises `DocfleetError(invalid_message)` for foreign bytes."""
    parsed = decode(value, DocumentParsed)
    if _text(key) != parsed.document_id:
        raise DocfleetError(ErrorCode.invalid_message, "the key is not the document id")
    mark = mark_of(parsed)
    return TimedMark(mark.generation, mark.status, at)


def read_tombstone(head: Iterable[tuple[str, bytes | None]], at: float) -> TimedMark | None:
    """A row of `parsed`, from a tombstone of the join; none for a tombstone of somebody else."""
    mark = tombstone_mark(head)
    return None if mark is None else TimedMark(mark.generation, mark.status, at)


def _text(key: bytes | None) -> str:
    return (key or b"").decode("ascii", "replace")


def evict(store: JoinStore[TimedMark], before: float, keep: Callable[[bytes], bool]) -> int:
    """Forget marks from before a time (seconds since the epoch); returns how many went. Marks for which `keep` holds stay.

    Rows are in order of writing, so this looks only at those that go.
    """
    gone = 0
    for rows in store.rows.values():
        kept: list[tuple[bytes, TimedMark]] = []
        while rows:
            key = next(iter(rows))
            if rows[key].at >= before:
                break
            mark = rows.pop(key)
            if keep(key):
                kept.append((key, mark))
            else:
                gone += 1
        rows.update(kept)
    return gone


def record_of(message: Any) -> Record:
    """A message of Faust's as the driver takes it."""
    head = message.headers or []
    return Record(
        message.topic,
        message.partition,
        message.offset,
        int(message.timestamp * 1000),
        message.key,
        message.value,
        list(head.items()) if isinstance(head, dict) else list(head),
    )


class FaustTables:
    """The tables during one event: those of its partition."""

    def __init__(self, outbox: Outbox, parsed: JoinStore[TimedMark], opened: JoinStore[Document | Page]) -> None:
        self.driver: Driver | None = None
        self._outbox = outbox
        self._parsed = parsed
        self._opened = opened
        self._partition = -1
        self._at = 0.0

    def turn_to(self, partition: int, at: float) -> None:
        """The partition of the event that comes now, and its timestamp."""
        self._partition = partition
        self._at = at

    def mark(self, document_id: str) -> Mark | None:
        return self._parsed.partition(self._partition).get(document_id.encode())

    def document(self, document_id: str) -> Document | None:
        found = self._opened.partition(self._partition).get(open_key(document_id))
        return found if isinstance(found, Document) else None

    def page(self, document_id: str, page_no: int) -> Page | None:
        found = self._opened.partition(self._partition).get(open_key(document_id, page_no))
        return found if isinstance(found, Page) else None

    def write(self, write: Write) -> None:
        partition, rows = self._partition, self._opened.partition(self._partition)
        value = None if write.value is None else encode_state(write.value)
        if write.value is None:
            rows.pop(write.key, None)
        else:
            rows[write.key] = write.value

        def acknowledged(offset: int) -> None:
            self._opened.appended(partition, offset)

        self._outbox.append(OPEN, write.key, value, [], partition=partition, acknowledged=acknowledged)

    def end(self, parsed: DocumentParsed, value: bytes, head: Headers) -> None:
        self._mark(parsed.document_id, mark_of(parsed), value, head)

    def forget(self, document_id: str, generation: int, head: Headers) -> None:
        self._mark(document_id, Mark(generation, "cancelled"), None, head)

    def _mark(self, document_id: str, mark: Mark, value: bytes | None, head: Headers) -> None:
        partition, key = self._partition, document_id.encode()
        rows = self._parsed.partition(partition)
        rows.pop(key, None)
        rows[key] = TimedMark(mark.generation, mark.status, self._at)

        def acknowledged(offset: int) -> None:
            self._parsed.appended(partition, offset)
            if self.driver is not None:
                self.driver.acknowledged(document_id, mark.generation)

        self._outbox.append(PARSED, key, value, head, partition=partition, acknowledged=acknowledged)
