"""Clients that do not find the broker again while a new one does are replaced; in an outage nobody is."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException

from shared.settings import Settings
from shared.streams import outputs, poller
from shared.streams.stranded import STRANDED_S, Stranded

pytestmark = pytest.mark.unit


class World:
    """A clock, and whether a new client is answered."""

    now = 100.0
    up = True

    def stranded(self) -> Stranded:
        return Stranded(lambda: self.up, clock=lambda: self.now)


def test_a_client_is_stranded_when_others_were_answered_all_the_time() -> None:
    world, client = World(), object()
    stranded = world.stranded()
    assert not stranded.silent(client)
    world.now += STRANDED_S / 2
    assert not stranded.silent(client)
    world.now += STRANDED_S / 2
    assert stranded.silent(client)


def test_in_an_outage_nobody_is_and_one_that_was_answered_begins_anew() -> None:
    world, client = World(), object()
    stranded = world.stranded()
    world.up = False
    for _ in range(10):
        world.now += STRANDED_S
        assert not stranded.silent(client)
    world.up = True
    assert not stranded.silent(client), "the outage itself does not count"
    stranded.answered(client)
    world.now += STRANDED_S
    assert not stranded.silent(client)


class Nobody:
    """A listener."""

    told: list[bool]

    def __init__(self) -> None:
        self.told = []

    def broker(self, ok: bool, why: str) -> None:
        self.told.append(ok)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class Member:
    """A member as the poller sees it; the first one of each topic is stranded."""

    made: ClassVar[list[Member]] = []

    def __init__(self, settings: Settings, group: str, topics: list[str], *_: Any) -> None:
        self.subscribed = topics
        self.lost = all(one.subscribed != topics for one in self.made) and topics == ["b"]
        self.closed = False
        self.made.append(self)

    def topics(self, timeout_s: float) -> set[str]:
        if self.lost:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return {"a", "b"}

    def close(self) -> None:
        self.closed = True


def test_the_member_that_is_stranded_is_replaced_and_only_then_the_broker_is_back(monkeypatch) -> None:
    world, listener = World(), Nobody()
    monkeypatch.setattr(poller, "Member", Member)
    monkeypatch.setattr(Member, "made", [])
    monkeypatch.setattr(poller.time, "monotonic", lambda: world.now)
    one = poller.Poller(Settings(), "group", ["a", "b"], listener)
    one._stranded = world.stranded()
    one._members = [one._member(["a"]), one._member(["b"])]
    one._down_since = world.now
    for _ in range(4):
        world.now += STRANDED_S / 2
        one._probe()
    assert [(member.subscribed, member.closed) for member in Member.made] == [
        (["a"], False),
        (["b"], True),
        (["b"], False),
    ]
    assert one._members == [Member.made[0], Member.made[2]]
    assert listener.told == [True], "not while one of them does not find it"


class Producer:
    """The first one gets no acknowledgement, the next ones do."""

    made: ClassVar[list[Producer]] = []

    def __init__(self, config: dict[str, Any]) -> None:
        self.made.append(self)
        self._waiting: list[Any] = []
        self._error = KafkaError(KafkaError._MSG_TIMED_OUT) if len(self.made) == 1 else None

    def produce(self, topic: str, *, on_delivery: Any, **_: Any) -> None:
        self._waiting.append(on_delivery)

    def poll(self, timeout_s: float) -> None:
        while self._waiting:
            self._waiting.pop()(self._error, None)

    def flush(self, timeout_s: float) -> int:
        return 0

    def __len__(self) -> int:
        return len(self._waiting)


@pytest.mark.parametrize(("up", "producers"), [(True, 2), (False, 1)])
async def test_a_producer_without_acknowledgements_is_replaced_where_the_broker_is_there(
    monkeypatch, up, producers
) -> None:
    monkeypatch.setattr(outputs, "Producer", Producer)
    monkeypatch.setattr(Producer, "made", [])
    monkeypatch.setattr(outputs, "reachable", lambda settings: up)
    one = outputs.Outputs(Settings(), "test")
    try:
        answers = await asyncio.gather(*(one.deliver_raw("t", None, b"", []) for _ in range(3)), return_exceptions=True)
        assert [type(answer).__name__ for answer in answers] == ["Unavailable"] * 3
        assert len(Producer.made) == producers
        if up:
            await one.deliver_raw("t", None, b"", [])
    finally:
        one.close(0)
