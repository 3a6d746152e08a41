"""Apache Kafka that asks who is there: TLS everywhere, SCRAM and OAUTHBEARER on one listener, client certificates on the other, and
Kafka's own authorizer, which lets nobody do what no rule allows."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.support.kafka import KafkaServer
from tests.support.processes import free_ports, until_up
from tests.support.security.certificates import Certificate
from tests.support.security.tokens import AUDIENCE, ISSUER

ADMIN = "admin"
_MODULES = "org.apache.kafka.common.security"


class SecureKafka(KafkaServer):
    """`bootstrap` asks for SASL_SSL, `mutual` for a client certificate. `users` maps SCRAM names to passwords; `admin` among them may
    do everything."""

    def __init__(
        self, certificate: Certificate, authority: Path, users: dict[str, str], jwks: Path, broker_name: str
    ) -> None:
        super().__init__()
        self._certificate = certificate
        self._authority = authority
        self._users = users
        self._jwks = jwks
        self._broker_name = broker_name
        (self._mutual_port,) = free_ports(1)
        self.mutual = f"127.0.0.1:{self._mutual_port}"

    def _java_options(self) -> list[str]:
        return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._jwks.as_uri()}"]

    def _formatting(self) -> list[str]:
        users = [f"SCRAM-SHA-512=[name={name},password={word}]" for name, word in self._users.items()]
        return [*super()._formatting(), *(part for user in users for part in ("--add-scram", user))]

    def _properties(self, folder: Path) -> dict[str, str]:
        listeners = f"SASL_SSL://127.0.0.1:{self.port},SSL://{self.mutual},CONTROLLER://127.0.0.1:{self._controller}"
        sasl = "listener.name.sasl_ssl"
        bearer = f"{sasl}.oauthbearer"
        return {
            **super()._properties(folder),
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:SSL",
            "inter.broker.listener.name": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._certificate.both),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority),
            "ssl.client.auth": "required",
            f"{sasl}.ssl.client.auth": "none",
            "ssl.principal.mapping.rules": "RULE:^CN=(.*?)$/$1/,DEFAULT",
            f"{sasl}.sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
            f"{sasl}.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
            f"{bearer}.sasl.jaas.config": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
            f"{bearer}.sasl.server.callback.handler.class": f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler",
            f"{bearer}.sasl.oauthbearer.jwks.endpoint.url": self._jwks.as_uri(),
            f"{bearer}.sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{bearer}.sasl.oauthbearer.expected.issuer": ISSUER,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{self._broker_name};User:{ADMIN}",
        }

    def client(self, name: str) -> dict[str, str]:
        """librdkafka's options for a SCRAM user."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": name,
            "sasl.password": self._users[name],
            "ssl.ca.location": str(self._authority),
            "log_level": "0",
        }

    def _wait(self, timeout_s: float = 90.0) -> None:
        admin = AdminClient(self.client(ADMIN))
        assert self._folder is not None
        log = self._folder / "server.log"
        until_up(
            "Apache Kafka",
            self._process,
            log,
            lambda: admin.list_topics(timeout=1),
            KafkaException,
            self.stop,
            timeout_s,
        )

    def admin(self) -> AdminClient:
        return AdminClient(self.client(ADMIN))
