"""The order of acknowledgements, without a broker."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from services.assembler.join.outbox import Outbox
from shared.settings import Settings

pytestmark = pytest.mark.unit


class Recorder:
    """Stands in for librdkafka's producer: keeps the delivery callbacks."""

    def __init__(self) -> None:
        self.reports: list[Any] = []
        self.refuses = False

    def produce(self, topic: str, *, on_delivery: Any, **_: Any) -> None:
        if self.refuses:
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        self.reports.append(on_delivery)

    def acknowledge(self, number: int, offset: int = 7) -> None:
        self.reports[number](None, type("Message", (), {"offset": staticmethod(lambda: offset)}))


@pytest.fixture
def outbox() -> Outbox:
    made = Outbox(Settings(kafka={"bootstrap_servers": "127.0.0.1:1", "extra": {"log_level": "0"}}))  # type: ignore[arg-type]
    made.producer = Recorder()
    return made


def test_a_commit_waits_for_what_came_before_it_and_for_nothing_else(outbox: Outbox) -> None:
    offsets: list[int] = []
    assert outbox.settled(outbox.position())
    for _ in range(3):
        outbox.append("t", b"k", b"v", [], acknowledged=offsets.append)
    position = outbox.position()
    outbox.append("t", b"k", b"v", [])
    outbox.producer.acknowledge(2)
    outbox.producer.acknowledge(0)
    assert not outbox.settled(position), "the second is still out"
    outbox.producer.acknowledge(1)
    assert outbox.settled(position), "the fourth came later"
    assert outbox.pending() == 1
    assert offsets == [7, 7, 7]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_failure_is_told_once_and_never_settles(outbox: Outbox, at_once: bool) -> None:
    told: list[str] = []
    outbox._failed = told.append
    outbox.producer.refuses = at_once
    outbox.append("docs.parsed", b"k", b"v", [])
    outbox.append("docs.parsed", b"k", b"v", [])
    if not at_once:
        for report in outbox.producer.reports:
            report(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), None)
    assert len(told) == 1
    assert "docs.parsed" in told[0]
    assert outbox.failure == told[0]
    assert not outbox.settled(outbox.position())
