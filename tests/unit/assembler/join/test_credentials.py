"""What Faust is told about who it is, and the tokens it gets."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from faust.auth import OAuthCredentials, SASLCredentials
from pydantic import SecretStr

from services.assembler.join import credentials as module
from services.assembler.join.credentials import Tokens, credentials
from shared.settings import Kafka

pytestmark = pytest.mark.unit


def oauth() -> Kafka:
    return Kafka(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_token_endpoint_url="http://tokens/token",
        sasl_oauthbearer_client_id="docfleet-join",
        sasl_oauthbearer_client_secret=SecretStr("s"),
        sasl_oauthbearer_scope="kafka",
    )


class Endpoint:
    """Answers in order, the last one again and again."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def transport(self) -> httpx.MockTransport:
        def answer(request: httpx.Request) -> httpx.Response:
            self.asked.append(request)
            found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(found, Exception):
                raise found
            return found

        return httpx.MockTransport(answer)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0.0)


def token(name: str, life_s: float | None = 3600) -> httpx.Response:
    return httpx.Response(200, text=json.dumps({"access_token": name, "expires_in": life_s}))


def test_each_mechanism_is_what_faust_calls_it() -> None:
    assert credentials(Kafka()) is None
    scram = credentials(
        Kafka(
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_username="u",
            sasl_password=SecretStr("p"),
        )
    )
    assert isinstance(scram, SASLCredentials)
    assert (scram.protocol.value, scram.mechanism.value, scram.password) == ("SASL_PLAINTEXT", "SCRAM-SHA-512", "p")
    assert isinstance(credentials(oauth()), OAuthCredentials)


async def test_a_token_is_asked_for_once_and_again_before_it_is_too_old() -> None:
    endpoint = Endpoint(token("first"), token("second", None), token("third", None))
    tokens = Tokens(oauth(), endpoint.transport())
    assert await asyncio.gather(*(tokens.token() for _ in range(5))) == ["first"] * 5
    (request,) = endpoint.asked
    assert request.content == b"grant_type=client_credentials&scope=kafka"
    assert request.headers["authorization"].startswith("Basic ")
    tokens._until = 0.0
    assert await tokens.token() == "second"
    assert await tokens.token() == "third", "a token without a life is used once"


async def test_an_endpoint_that_fails_is_asked_again_and_one_that_refuses_is_not() -> None:
    endpoint = Endpoint(httpx.ConnectError("away"), httpx.Response(503), token("late"))
    assert await Tokens(oauth(), endpoint.transport()).token() == "late"
    refusing = Endpoint(httpx.Response(401))
    with pytest.raises(httpx.HTTPStatusError):
        await Tokens(oauth(), refusing.transport()).token()
    assert len(refusing.asked) == 1
    with pytest.raises(ValueError, match="access_token"):
        await Tokens(oauth(), Endpoint(httpx.Response(200, text="{}")).transport()).token()
