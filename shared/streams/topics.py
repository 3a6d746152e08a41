"""`docfleet topics plan|apply`: what a cluster lacks, as a printable diff, and making it so.

What it does: creates topics, adds partitions, alters configuration, and writes the offsets from which each group begins (the beginning of
every partition), because the services refuse to start from a place nobody chose. What it never does: delete anything, shrink a
topic, change the partitions of the join's topics while documents are open, or move a group that has offsets.

A group without offsets on a topic that holds records has lost them (they expire without a member), and where to go on is somebody's
decision: `lost_offsets="beginning"` reads everything that is still there again (identities absorb what was done), `"end"` skips it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
import structlog
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from shared.settings import Settings
from shared.streams.catalog import Catalog, Topic, load
from shared.streams.clients import admin_config
from shared.streams.cluster import Cluster
from shared.streams.refusals import unavailable

log = structlog.get_logger()

LostOffsets = Literal["refuse", "beginning", "end"]


class TopicsRefused(Exception):
    """The plan holds something that must not be done; nothing was changed. The message names each, a line each."""


class Change(msgspec.Struct, frozen=True, tag=True):
    """One step. `line` is how the diff shows it."""

    topic: str

    def line(self) -> str:
        raise NotImplementedError


class CreateTopic(Change, frozen=True, tag=True):
    partitions: int
    replication: int
    config: dict[str, str]

    def line(self) -> str:
        options = " ".join(f"{name}={value}" for name, value in self.config.items())
        return f"+ {self.topic}  partitions={self.partitions} replication={self.replication} {options}"


class AddPartitions(Change, frozen=True, tag=True):
    have: int
    want: int

    def line(self) -> str:
        return f"~ {self.topic}  partitions {self.have} -> {self.want}"


class AlterConfig(Change, frozen=True, tag=True):
    values: dict[str, tuple[str, str]]
    """Name to (now, wanted)."""

    def line(self) -> str:
        return f"~ {self.topic}  " + ", ".join(f"{name} {now} -> {then}" for name, (now, then) in self.values.items())


class SetOffsets(Change, frozen=True, tag=True):
    group: str
    offsets: dict[int, int]
    """Partition to offset."""

    def line(self) -> str:
        shown = sorted(set(self.offsets.values()))
        where = str(shown[0]) if len(shown) == 1 else f"{shown[0]}..{shown[-1]}"
        return f"+ {self.topic}  group {self.group} begins at {where} of {len(self.offsets)} partitions"


class Plan(msgspec.Struct, frozen=True):
    """What would be done, in order; `refusals` keep all of it from being done, `warnings` do not."""

    changes: list[CreateTopic | AddPartitions | AlterConfig | SetOffsets]
    refusals: list[str]
    warnings: list[str]

    def render(self) -> str:
        """The plan as a diff: `+` new, `~` changed, `!` refused, `?` worth a look. Says so when there is nothing to do."""
        lines = [change.line() for change in self.changes]
        lines += [f"! {text}" for text in self.refusals] + [f"? {text}" for text in self.warnings]
        return "\n".join(lines) or "The cluster is as topics.yaml says."


def plan(settings: Settings, catalog: Catalog | None = None, lost_offsets: LostOffsets = "refuse") -> Plan:
    """Compare a cluster with the catalogue (none is the one of topics.yaml). Changes nothing.

    Raises `Unavailable("broker")` when the cluster does not answer.
    """
    try:
        with Cluster(settings) as cluster:
            return _Planner(cluster, catalog or load(), lost_offsets).plan()
    except KafkaException as error:
        raise unavailable(settings.kafka, error.args[0], "administer") from error


class _Planner:
    def __init__(self, cluster: Cluster, catalog: Catalog, lost_offsets: LostOffsets) -> None:
        self._cluster = cluster
        self._catalog = catalog
        self._lost_offsets = lost_offsets
        self._changes: list[CreateTopic | AddPartitions | AlterConfig | SetOffsets] = []
        self._refusals: list[str] = []
        self._warnings: list[str] = []
        self._partitions = cluster.partitions()
        self._new: dict[str, int] = {}
        """Topic to its first partition that this plan brings."""

    def plan(self) -> Plan:
        present = [topic for topic in self._catalog.topics if topic.name in self._partitions]
        for topic in self._catalog.topics:
            if topic not in present:
                self._create(topic)
        for topic in present:
            self._grow(topic)
        configs = self._cluster.configs([topic.name for topic in present])
        for topic in present:
            self._configure(topic, configs[topic.name])
        self._begin()
        return Plan(self._changes, self._refusals, self._warnings)

    def _replication(self, topic: Topic) -> int:
        return min(topic.replication, self._cluster.brokers())

    def _create(self, topic: Topic) -> None:
        replication = self._replication(topic)
        if replication < topic.replication:
            text = f"replication {replication} instead of {topic.replication}: the cluster has {self._cluster.brokers()} broker(s)"
            if text not in self._warnings:
                self._warnings.append(text)
        self._new[topic.name] = 0
        self._changes.append(CreateTopic(topic.name, topic.partitions, replication, topic.config(replication)))

    def _grow(self, topic: Topic) -> None:
        have = self._partitions[topic.name]
        if have == topic.partitions:
            return
        if have > topic.partitions:
            self._refusals.append(f"{topic.name} has {have} partitions and can't shrink to {topic.partitions}")
            return
        members = {name for group in self._catalog.copartition.values() for name in group}
        if topic.name in members and (still := self._open()):
            self._refusals.append(f"{topic.name} can't go from {have} to {topic.partitions} partitions: {still}")
            return
        self._new[topic.name] = have
        self._changes.append(AddPartitions(topic.name, have, topic.partitions))

    def _open(self) -> str:
        """Why the join's topics can't be changed now; empty when they can."""
        for topic in self._catalog.topics:
            if topic.internal and topic.name in self._partitions and (live := self._cluster.live_keys(topic.name)):
                return f"documents are open ({live} entries in {topic.name})"
        for topic in self._catalog.topics:
            joined = any(topic.name in group for group in self._catalog.copartition.values())
            for group in topic.groups if joined and topic.name in self._partitions else []:
                if lag := self._cluster.lag(group, topic.name):
                    return f"group {group} has {lag} unread records in {topic.name}"
        return ""

    def _configure(self, topic: Topic, now: dict[str, str]) -> None:
        replication = self._cluster.replication(topic.name)
        if replication < self._replication(topic):
            self._warnings.append(f"{topic.name} has {replication} replica(s) instead of {topic.replication}")
        wanted = topic.config(replication)
        values = {name: (now.get(name, ""), value) for name, value in wanted.items() if now.get(name) != value}
        if values:
            self._changes.append(AlterConfig(topic.name, values))

    def _begin(self) -> None:
        """Offsets of the groups, after everything else: new partitions begin at 0."""
        for topic in self._catalog.topics:
            have = self._partitions.get(topic.name, 0)
            for group in topic.groups:
                offsets = dict.fromkeys(range(self._new.get(topic.name, have), topic.partitions), 0)
                if have:
                    offsets |= self._missing(group, topic.name)
                if offsets:
                    self._changes.append(SetOffsets(topic.name, group, offsets))

    def _missing(self, group: str, topic: str) -> dict[int, int]:
        """Offsets to give a group on existing partitions where it has none."""
        without = [p for p, offset in self._cluster.committed(group, topic).items() if offset is None]
        if not without:
            return {}
        ends = self._cluster.ends(topic)
        filled = [p for p in without if ends[p][1] > 0]
        if filled and self._lost_offsets == "refuse":
            self._refusals.append(
                f"group {group} has no offsets on {len(filled)} partition(s) of {topic} that were written to: it lost them, or never "
                "had any; choose --lost-offsets beginning (read again what is there) or end (skip it)"
            )
            return {}
        side = 1 if self._lost_offsets == "end" else 0
        return {p: ends[p][side] for p in without}


def apply(settings: Settings, plan: Plan) -> None:
    """Do what a plan says. Raises `TopicsRefused` (nothing is changed) and `Unavailable("broker")`."""
    if plan.refusals:
        raise TopicsRefused("\n".join(plan.refusals))
    admin = AdminClient(admin_config(settings))
    try:
        created = [c for c in plan.changes if isinstance(c, CreateTopic)]
        if created:
            new = [
                NewTopic(c.topic, num_partitions=c.partitions, replication_factor=c.replication, config=c.config)
                for c in created
            ]
            _wait(admin.create_topics(new, operation_timeout=20).values())
        for change in plan.changes:
            if isinstance(change, AddPartitions):
                _wait(
                    admin.create_partitions([NewPartitions(change.topic, change.want)], operation_timeout=20).values()
                )
            elif isinstance(change, AlterConfig):
                _wait(admin.incremental_alter_configs([_resource(change)]).values())
        with Cluster(settings) as cluster:
            grown = {c.topic: c.want for c in plan.changes if isinstance(c, AddPartitions)}
            cluster.await_partitions({c.topic: c.partitions for c in created} | grown)
            for change in plan.changes:
                if isinstance(change, SetOffsets) and not cluster.commit(change.group, change.topic, change.offsets):
                    # Its members find a partition that was added, and begin at 0, by themselves (`rebalance`).
                    log.warning(
                        "the group is running; its offsets are left to it", group=change.group, topic=change.topic
                    )
    except KafkaException as error:
        raise unavailable(settings.kafka, error.args[0], "administer") from error


def _resource(change: AlterConfig) -> ConfigResource:
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, (_, value) in change.values.items()
    ]
    return ConfigResource(ResourceType.TOPIC, change.topic, incremental_configs=entries)


def _wait(futures: Iterable[Any]) -> None:
    for future in futures:
        future.result(timeout=60)
