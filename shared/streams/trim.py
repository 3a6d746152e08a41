"""`docfleet topics trim`: records that every group has consumed are deleted.

Work topics and `docs.results` keep a record until it was consumed, not for a time (`retention.ms=-1`): a queue of a week loses nothing. So
somebody has to take away what is done. Below the committed offsets of all groups of a topic everything is done (they commit only the
contiguous prefix), and nothing above is touched. A topic of which a group has no offset is left alone, and so are compacted ones.
"""

from __future__ import annotations

import msgspec
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from shared.settings import Settings
from shared.streams.catalog import Catalog, load
from shared.streams.clients import admin_config
from shared.streams.cluster import TIMEOUT_S, Cluster
from shared.streams.refusals import unavailable


class Trim(msgspec.Struct, frozen=True):
    """Records of one partition that may go: those from `first` up to, not including, `before`."""

    topic: str
    partition: int
    first: int
    before: int

    @property
    def records(self) -> int:
        return self.before - self.first


def plan(settings: Settings, catalog: Catalog | None = None) -> tuple[list[Trim], list[str]]:
    """What may go, and why some topics are left alone (a line each). Changes nothing. Raises `Unavailable("broker")`."""
    trims: list[Trim] = []
    left: list[str] = []
    try:
        with Cluster(settings) as cluster:
            present = cluster.partitions()
            for topic in (catalog or load()).topics:
                if not topic.groups or topic.cleanup != "delete" or topic.retention_ms != -1:
                    continue
                if topic.name not in present:
                    left.append(f"{topic.name} is not there")
                    continue
                committed = [cluster.committed(group, topic.name) for group in topic.groups]
                for partition, (first, last) in cluster.ends(topic.name).items():
                    offsets = [of_group[partition] for of_group in committed]
                    if any(offset is None for offset in offsets):
                        left.append(f"{topic.name}/{partition}: a group has no offset there")
                        continue
                    before = min(last, *(offset for offset in offsets if offset is not None))
                    if before > first:
                        trims.append(Trim(topic.name, partition, first, before))
    except KafkaException as error:
        raise unavailable(settings.kafka, error.args[0], "look at") from error
    return trims, left


def apply(settings: Settings, trims: list[Trim]) -> None:
    """Delete the records. Raises `Unavailable("broker")`."""
    if not trims:
        return
    admin = AdminClient(admin_config(settings))
    try:
        wanted = [TopicPartition(one.topic, one.partition, one.before) for one in trims]
        for future in admin.delete_records(wanted, request_timeout=TIMEOUT_S, operation_timeout=TIMEOUT_S).values():
            future.result(timeout=60)
    except KafkaException as error:
        raise unavailable(settings.kafka, error.args[0], "delete records of") from error
