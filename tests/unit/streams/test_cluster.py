"""Asking a broker whose coordinator is on its way."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from shared.streams import cluster
from shared.streams.runner import GRACE_S

pytestmark = pytest.mark.unit


class Asked:
    """Fails with each of these codes in turn, then answers."""

    def __init__(self, *codes: int) -> None:
        self.left = list(codes)

    def __call__(self) -> str:
        if self.left:
            raise KafkaException(KafkaError(self.left.pop(0)))
        return "answer"


def test_a_coordinator_that_is_on_its_way_is_asked_again() -> None:
    codes = KafkaError._WAIT_COORD, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR
    assert cluster.patiently(Asked(*codes)) == "answer"


def test_what_will_not_pass_is_raised_at_once() -> None:
    asked = Asked(KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        cluster.patiently(asked)
    assert len(asked.left) == 1


def test_patience_ends(monkeypatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_S", 0.3)
    with pytest.raises(KafkaException):
        cluster.patiently(Asked(*[KafkaError._WAIT_COORD] * 1_000))


def test_patience_outlasts_a_new_cluster_and_not_the_watch_over_the_consumer() -> None:
    # A new cluster on a busy machine took longer than 15 s to have a coordinator: `docfleet topics apply` failed. And a worker's
    # consumer asks while a partition comes; its silence is taken for a hang after the drain budget, the grace and a minute.
    assert 45 <= cluster.PATIENCE_S <= GRACE_S + 60
