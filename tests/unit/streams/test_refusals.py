"""What a service says that the broker lets do less than it must."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError
from pydantic import SecretStr

from shared.contracts.errors import Unavailable
from shared.settings import Kafka
from shared.streams.refusals import NotAuthorized, refused, unavailable
from shared.streams.security import client_security, principal

pytestmark = pytest.mark.unit

SCRAM = Kafka(
    bootstrap_servers="k:9093",
    security_protocol="SASL_SSL",
    sasl_mechanism="SCRAM-SHA-512",
    sasl_username="docfleet-rec-worker",
    sasl_password=SecretStr("p-of-the-test"),
)
TLS = Kafka(security_protocol="SSL", ssl_certificate_location="/c.pem", ssl_key_location="/k.pem")


def test_a_refusal_names_who_what_and_what_to_do() -> None:
    error = refused(SCRAM, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "read", "docs.pages")
    assert isinstance(error, NotAuthorized)
    assert error.what == "broker"
    for part in ("User:docfleet-rec-worker", "read topic docs.pages", "docfleet topics acls"):
        assert part in str(error)
    group = refused(TLS, KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED), "read", "rec-worker")
    assert "group rec-worker" in str(group)
    assert "/c.pem" in str(group)


def test_a_broker_that_does_not_know_us_is_told_apart_and_no_secret_is_told() -> None:
    error = refused(SCRAM, KafkaError(KafkaError._AUTHENTICATION), "reach")
    assert "k:9093" in str(error)
    assert "sasl_" in str(error)
    assert "p-of-the-test" not in str(error)


def test_other_trouble_is_what_it_was() -> None:
    away = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    assert refused(SCRAM, away, "read") is None
    assert type(unavailable(SCRAM, away, "read")) is Unavailable
    assert isinstance(unavailable(SCRAM, KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED), "read"), NotAuthorized)


def test_each_way_to_prove_who_one_is() -> None:
    oauth = Kafka(
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_token_endpoint_url="https://tokens/token",
        sasl_oauthbearer_client_id="docfleet-join",
        sasl_oauthbearer_client_secret=SecretStr("s"),
        ssl_ca_location="/ca.pem",
    )
    assert client_security(Kafka()) == {"security.protocol": "PLAINTEXT"}
    assert client_security(SCRAM)["sasl.password"] == "p-of-the-test"
    assert client_security(oauth)["sasl.oauthbearer.method"] == "oidc"
    assert client_security(oauth)["https.ca.location"] == "/ca.pem"
    assert client_security(TLS)["ssl.key.location"] == "/k.pem"
    assert "User:docfleet-join" in principal(oauth)
    assert principal(Kafka()) == "User:ANONYMOUS"
