"""Read what the fleet publishes, without a consumer group: nobody's offsets move, and any number may look."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal, cast

import structlog
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, Unavailable
from shared.contracts.records import DocumentParsed, DocumentProgress, Result, decode_result
from shared.settings import Settings
from shared.streams.clients import reader_config
from shared.streams.refusals import refused, unavailable

log = structlog.get_logger()

Published = DocumentParsed | DocumentProgress | Result
CONNECT_S = 10.0
"""Seconds to find the topics before the broker counts as away."""


class Feed:
    """Records of `docs.parsed`, `docs.progress` and, for whoever wants to see stages at work, `docs.results`."""

    def __init__(self, settings: Settings, topics: Sequence[str], start: Literal["now", "beginning"]) -> None:
        """Take position on every partition; what is published after this returns will be read.

        Raises `Unavailable("broker", …)` when the broker or a topic is not there.
        """
        config = {**reader_config(settings, "client"), "enable.partition.eof": False}
        if settings.kafka.embedded:
            # The in-process broker holds back what comes during a wait, and makes a topic when somebody asks for it.
            config |= {"fetch.wait.max.ms": 20, "allow.auto.create.topics": True}
        self._kafka = settings.kafka
        self._consumer = Consumer(config)
        try:
            self._consumer.assign([place for topic in topics for place in self._places(topic, start)])
        except BaseException:
            self._consumer.close()
            raise

    def _places(self, topic: str, start: Literal["now", "beginning"]) -> list[TopicPartition]:
        deadline = time.monotonic() + CONNECT_S
        while True:
            try:
                found = self._consumer.list_topics(topic, timeout=2.0).topics[topic]
                if found.error is None and found.partitions:
                    places = [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in found.partitions]
                    if start == "now":
                        for place in places:
                            place.offset = self._consumer.get_watermark_offsets(place, timeout=2.0)[1]
                    return places
                if found.error is not None and (refusal := refused(self._kafka, found.error, "read", topic)):
                    raise refusal
                why = f"topic {topic} is not there; run `docfleet topics apply`"
            except KafkaException as error:
                # Also a topic that was made a moment ago, whose leader is not known to every broker yet.
                why = f"no answer from the broker: {error.args[0].str()}; check kafka.bootstrap_servers"
            if time.monotonic() > deadline:
                raise Unavailable("broker", why)
            time.sleep(0.05)

    def read(self, timeout_s: float) -> list[Published]:
        """What came, after waiting up to `timeout_s` seconds for the first of it. Tombstones and foreign records are passed over.

        Raises `NotAuthorized` where the broker lets nobody like us read.
        """
        records: list[Published] = []
        messages = self._consumer.consume(500, timeout=0) or self._consumer.consume(1, timeout=timeout_s)
        for message in messages:
            if message.error() is not None:
                if message.error().code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    raise unavailable(self._kafka, message.error(), "read", message.topic() or "")
                log.warning("feed", topic=message.topic(), error=message.error().str())
                continue
            value = message.value()
            if value is None:
                continue
            try:
                records.append(_decode(cast(str, message.topic()), value))
            except DocfleetError as error:
                log.warning("feed: foreign record", topic=message.topic(), offset=message.offset(), error=error.message)
        return records

    def close(self) -> None:
        """Let the connection go."""
        self._consumer.close()


def _decode(topic: str, value: bytes) -> Published:
    if topic == "docs.parsed":
        return decode(value, DocumentParsed)
    if topic == "docs.progress":
        return decode(value, DocumentProgress)
    return decode_result(value)
