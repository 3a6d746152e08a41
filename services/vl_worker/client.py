"""One OpenAI-compatible chat completion per region, at one of several endpoints.

The least busy endpoint is asked; each has at most `vl.max_in_flight` requests. A fault that another attempt may cure (connection,
429, 500, 502, 503, 504) is tried again with jitter, honouring Retry-After, within `vl.timeout_s` in all; anything else is final.
Cancelling the call closes its connection, so the server frees the slot.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
from typing import Any

import httpx
import msgspec
import stamina

from services.vl_worker.profiles.profile import Profile
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.settings import Vl

RETRYABLE = frozenset({429, 500, 502, 503, 504})


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a model said. `finish_reason` is the server's; tokens are 0 where it does not count them."""

    text: str
    finish_reason: str | None
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Refused(Exception):
    """A status worth another attempt; `retry_after` in seconds, if the server said one."""

    def __init__(self, status: int, retry_after: float | None) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.retry_after = retry_after


def _retry(error: Exception) -> bool | datetime.timedelta:
    if isinstance(error, _Refused):
        return datetime.timedelta(seconds=error.retry_after) if error.retry_after is not None else True
    return isinstance(error, httpx.TransportError)


class _Endpoint:
    def __init__(self, url: str, settings: Vl) -> None:
        headers = {"Authorization": f"Bearer {settings.api_key.get_secret_value()}"} if settings.api_key else {}
        self.url = url.rstrip("/")
        self.in_flight = 0
        self.slots = asyncio.Semaphore(settings.max_in_flight)
        self.http = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(settings.timeout_s, connect=5.0),
            limits=httpx.Limits(
                max_connections=settings.max_in_flight, max_keepalive_connections=settings.max_in_flight
            ),
        )


class VlClient:
    """Asks the configured endpoints. Safe for many calls at once on one event loop."""

    def __init__(self, settings: Vl, profile: Profile) -> None:
        self._settings = settings
        self._profile = profile
        self._model = settings.model or profile.model
        self._endpoints = [_Endpoint(url, settings) for url in settings.endpoints]

    @property
    def in_flight(self) -> int:
        """Requests waiting for an answer now."""
        return sum(endpoint.in_flight for endpoint in self._endpoints)

    async def ask(self, jpeg: bytes, kind: str, *, corrected: bool = False) -> Answer:
        """Read one picture. `corrected` uses the profile's sampling for a second try at a bad answer.

        Raises `DocfleetError(timeout)` after `vl.timeout_s`, `DocfleetError(model_unavailable)` when the server refuses the request
        for good, `Unavailable("vl", …)` when no attempt reached a server that would answer.
        """
        body = self._body(jpeg, kind, corrected)
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                async for attempt in stamina.retry_context(
                    on=_retry, attempts=4, timeout=None, wait_initial=0.25, wait_max=8.0, wait_jitter=1.0
                ):
                    with attempt:
                        return await self._post(body)
        except TimeoutError:
            raise DocfleetError(
                ErrorCode.timeout, f"the VL model gave no answer within {self._settings.timeout_s:.0f} s"
            ) from None
        except _Refused as refused:
            raise Unavailable("vl", f"the VL server refuses work (status {refused.status})") from refused
        except httpx.TransportError as error:
            raise Unavailable("vl", f"no VL server answers ({type(error).__name__})") from error
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def close(self) -> None:
        """Close all connections."""
        for endpoint in self._endpoints:
            await endpoint.http.aclose()

    def _body(self, jpeg: bytes, kind: str, corrected: bool) -> dict[str, Any]:
        picture = "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")
        content = [
            {"type": "image_url", "image_url": {"url": picture}},
            {"type": "text", "text": self._profile.prompt(kind)},
        ]
        sampling = self._profile.sampling | (self._profile.retry_sampling if corrected else {})
        return {"model": self._model, "messages": [{"role": "user", "content": content}], **sampling}

    async def _post(self, body: dict[str, Any]) -> Answer:
        endpoint = min(self._endpoints, key=lambda candidate: candidate.in_flight)
        endpoint.in_flight += 1
        try:
            async with endpoint.slots:
                response = await endpoint.http.post(endpoint.url + "/chat/completions", json=body)
        finally:
            endpoint.in_flight -= 1
        if response.status_code in RETRYABLE:
            raise _Refused(response.status_code, _seconds(response.headers.get("retry-after")))
        if response.status_code != 200:
            raise DocfleetError(
                ErrorCode.model_unavailable,
                f"the VL server refused the request (status {response.status_code}); check model name, key and profile",
            )
        return _answer(response.content)


def _seconds(value: str | None) -> float | None:
    with contextlib.suppress(TypeError, ValueError):
        return min(max(float(value or ""), 0.0), 60.0)
    return None


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


def _answer(data: bytes) -> Answer:
    try:
        completion = msgspec.json.decode(data, type=_Completion)
        choice = completion.choices[0]
    except (msgspec.DecodeError, IndexError) as error:
        raise DocfleetError(ErrorCode.model_unavailable, "the VL server's answer is not a chat completion") from error
    usage = completion.usage or _Usage()
    return Answer(
        text=choice.message.content or "",
        finish_reason=choice.finish_reason,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
    )
