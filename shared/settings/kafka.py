"""The broker."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from shared.settings.group import Group


class Kafka(Group):
    """The broker."""

    bootstrap_servers: str = Field("127.0.0.1:9092", description="Kafka brokers, `host:port` separated by commas.")
    embedded: bool = Field(
        False,
        description="The broker is librdkafka's in-process one (`docfleet parse` sets this): consumer protocol, topics appear by themselves.",
    )
    group_protocol: Literal["classic", "consumer"] = Field(
        "classic",
        description="`classic` is cooperative-sticky, a member for each lane; `consumer` is KIP-848 (brokers 4.0 and newer).",
    )
    session_timeout_ms: int = Field(
        10_000, ge=1_000, description="A worker silent for longer loses its partitions (classic protocol)."
    )
    group_instance_id: str | None = Field(None, description="Static membership: a name that survives restarts.")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT",
        description="Kafka security protocol. With TLS the broker's name is always compared with its certificate.",
    )
    sasl_mechanism: Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER"] | None = Field(
        None, description="How a service proves who it is, with `SASL_SSL` or `SASL_PLAINTEXT`."
    )
    sasl_username: str | None = Field(None, description="SASL user (SCRAM, PLAIN).")
    sasl_password: SecretStr | None = Field(None, description="SASL password (SCRAM, PLAIN).")
    sasl_oauthbearer_token_endpoint_url: str | None = Field(
        None,
        description="Where a token is asked for (OAUTHBEARER; OpenID Connect, client credentials), `https://…`.",
    )
    sasl_oauthbearer_client_id: str | None = Field(None, description="Client id at the token endpoint.")
    sasl_oauthbearer_client_secret: SecretStr | None = Field(None, description="Client secret at the token endpoint.")
    sasl_oauthbearer_scope: str | None = Field(None, description="Scope of the token; none asks for none.")
    ssl_ca_location: str | None = Field(
        None, description="CA bundle (PEM), path, for brokers and the token endpoint; none is the system's."
    )
    ssl_certificate_location: str | None = Field(
        None, description="Certificate of this service (PEM), path, where the broker asks for one (mutual TLS)."
    )
    ssl_key_location: str | None = Field(None, description="Key of that certificate (PEM), path.")
    ssl_key_password: SecretStr | None = Field(None, description="Password of that key.")
    extra: dict[str, str] = Field(
        {},
        repr=False,
        description="Any other librdkafka option, applied last. The join's consumer is not of librdkafka: it does not see them.",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.security_protocol.startswith("SASL"):
            needed = {
                None: ["sasl_mechanism"],
                "OAUTHBEARER": [
                    "sasl_oauthbearer_token_endpoint_url",
                    "sasl_oauthbearer_client_id",
                    "sasl_oauthbearer_client_secret",
                ],
            }.get(self.sasl_mechanism, ["sasl_username", "sasl_password"])
            if missing := [name for name in needed if not getattr(self, name)]:
                raise ValueError(f"security_protocol {self.security_protocol} needs {', '.join(missing)}")
        elif self.sasl_mechanism is not None:
            raise ValueError(f"sasl_mechanism needs a security_protocol with SASL, not {self.security_protocol}")
        if (self.ssl_certificate_location is None) != (self.ssl_key_location is None):
            raise ValueError("ssl_certificate_location and ssl_key_location belong together")
        return self
