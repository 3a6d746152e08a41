"""Where a feed begins: a partition whose leader is not known yet is asked again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from docfleet import feed
from shared.contracts.errors import Unavailable

pytestmark = pytest.mark.unit


class Broker:
    def __init__(self, refusals: int) -> None:
        self.refusals = refusals

    def list_topics(self, topic: str, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions=[0, 1])})

    def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
        if self.refusals:
            self.refusals -= 1
            raise KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
        return 0, 7 + place.partition


def places(broker: Broker) -> list[int]:
    reader = feed.Feed.__new__(feed.Feed)
    reader._consumer = broker  # type: ignore[assignment]
    return [place.offset for place in reader._places("docs.parsed", "now")]


def test_a_young_topic_is_asked_again() -> None:
    assert places(Broker(3)) == [7, 8]


def test_a_broker_that_never_knows_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "CONNECT_S", 0.1)
    with pytest.raises(Unavailable, match=r"bootstrap_servers"):
        places(Broker(10**6))
