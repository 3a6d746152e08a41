"""Whether a broker answers, asked before anything is handed to it: a producer alone keeps records for minutes and says nothing."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaException, Producer

from shared.contracts.errors import Unavailable
from shared.settings import Kafka
from shared.streams.refusals import refused

ANSWER_S = 10.0
"""Seconds a broker has for its first answer before it counts as away."""


def reach(client: Producer | Consumer, kafka: Kafka) -> None:
    """Return once the broker has answered. Raises `Unavailable("broker")` with where it was looked for."""
    try:
        client.list_topics(timeout=ANSWER_S)
    except KafkaException as error:
        found = error.args[0]
        why = f"no answer from the broker at {kafka.bootstrap_servers}: {found.str()}; check kafka.bootstrap_servers"
        raise refused(kafka, found, "read", "") or Unavailable("broker", why) from error
