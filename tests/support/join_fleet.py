"""A fleet of one thread that answers what the join asks for: layouts of one task, readings, composed pages and documents.

It makes nothing up about the join; its results are what the real stages would report, without pictures, stores or networks.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from shared.contracts import records as r
from shared.contracts.codec import decode, encode
from shared.contracts.ids import task_id

WORK = ("docs.pages", "docs.pages.bulk", "docs.compose", "docs.compose.bulk")


def opened(document_id: str, pages: int, generation: int = 0, **given: Any) -> r.DocumentOpened:
    """What ingest would say of a document with that many pages."""
    return r.DocumentOpened(
        **{
            "document_id": document_id,
            "generation": generation,
            "source": r.SourceRef(bucket="in", key=document_id, etag="e"),
            "pages_total": pages,
            "selected": f"1-{pages}" if pages else "",
            "options_hash": "o",
            "pipeline_fingerprint": "f",
            "submitted_at": time.time(),
            **given,
        }
    )


def answers(work: Any) -> list[Any]:
    """The events that the stages would send for a piece of work."""
    name = {"document_id": work.document_id, "generation": work.generation}
    if isinstance(work, r.PageTask):
        rec = task_id("rec", work.generation, [work.page_no])
        task = r.TaskRef(task_id=rec, stage="rec")
        return [
            r.PageLaidOut(**name, page_no=work.page_no, task_id=work.task_id, layout_sha256="0" * 64, tasks=[task]),
            r.RegionsRead(**name, pages=[work.page_no], task_id=rec, stage="rec"),
        ]
    if isinstance(work, r.ComposePage):
        return [r.PageComposed(**name, page_no=work.page_no, task_id=work.task_id, status="ok", sha256="0" * 64)]
    if isinstance(work, r.ComposeDocument):
        return [
            r.DocumentComposed(
                **name,
                task_id=work.task_id,
                status="success",
                source=r.SourceInfo(bucket="in", key=work.document_id),
                result=r.ObjectRef(bucket="out", key=f"parsed/{work.document_id}/document.json"),
                markdown=None,
                totals=r.Totals(pages=work.pages_total),
            )
        ]
    return []


class JoinFleet:
    """Context manager. `seen` counts what was asked for, by type; `produce` sends an event of ours."""

    def __init__(
        self, bootstrap: str, loses: Callable[[Any], bool] = lambda work: False, commits: bool = False
    ) -> None:
        """Work of which `loses` holds is taken and never answered. `commits`: the stages' groups commit what was answered."""
        self._bootstrap = bootstrap
        self._loses = loses
        self._commits = commits
        self._producer: Any = Producer(
            {
                "bootstrap.servers": bootstrap,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "linger.ms": 1,
                "log_level": 2,
            }
        )
        self._ending = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.seen: dict[str, list[Any]] = defaultdict(list)
        self.broken: BaseException | None = None
        self._members: dict[str, Any] = {}

    def __enter__(self) -> JoinFleet:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending = True
        self._thread.join(10)
        self._producer.flush(10)
        assert self.broken is None, self.broken

    def produce(self, record: Any, topic: str = "docs.results") -> None:
        self.raw(topic, record.document_id.encode(), encode(record))

    def raw(self, topic: str, key: bytes | None, value: bytes | None, **given: Any) -> None:
        while True:
            try:
                self._producer.produce(topic, key=key, value=value, on_delivery=self._reported, **given)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _reported(self, error: Any, message: Any) -> None:
        if error is not None:
            self.broken = AssertionError(f"{message.topic()}: {error.str()}")

    def flush(self) -> None:
        assert self._producer.flush(30) == 0
        assert self.broken is None, self.broken

    def _run(self) -> None:
        consumer: Any = None
        try:
            consumer = reader(self._bootstrap, WORK)
            while not self._ending:
                taken = [message for message in consumer.consume(500, 0.05) if message.error() is None]
                for message in taken:
                    if message.value() is not None:
                        self._answer(message)
                if self._commits and taken:
                    self._commit(taken)
        except BaseException as error:
            self.broken = error
        finally:
            for open_consumer in filter(None, [consumer, *self._members.values()]):
                open_consumer.close()

    def _answer(self, message: Any) -> None:
        compose = message.topic().startswith("docs.compose")
        work: Any = r.decode_compose(message.value()) if compose else decode(message.value(), r.PageTask)
        self.seen[type(work).__name__].append(work)
        for event in [] if self._loses(work) else answers(work):
            self.produce(event)

    def _commit(self, taken: list[Any]) -> None:
        """Commit as a stage does: what was taken, once its answers are acknowledged."""
        self.flush()
        ends = {(message.topic(), message.partition()): message.offset() + 1 for message in taken}
        groups = {"docs.pages": "layout-worker", "docs.compose": "assembler-compose"}
        for topic, group in groups.items():
            places = [TopicPartition(*place, end) for place, end in ends.items() if place[0].startswith(topic)]
            if not places:
                continue
            if group not in self._members:
                self._members[group] = Consumer(
                    {"bootstrap.servers": self._bootstrap, "group.id": group, "log_level": 2}
                )
            self._members[group].commit(offsets=places, asynchronous=False)


def reader(bootstrap: str, topics: tuple[str, ...]) -> Any:
    """A consumer of all partitions of topics from their beginning, without a group."""
    consumer: Any = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "test",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
            "allow.auto.create.topics": True,
            "log_level": 2,
        }
    )
    places = []
    for topic in topics:
        while not (partitions := _partitions(consumer, topic)):
            time.sleep(0.2)
        places += [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions]
    consumer.assign(places)
    return consumer


def _partitions(consumer: Any, topic: str) -> Any:
    try:
        return consumer.list_topics(topic, timeout=10).topics[topic].partitions
    except KafkaException:
        return {}


class Log:
    """Follows topics and keeps their records, in order of arrival."""

    def __init__(self, bootstrap: str, *topics: str) -> None:
        self._consumer = reader(bootstrap, topics)
        self.records: list[Any] = []

    def until(self, enough: Any, timeout_s: float = 60.0) -> list[Any]:
        """Read until `enough(records)`; fails after `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        while not enough(self.records):
            assert time.monotonic() < deadline, f"{len(self.records)} records in {timeout_s} s"
            self.look(0.1)
        return self.records

    def look(self, seconds: float) -> list[Any]:
        """Read for a while."""
        deadline = time.monotonic() + seconds
        while True:
            got = self._consumer.consume(1000, 0.05)
            self.records += [message for message in got if message.error() is None]
            if time.monotonic() > deadline:
                return self.records

    def parsed(self) -> list[r.DocumentParsed]:
        return [decode(message.value(), r.DocumentParsed) for message in self.records]

    def close(self) -> None:
        self._consumer.close()
