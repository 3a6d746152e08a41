"""How Faust's consumer proves to the broker who it is: the settings that librdkafka gets in `shared.streams.security`, for aiokafka."""

from __future__ import annotations

import asyncio
import ssl
import time

import httpx
from aiokafka.abc import AbstractTokenProvider
from faust.auth import Credentials, OAuthCredentials, SASLCredentials, SSLCredentials

from shared.settings import Kafka

TOKEN_TIMEOUT_S = 10.0
"""For one request to the token endpoint."""
ATTEMPTS = 3
PAUSE_S = 0.5
RENEWED_AT = 0.8
"""Share of its life after which a token is not used for a new connection any more; librdkafka renews at the same."""


def credentials(kafka: Kafka) -> Credentials | None:
    """What Faust is to be given; none on a plain connection. Raises `OSError` (`ssl.SSLError`) where a certificate cannot be read."""
    if kafka.security_protocol == "PLAINTEXT":
        return None
    context = tls(kafka) if kafka.security_protocol.endswith("SSL") else None
    if kafka.sasl_mechanism is None:
        return SSLCredentials(context)
    if kafka.sasl_mechanism == "OAUTHBEARER":
        return OAuthCredentials(oauth_cb=Tokens(kafka), ssl_context=context)
    return SASLCredentials(
        username=kafka.sasl_username,
        password=kafka.sasl_password.get_secret_value() if kafka.sasl_password else None,
        mechanism=kafka.sasl_mechanism,
        ssl_context=context,
    )


def tls(kafka: Kafka) -> ssl.SSLContext:
    """Server certificates are checked, names too; the own certificate is shown where there is one."""
    context = ssl.create_default_context(cafile=kafka.ssl_ca_location)
    if kafka.ssl_certificate_location is not None:
        password = kafka.ssl_key_password
        context.load_cert_chain(
            kafka.ssl_certificate_location,
            kafka.ssl_key_location,
            # With none, OpenSSL would ask on the terminal for the password of an encrypted key.
            password.get_secret_value() if password else "",
        )
    return context


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """Tokens of an OpenID Connect endpoint (client credentials, RFC 6749 section 4.4), kept until most of their life is over.

    aiokafka asks for one at every connection. It does not prove itself again on a connection that lives longer than its token: a broker
    with `connections.max.reauth.ms` closes that connection, and the next one has a new token.
    """

    def __init__(self, kafka: Kafka, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._kafka = kafka
        self._transport = transport
        self._lock = asyncio.Lock()
        self._token = ""
        self._until = 0.0

    async def token(self) -> str:
        """A token that is valid for some time yet. Raises `httpx.HTTPError`, `ValueError` where the endpoint gives none."""
        async with self._lock:
            if time.monotonic() >= self._until:
                asked = time.monotonic()
                answer = await self._ask()
                self._token = str(answer["access_token"])
                # RFC 6749 lets the endpoint leave it out; then the next connection asks again.
                self._until = asked + RENEWED_AT * float(answer.get("expires_in") or 0)
            return self._token

    async def _ask(self) -> dict[str, str | float]:
        kafka = self._kafka
        form = {"grant_type": "client_credentials"}
        if kafka.sasl_oauthbearer_scope:
            form["scope"] = kafka.sasl_oauthbearer_scope
        secret = kafka.sasl_oauthbearer_client_secret
        basic = httpx.BasicAuth(kafka.sasl_oauthbearer_client_id or "", secret.get_secret_value() if secret else "")
        verify = ssl.create_default_context(cafile=kafka.ssl_ca_location)
        async with httpx.AsyncClient(
            verify=verify, timeout=TOKEN_TIMEOUT_S, transport=self._transport, trust_env=False
        ) as client:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    answer = await client.post(kafka.sasl_oauthbearer_token_endpoint_url or "", data=form, auth=basic)
                except httpx.TransportError:
                    if attempt == ATTEMPTS:
                        raise
                else:
                    if answer.status_code < 500 or attempt == ATTEMPTS:
                        break
                await asyncio.sleep(PAUSE_S * attempt)
        answer.raise_for_status()
        found = answer.json()
        if not isinstance(found, dict) or not found.get("access_token"):
            raise ValueError("the token endpoint's answer has no access_token")
        return found
