"""Where the stages are in their topics, asked of the broker: for the proof that a task is lost (`proofs`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition

from services.assembler.join.offsets import end_of, patiently
from services.assembler.join.proofs import Offsets, Partition
from shared.settings import Settings
from shared.streams.catalog import load
from shared.streams.clients import reader_config

log = structlog.get_logger()


class Stages:
    """For one thread. Asks with the stages' own group names and never joins a group."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._members: dict[str, Any] = {}

    def look(self, topics: Iterable[str]) -> dict[str, Offsets]:
        """Ends and commits of topics and their bulk twins. A topic for which the broker has no answer now is left out."""
        found = {}
        for topic in topics:
            try:
                found[topic] = self._offsets(topic)
            except KafkaException as error:
                log.info("no offsets of a stage", topic=topic, why=error.args[0].str())
        return found

    def _offsets(self, topic: str) -> Offsets:
        catalog = load()
        member = self._member(catalog[topic].groups[0])
        names = [name for name in (topic, catalog.bulk_of(topic)) if name is not None]
        # Commits first: what is committed then is behind the ends that are asked for next, whatever happens in between.
        places = [TopicPartition(name, number) for name in names for number in _partitions(member, name)]
        committed = patiently(lambda: member.committed(places, timeout=10)) if places else []
        ends: dict[Partition, int] = {}
        for place in places:
            ends[place.topic, place.partition] = end_of(member, place.topic, place.partition)
        return Offsets(ends, {(p.topic, p.partition): p.offset for p in committed if p.offset >= 0})

    def _member(self, group: str) -> Any:
        if group not in self._members:
            self._members[group] = Consumer(reader_config(self._settings, "join-proof") | {"group.id": group})
        return self._members[group]

    def close(self) -> None:
        """Let the connections go."""
        for member in self._members.values():
            member.close()
        self._members.clear()


def _partitions(member: Any, topic: str) -> list[int]:
    found = member.list_topics(topic, timeout=10).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return sorted(found.partitions)
