"""Each way to prove who one is, with both kinds of client, and what they are told that may not; the store with TLS."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path

import aiokafka
import certifi
import pytest
from aiokafka.errors import KafkaConnectionError
from confluent_kafka.admin import AdminClient
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth
from pydantic import SecretStr

from services.assembler.join.credentials import credentials
from shared.contracts.errors import DocfleetError, Unavailable
from shared.objects.s3 import S3Store
from shared.settings import Settings
from shared.streams import topics
from shared.streams.clients import admin_config
from tests.support.security.servers import SecureServers

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]
WAYS = ["scram", "oauth", "mutual"]


@pytest.fixture
def settings(servers: SecureServers, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Settings:
    """Those of `tools`, in one of the three ways."""
    for name, value in getattr(servers, request.param)("tools").items():
        monkeypatch.setenv(name, value)
    return Settings()


@pytest.mark.parametrize("settings", WAYS, indirect=True)
async def test_both_kinds_of_client_are_let_in(settings: Settings) -> None:
    admin = AdminClient(admin_config(settings))
    assert len((await asyncio.to_thread(admin.list_topics, timeout=60)).brokers) == 1
    ours = credentials_to_aiokafka_auth(credentials(settings.kafka))
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=settings.kafka.bootstrap_servers, **ours)
    await consumer.start()
    assert isinstance(await consumer.topics(), set)
    await consumer.stop()


@pytest.mark.parametrize("settings", WAYS, indirect=True)
async def test_neither_talks_to_a_broker_whose_certificate_it_does_not_trust(settings: Settings) -> None:
    settings.kafka.ssl_ca_location = certifi.where()
    with pytest.raises(Unavailable):
        await asyncio.to_thread(topics.plan, settings)
    ours = credentials_to_aiokafka_auth(credentials(settings.kafka))
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=settings.kafka.bootstrap_servers, **ours)
    with pytest.raises(KafkaConnectionError):
        await consumer.start()
    await consumer.stop()


async def test_the_store_with_tls_and_its_own_authority(servers: SecureServers, tmp_path: Path) -> None:
    store = S3Store(servers.s3.objects)
    try:
        await store.ensure_bucket("docfleet")
        assert await store.put_once("docfleet", "one", b"first") == b"first"
        assert await store.put_once("docfleet", "one", b"second") == b"first"
        await store.put("docfleet", "two", b"x" * 2_000_000)
        await store.download("docfleet", "two", tmp_path / "two")
        assert (tmp_path / "two").stat().st_size == 2_000_000
        assert [stat.key for stat in await store.list("docfleet")] == ["one", "two"]
    finally:
        await store.close()


async def test_a_wrong_key_of_the_store_is_not_repeated(servers: SecureServers) -> None:
    wrong = SecretStr("planted-wrong-key")
    store = S3Store(servers.s3.objects.model_copy(update={"secret_key": wrong, "access_key": SecretStr("planted-id")}))
    try:
        for call in (store.get("docfleet", "one"), store.put_once("docfleet", "one", b"first"), store.list("docfleet")):
            with pytest.raises((Unavailable, DocfleetError)) as caught:
                await call
            assert "planted" not in "".join(traceback.format_exception(caught.value))
    finally:
        await store.close()


@pytest.mark.parametrize("change", [{"ssl_ca_location": None}, {"secure": False, "ssl_ca_location": None}])
async def test_a_store_that_is_not_trusted_is_away(servers: SecureServers, change: dict[str, object]) -> None:
    store = S3Store(servers.s3.objects.model_copy(update=change))
    try:
        with pytest.raises(Unavailable):
            await store.get("docfleet", "one")
        with pytest.raises(Unavailable):
            await store.put_once("docfleet", "one", b"first")
    finally:
        await store.close()
