"""How a client proves to the broker who it is, in librdkafka's names. The join's other consumer, Faust's, is told the same in its own
(`services.assembler.join.credentials`)."""

from __future__ import annotations

from shared.settings import Kafka


def client_security(kafka: Kafka) -> dict[str, str]:
    """Options of one client. Holds secrets: neither logged nor shown."""
    plain = {
        "security.protocol": kafka.security_protocol,
        "ssl.ca.location": kafka.ssl_ca_location,
        "ssl.certificate.location": kafka.ssl_certificate_location,
        "ssl.key.location": kafka.ssl_key_location,
        "ssl.key.password": kafka.ssl_key_password.get_secret_value() if kafka.ssl_key_password else None,
    }
    if kafka.sasl_mechanism == "OAUTHBEARER":
        secret = kafka.sasl_oauthbearer_client_secret
        plain |= {
            "sasl.mechanism": kafka.sasl_mechanism,
            # librdkafka fetches and renews the token on a thread of its own.
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": kafka.sasl_oauthbearer_token_endpoint_url,
            "sasl.oauthbearer.client.id": kafka.sasl_oauthbearer_client_id,
            "sasl.oauthbearer.client.secret": secret.get_secret_value() if secret else None,
            "sasl.oauthbearer.scope": kafka.sasl_oauthbearer_scope,
            "https.ca.location": kafka.ssl_ca_location,
        }
    elif kafka.sasl_mechanism is not None:
        plain |= {
            "sasl.mechanism": kafka.sasl_mechanism,
            "sasl.username": kafka.sasl_username,
            "sasl.password": kafka.sasl_password.get_secret_value() if kafka.sasl_password else None,
        }
    return {name: value for name, value in plain.items() if value is not None}


def principal(kafka: Kafka) -> str:
    """Who the broker takes this client for, as far as the client can know: the broker may map names, certificates and tokens differently."""
    if kafka.sasl_mechanism == "OAUTHBEARER":
        return f"User:{kafka.sasl_oauthbearer_client_id} (client id)"
    if kafka.sasl_mechanism is not None:
        return f"User:{kafka.sasl_username}"
    if kafka.ssl_certificate_location is not None:
        return f"the subject of {kafka.ssl_certificate_location}"
    return "User:ANONYMOUS"
