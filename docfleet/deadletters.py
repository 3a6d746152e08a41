"""The letters of `docs.dlq` and what became of each, read without a consumer group.

The topic itself is the whole memory: a letter that was sent again or dropped has a mark behind it, in its own partition, so that retention
takes the letter first. Nothing is deleted here: Kafka deletes only from the beginning of a partition, which would take other letters too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Literal

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from docfleet.reach import reach
from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.settings import Settings
from shared.streams import deadletter
from shared.streams.clients import reader_config
from shared.streams.cluster import Cluster
from shared.streams.deadletter import Letter, Mark
from shared.streams.refusals import unavailable

SILENCE_S = 30.0
"""Seconds without a record before the end of the topic, after which the broker counts as away."""
BATCH = 500
"""Records taken from the client at once."""

State = Literal["open", "replayed", "dropped"]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which letters are meant. What is empty chooses all."""

    names: frozenset[str] = frozenset()
    """`partition:offset`."""
    codes: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    """Where the records were read from; a topic means its `.bulk` twin too."""
    documents: frozenset[str] = frozenset()
    since: float = 0.0
    """Time of death, seconds since the epoch, from here, up to and not including `until`."""
    until: float = float("inf")

    def fits(self, letter: Letter) -> bool:
        """Whether a letter is meant."""
        return (
            (not self.names or letter.name in self.names)
            and (not self.codes or letter.code in self.codes)
            and (not self.topics or not self.topics.isdisjoint({letter.topic, letter.topic.removesuffix(".bulk")}))
            and (not self.documents or letter.document_id in self.documents)
            and self.since <= letter.died_at < self.until
        )


class DeadLetters:
    """Letters in the order of their deaths, and the marks of all. Filled by `Reader.read`."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.foreign = 0
        """Records of the topic that are neither letters nor marks."""
        self._marks: dict[tuple[int, int], Mark] = {}
        self._started: dict[tuple[str, int], int] = {}

    def mark(self, mark: Mark) -> None:
        """Take note of a mark; the last one of a letter counts. `replaying` says only that a document's generation is a replay."""
        if mark.action != "replaying":
            self._marks[mark.partition, mark.offset] = mark
        if mark.document_id is not None and mark.generation is not None:
            started = mark.document_id, mark.generation
            self._started[started] = max(mark.replays, self._started.get(started, 0))

    def state(self, letter: Letter) -> State:
        """What became of a letter."""
        mark = self._marks.get(letter.place)
        return mark.action if mark is not None and mark.action != "replaying" else "open"

    def replays(self, letter: Letter) -> int:
        """How often what died here had been sent again before: above 0 it is a replay that failed again."""
        by_mark = self._started.get((letter.document_id, letter.generation), 0) if letter.document_id else 0
        return max(letter.replays, by_mark)

    def generation(self, letter: Letter) -> int | None:
        """The generation that a letter's document was sent again at; none where it was not, or went back as it was."""
        mark = self._marks.get(letter.place)
        return mark.generation if mark is not None else None

    def select(self, states: Iterable[State], again: bool | None = None) -> list[Letter]:
        """Letters in one of these states. `again`: only those that failed after a replay (true), or only the others (false)."""
        wanted = set(states)
        return [
            letter
            for letter in self.letters
            if self.state(letter) in wanted and (again is None or (self.replays(letter) > 0) == again)
        ]


class Reader:
    """Context manager. Every method raises `Unavailable("broker")`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consumer: Any = Consumer(reader_config(settings, "dlq"))

    def __enter__(self) -> Reader:
        try:
            reach(self._consumer, self._settings.kafka)
        except BaseException:
            self._consumer.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def read(self, wanted: Wanted, told: Callable[[int, int], None] = lambda done, total: None) -> DeadLetters:
        """All that lies in the topic now. Keeps the wanted letters (about 1 kB each, without their values) and every mark.

        `told` hears now and then how many of how many records were looked at.
        """
        ends = {p: (first, last) for p, (first, last) in self._ends().items() if last > first}
        total = sum(last - first for first, last in ends.values())
        found = DeadLetters()
        self._consumer.assign([TopicPartition(deadletter.TOPIC, p, first) for p, (first, _) in ends.items()])
        left = {p: last for p, (_, last) in ends.items()}
        seen = 0
        while left:
            for message in self._next():
                partition = message.partition()
                if message.error() is not None:
                    left.pop(partition, None)  # the end of the partition; what lay before it was compacted or deleted
                    continue
                if partition in left and message.offset() < left[partition]:
                    seen += 1
                    _file(found, message, wanted)
                if message.offset() + 1 >= left.get(partition, 0):
                    left.pop(partition, None)
            told(seen, total)
        self._consumer.unassign()
        found.letters.sort(key=lambda letter: (letter.died_at, letter.place))
        return found

    def message(self, letter: Letter) -> Any:
        """A letter as it lies in the topic. Raises `DocfleetError(source_missing)` when retention has taken it."""
        self._consumer.assign([TopicPartition(deadletter.TOPIC, letter.partition, letter.offset)])
        try:
            for message in self._next(1):
                if message.error() is None and message.offset() == letter.offset:
                    return message
        finally:
            self._consumer.unassign()
        raise DocfleetError(ErrorCode.source_missing, f"dead letter {letter.name} is not there any more")

    def _next(self, count: int = BATCH) -> list[Any]:
        """The next records and ends of partitions, at least one."""
        limit = time.monotonic() + SILENCE_S
        while time.monotonic() < limit:
            messages: list[Any] = self._consumer.consume(count, 0) or self._consumer.consume(1, 0.5)
            for message in messages:
                error = message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise self._away(error)
            if messages:
                return messages
        raise Unavailable("broker", f"{deadletter.TOPIC} gave nothing for {SILENCE_S:.0f} s")

    def _ends(self) -> dict[int, tuple[int, int]]:
        try:
            with Cluster(self._settings) as cluster:
                if deadletter.TOPIC not in cluster.partitions():
                    if refusal := cluster.hidden(deadletter.TOPIC):
                        raise self._away(refusal)
                    raise Unavailable("broker", f"topic {deadletter.TOPIC} is not there; run `docfleet topics apply`")
                return cluster.ends(deadletter.TOPIC)
        except KafkaException as error:
            raise self._away(error.args[0]) from error

    def _away(self, error: KafkaError) -> Unavailable:
        return unavailable(self._settings.kafka, error, "read", deadletter.TOPIC)


def _file(found: DeadLetters, message: Any, wanted: Wanted) -> None:
    """A record of the topic where it belongs."""
    head = message.headers() or []
    if any(name == deadletter.MARK for name, _ in head):
        try:
            found.mark(decode(message.value() or b"", Mark))
        except DocfleetError:
            found.foreign += 1
        return
    letter = deadletter.read(
        head,
        partition=message.partition(),
        offset=message.offset(),
        timestamp_ms=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
    )
    if letter is None:
        found.foreign += 1
    elif wanted.fits(letter):
        found.letters.append(letter)
