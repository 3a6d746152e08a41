"""What the broker says about offsets, asked before the join starts and when partitions come.

Asked again while leaders or coordinators move: right after a topic or group was made, and at any failover, the first answer may be
an error that passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient

from services.assembler.join.events import CONTROL, OPEN, PARSED, RESULTS, SOURCES
from services.assembler.join.positions import Place
from shared.settings import GROUPS, Settings
from shared.streams.clients import admin_config, consumer_config, reader_config
from shared.streams.refusals import refused

PATIENCE_S = 30.0
"""How long an error that may pass is waited out."""


PASSING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._WAIT_COORD,
}
"""Errors of elections and young topics. (`KafkaError.retriable()` is set for transactions only.)"""


class CannotStart(Exception):
    """The topics or offsets are not as the join needs them; the message says what to do."""


def checked_partitions(settings: Settings) -> int:
    """The number of partitions of the join's topics.

    Raises `CannotStart` when they are not all the same, when the group has no committed offset in one of its sources, or when the
    broker does not answer.
    """
    consumer: Any = Consumer(consumer_config(settings, GROUPS["join"]))  # asks only, never joins the group
    try:
        known = consumer.list_topics(timeout=PATIENCE_S).topics
        names = (RESULTS, CONTROL, PARSED, OPEN)
        counts = {name: len(known[name].partitions) if name in known else 0 for name in names}
        for name in names:
            if counts[name] == 0:
                # Not there, or hidden from who may not see it: asked for by name, the broker says which.
                hidden = consumer.list_topics(name, timeout=PATIENCE_S).topics[name].error
                if hidden is not None and (refusal := refused(settings.kafka, hidden, "read", name)):
                    raise CannotStart(str(refusal))
        if len(set(counts.values())) != 1 or 0 in counts.values():
            raise CannotStart(
                f"the join's topics need the same number of partitions: {counts}; run `docfleet topics apply`"
            )
        _check_rights(settings, names)
        places = [TopicPartition(topic, number) for topic in SOURCES for number in range(counts[RESULTS])]
        found = patiently(lambda: consumer.committed(places, timeout=10))
    except KafkaException as error:
        why = refused(settings.kafka, error.args[0], "read", GROUPS["join"])
        raise CannotStart(str(why) if why else f"the broker does not answer: {error.args[0].str()}") from error
    finally:
        consumer.close()
    missing = [place for place in found if place.offset < 0]
    if missing:
        raise CannotStart(
            f"group {GROUPS['join']} has no committed offset for {missing[0].topic}[{missing[0].partition}] and {len(missing) - 1} more; "
            "run `docfleet topics apply` once before the services start"
        )
    return counts[RESULTS]


def _check_rights(settings: Settings, topics: Iterable[str]) -> None:
    """Faust's consumer is told nothing when it may not read, and would wait for events that never come.

    Raises `CannotStart`, `KafkaException`.
    """
    admin = AdminClient(admin_config(settings))
    asked = TopicCollection(list(topics))
    for name, future in admin.describe_topics(
        asked, include_authorized_operations=True, request_timeout=PATIENCE_S
    ).items():
        may = future.result(timeout=PATIENCE_S).authorized_operations
        if may is not None and AclOperation.READ not in may:
            refusal = refused(settings.kafka, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "read", name)
            raise CannotStart(str(refusal))


def committed(settings: Settings, places: set[Place]) -> dict[Place, int]:
    """The group's committed offset in each place; -1 where there is none. Raises `KafkaException`."""
    consumer: Any = Consumer(consumer_config(settings, GROUPS["join"]))
    try:
        wanted = [TopicPartition(*place) for place in places]
        found = patiently(lambda: consumer.committed(wanted, timeout=10))
        return {(place.topic, place.partition): place.offset for place in found}
    finally:
        consumer.close()


def offsets_since(settings: Settings, topic: str, seconds: float, partitions: set[int]) -> dict[int, int]:
    """For each partition the offset before the first record younger than `seconds`: recovery reads what comes after it.

    Raises `KafkaException`.
    """
    consumer: Any = Consumer(reader_config(settings, "join-start"))
    try:
        at = int((time.time() - seconds) * 1000)
        wanted = [TopicPartition(topic, number, at) for number in partitions]
        # Where nothing is younger the answer is "the end", which only the watermark tells; asked first, so that what is
        # written meanwhile is read.
        ends = {number: end_of(consumer, topic, number) for number in partitions}
        found = patiently(lambda: consumer.offsets_for_times(wanted, timeout=10))
        return {place.partition: (place.offset if place.offset >= 0 else ends[place.partition]) - 1 for place in found}
    finally:
        consumer.close()


def end_of(consumer: Any, topic: str, number: int) -> int:
    """The offset after the last record of a partition. Raises `KafkaException`."""
    place = TopicPartition(topic, number)

    def ask() -> list[TopicPartition]:
        return [TopicPartition(topic, number, consumer.get_watermark_offsets(place, timeout=10)[1])]

    return int(patiently(ask)[0].offset)


def patiently(ask: Callable[[], list[TopicPartition]]) -> list[TopicPartition]:
    """The answer, once no partition of it has an error that may pass. Raises `KafkaException`."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            found = ask()
        except KafkaException as trouble:
            error: Any = trouble.args[0]
        else:
            error = next((place.error for place in found if place.error is not None), None)
            if error is None:
                return found
        if time.monotonic() > until or error.code() not in PASSING:
            raise KafkaException(error)
        time.sleep(0.2)
