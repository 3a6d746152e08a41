"""Fixtures that several folders of tests share.

`kafka` and `s3` are real servers, one each per session. KAFKA_BOOTSTRAP and S3_ENDPOINT (with AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY) point at a cluster that tests may empty. Where Java, Maven or the server is missing the test skips and says why;
with DOCFLEET_TEST_REQUIRE_KAFKA=1 it fails instead.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import NoReturn

import hypothesis
import pytest
import structlog
from pydantic import SecretStr

from shared.settings import Objects, Settings
from tests.support.kafka import KafkaServer
from tests.support.processes import Missing
from tests.support.proxy import LosesAnswers
from tests.support.s3 import S3Server

hypothesis.settings.register_profile("docfleet", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("docfleet")
"""How long an example takes says something of the machine and its load, nothing of the code."""

ASKED_FOR = ("containers", "cluster", "nodes", "endurance")
"""Marks of tests that take long, or whose tools take a quarter of an hour to build: they run where `-m` names the mark, and only there."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    expression = config.option.markexpr
    unasked = [mark for mark in ASKED_FOR if mark not in expression]
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in unasked)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """Logs are set up once per process: a test that runs a command in this one would silence the warnings that a later test looks for."""
    root = logging.getLogger()
    handlers, level, configuration = [*root.handlers], root.level, structlog.get_config()
    yield
    structlog.configure(**configuration)
    root.handlers[:] = handlers
    root.setLevel(level)


def without(missing: Missing) -> NoReturn:
    """Skip a test whose server is not on this machine, or fail it where that is asked for."""
    if os.environ.get("DOCFLEET_TEST_REQUIRE_KAFKA") == "1":
        pytest.fail(str(missing))
    pytest.skip(str(missing))


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """A broker: `kafka.bootstrap`. It keeps topics, records and groups over tests; `fresh_kafka` begins empty."""
    server = KafkaServer(external=os.environ.get("KAFKA_BOOTSTRAP"))
    try:
        server.start()
    except Missing as missing:
        without(missing)
    yield server
    server.stop()


@pytest.fixture
def fresh_kafka(kafka: KafkaServer) -> KafkaServer:
    """The same broker with the topics of topics.yaml as `docfleet topics apply` makes them, and nothing in them."""
    from shared.streams import topics

    kafka.reset()
    settings = Settings(kafka={"bootstrap_servers": kafka.bootstrap})  # type: ignore[arg-type]
    topics.apply(settings, topics.plan(settings))
    return kafka


@pytest.fixture(scope="session")
def _behind_proxy(kafka: KafkaServer) -> Iterator[tuple[KafkaServer, LosesAnswers]]:
    # Clients go where the broker's metadata sends them: to the proxy. (`kafka` is asked for so that this skips where that one does.)
    proxy = LosesAnswers(0.0)
    with proxy, KafkaServer({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"}) as server:
        proxy.target = server.port
        yield server, proxy


@pytest.fixture
def kafka_behind_proxy(_behind_proxy: tuple[KafkaServer, LosesAnswers]) -> Iterator[tuple[KafkaServer, LosesAnswers]]:
    """Another broker, all of whose clients come through a proxy that can lose its answers or cut it off; topics as those of `fresh_kafka`."""
    from shared.streams import topics

    server, proxy = _behind_proxy
    server.reset()
    settings = Settings(kafka={"bootstrap_servers": server.bootstrap})  # type: ignore[arg-type]
    topics.apply(settings, topics.plan(settings))
    yield server, proxy
    proxy.lose(0.0)
    proxy.mend()


@pytest.fixture(scope="session")
def s3() -> Iterator[Objects]:
    """Settings that reach an S3 server."""
    if endpoint := os.environ.get("S3_ENDPOINT"):
        yield Objects(
            kind="s3",
            endpoint=endpoint,
            access_key=SecretStr(os.environ["AWS_ACCESS_KEY_ID"]),
            secret_key=SecretStr(os.environ["AWS_SECRET_ACCESS_KEY"]),
        )
        return
    server = S3Server()
    try:
        server.start()
    except Missing as missing:
        without(missing)
    yield server.objects
    server.stop()
