"""Configurations of Kafka clients, made into clients: librdkafka checks them at that."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer

from shared.settings import Settings
from shared.streams.clients import consumer_config, reader_config

pytestmark = pytest.mark.unit
EXTRA = {
    "a short poll interval": {"max.poll.interval.ms": "10000"},
    "a long poll interval": {"max.poll.interval.ms": "900000"},
    "a small fetch": {"fetch.message.max.bytes": "1000"},
}


def settings(extra: dict[str, str], **kafka: Any) -> Settings:
    return Settings(kafka={"bootstrap_servers": "127.0.0.1:1", "extra": {"log_level": "0", **extra}, **kafka})


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("extra", EXTRA)
def test_what_a_member_takes_of_extra_options_a_reader_takes_too(extra: str, protocol: str) -> None:
    # A reader that could not be made was tried again for ever, and a worker without docs.control admits nothing.
    chosen = settings(EXTRA[extra], group_protocol=protocol)
    for config in (consumer_config(chosen, "rec-worker"), reader_config(chosen, "control")):
        Consumer(config).close()
