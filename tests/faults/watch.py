"""What comes out of the fleet, read as it comes by plain clients, and looked at when it rests."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import Any, Self

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from shared.settings import GROUPS
from shared.streams.catalog import load
from tests.faults.observed import Lag, Letter, Terminal
from tests.faults.reference import digest, normal_key
from tests.faults.servers import Servers
from tests.faults.submitting import tenant_hash
from tests.support.kafka import KafkaServer

TOPICS = ("docs.parsed", "docs.dlq", "docs.results")


class Result(msgspec.Struct, frozen=True):
    """A record of docs.results: when the broker had it, its type, who sent it, its `ce_id`."""

    at: float
    type: str
    source: str
    id: str
    document_id: str


class Watch:
    """Context manager. A thread reads docs.parsed, docs.dlq and docs.results from their beginning, as long as it is open."""

    def __init__(self, servers: Servers, bucket: str = "docfleet") -> None:
        self._servers = servers
        self._bucket = bucket
        self.parsed: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """Terminal records by document id."""
        self.parsed_at: list[float] = []
        """When the broker had each of them."""
        self.letters: list[Letter] = []
        self.results: list[Result] = []
        self.broken: BaseException | None = None
        self._closed: set[str] = set()
        self._admin = KafkaServer(external=servers.bootstrap).admin()
        # Consumers that never join. (An AdminClient asked for a group's offsets takes the process down when the group's coordinator has
        # moved: confluentinc/librdkafka#5040.)
        self._of_groups = {
            group: Consumer({"bootstrap.servers": servers.bootstrap, "group.id": group, "log_level": 2})
            for group in GROUPS.values()
        }
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(15)
        for consumer in self._of_groups.values():
            consumer.close()

    def _run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers.bootstrap,
                "group.id": f"faults-watch-{time.time_ns()}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 2,
            }
        )
        try:
            partitions = []
            for topic in TOPICS:
                found = consumer.list_topics(topic, timeout=30).topics[topic].partitions
                partitions += [TopicPartition(topic, number, 0) for number in found]
            consumer.assign(partitions)
            while not self._ending.is_set():
                for message in consumer.consume(500, 0.2):
                    if message.error() is None:
                        self._take(message)
        except BaseException as error:
            self.broken = error
        finally:
            consumer.close()

    def _take(self, message: Any) -> None:
        head = {name: (value or b"").decode(errors="replace") for name, value in message.headers() or []}
        topic = message.topic()
        if topic == "docs.parsed":
            if message.value() is not None:
                self.parsed[message.key().decode()].append(json.loads(message.value()))
                self.parsed_at.append(message.timestamp()[1] / 1000)
        elif topic == "docs.results":
            at = message.timestamp()[1] / 1000
            key = (message.key() or b"").decode(errors="replace")
            self.results.append(
                Result(at, head.get("ce_type", ""), head.get("ce_source", ""), head.get("ce_id", ""), key)
            )
        elif "dlt.error.code" in head:
            place = head["dlt.original.topic"], int(head["dlt.original.partition"]), int(head["dlt.original.offset"])
            self.letters.append(
                Letter(place=place, code=head["dlt.error.code"], document_id=self._document(head, message))
            )

    def _document(self, head: Mapping[str, str], message: Any) -> str | None:
        if "dlt.document.id" in head:
            return head["dlt.document.id"]
        return (message.key() or b"").decode(errors="replace").split("/", 1)[0] or None

    # --- at rest ------------------------------------------------------------------------------------------------------

    def terminals(self, documents: Iterable[str]) -> list[Terminal]:
        """Terminal records of these documents, with what their results hold."""
        return [self._terminal(record) for name in documents for record in list(self.parsed.get(name, []))]

    def _terminal(self, record: Mapping[str, Any]) -> Terminal:
        name = record["document_id"]
        told = {"document_id": name, "generation": record["generation"], "status": record["status"]}
        if record["result"] is None:
            return Terminal(**told, codes=frozenset(error["code"] for error in record["errors"]))
        data = self._servers.get(record["result"]["bucket"], record["result"]["key"])
        document = json.loads(data)
        return Terminal(
            **told,
            pages=tuple(page["status"] for page in document["pages"]),
            page_numbers=tuple(page["page_no"] for page in document["pages"]),
            digest=digest(data, name),
            codes=frozenset(error["code"] for error in document["errors"]),
            warnings=frozenset(warning["code"] for warning in document["warnings"]),
        )

    def repeated(self, documents: Container[str]) -> int:
        """Records of docs.results about these documents that say what another one said before (the same `ce_id`)."""
        ids = [result.id for result in list(self.results) if result.document_id in documents]
        return len(ids) - len(set(ids))

    def objects(self, document_id: str) -> frozenset[str]:
        """Keys of all objects that a document left, in the form of any other document of its source."""
        tenant = tenant_hash(document_id)
        prefixes = (f"work/{document_id}/", f"parsed/{document_id}/", f"done/{document_id}", f"cache/{tenant}/")
        found: set[str] = set()
        for prefix in prefixes:
            found |= {normal_key(key, document_id, tenant) for key in self._servers.keys(self._bucket, prefix)}
        return frozenset(found)

    def lags(self) -> list[Lag]:
        """Every partition of every group: what was committed, and its end. Raises `KafkaException`."""
        admin = self._admin
        counts = {name: topic.partitions for name, topic in admin.list_topics(timeout=10).topics.items()}
        found: dict[tuple[str, str, int], int] = {}
        for group in GROUPS.values():
            wanted = [TopicPartition(t.name, p) for t in load().read_by(group) for p in counts.get(t.name, ())]
            for place in self._of_groups[group].committed(wanted, timeout=20):
                if place.error is not None:
                    raise KafkaException(place.error)
                found[group, place.topic, place.partition] = place.offset
        places = {(topic, partition) for _, topic, partition in found}
        ends = admin.list_offsets({TopicPartition(*place): OffsetSpec.latest() for place in places})
        at = {(p.topic, p.partition): future.result(timeout=20).offset for p, future in ends.items()}
        return [
            Lag(group=group, topic=topic, partition=partition, committed=offset, end=at[topic, partition])
            for (group, topic, partition), offset in sorted(found.items())
        ]

    def behind(self) -> int:
        """Records that are not committed; -1 where the broker does not say."""
        try:
            return sum(lag.end - max(0, lag.committed) for lag in self.lags())
        except KafkaException:
            return -1

    def is_closed(self, document_id: str) -> bool:
        """Whether the store has the mark that its end leaves (`done/`)."""
        if document_id not in self._closed and self._servers.keys(self._bucket, f"done/{document_id}"):
            self._closed.add(document_id)
        return document_id in self._closed
