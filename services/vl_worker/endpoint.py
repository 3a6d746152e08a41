"""One base URL: its connections, its limit, its breaker, and how one request goes through it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx

from services.vl_worker.breaker import Breaker
from services.vl_worker.limit import Limit
from services.vl_worker.pool import Pool
from services.vl_worker.retry import Absent, Faulty, trouble_of
from services.vl_worker.wire import Answer, Call, said
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.settings import Vl
from shared.telemetry import metrics

MAX_ANSWER = 16 * 2**20
"""Bytes of an answer. 8,192 tokens in single events of 250 bytes are 2 MB."""
MAX_REFUSAL = 64 * 2**10
LOOK_EVERY = 2_000
"""Characters between two looks at an answer that is still growing."""
CHARACTERS_PER_TOKEN = 2
"""Where a server counts no tokens. Chinese has about one, Latin text about four; only the limiter and a metric use it."""


class Endpoint:
    """One server, or one balancer in front of several."""

    def __init__(self, url: str, settings: Vl) -> None:
        headers = {"Authorization": f"Bearer {settings.api_key.get_secret_value()}"} if settings.api_key else {}
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        self.name = parts.netloc.rpartition("@")[2] + parts.path
        """For logs and metrics: without credentials."""
        self.in_flight = 0
        self.outages = 0
        """How often it went away."""
        self.rests_until = 0.0
        """Monotonic; the server asked for a pause (Retry-After)."""
        self.limit = Limit(settings.start_in_flight, settings.min_in_flight, settings.max_in_flight, time.monotonic())
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_pause_s)
        self._settings = settings
        self._pool = Pool({"Content-Type": "application/json", "Accept-Encoding": "identity", **headers})

    @property
    def has_room(self) -> bool:
        """Whether another request may be sent now."""
        return self.breaker.closed and self.in_flight < self.limit.value and self.rests_until <= time.monotonic()

    def tell(self) -> None:
        """Gauges."""
        metrics.VL_IN_FLIGHT.labels(endpoint=self.name).set(self.in_flight)
        metrics.VL_LIMIT.labels(endpoint=self.name).set(self.limit.value)
        metrics.VL_BREAKER.labels(endpoint=self.name).set(self.breaker.state)

    async def send(self, call: Call, hopeless: Callable[[str], bool] | None = None) -> Answer:
        """Send and read to the end, or until `hopeless` says of what there is so far that nothing good can come any more.

        Raises `Trouble` where another attempt may succeed, `DocfleetError(model_unavailable)` where none will. When it is cancelled
        the connection is closed, which is how a server learns that nobody waits any more.
        """
        started = time.monotonic()
        try:
            async with (
                self._pool.client() as http,
                http.stream("POST", self.url + call.path, content=call.body) as response,
            ):
                if response.status_code != 200:
                    await self._refused(response, call)
                return await self._read(response, call, started, hopeless)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Absent(f"no connection ({error!s:.100})") from error
        except httpx.TransportError as error:
            raise Faulty(f"the connection was cut ({type(error).__name__})") from error

    async def get(self, path: str, timeout_s: float) -> httpx.Response:
        """For probes. Raises `httpx.HTTPError`."""
        async with self._pool.client() as http:
            return await http.get(self.url + path, timeout=timeout_s)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def _refused(self, response: httpx.Response, call: Call) -> None:
        body = b""
        async for data in response.aiter_bytes():
            body += data
            if len(body) > MAX_REFUSAL:
                break
        why = said(body[:MAX_REFUSAL])
        trouble = trouble_of(
            response.status_code, response.headers.get("retry-after"), why, self._settings.retry_after_s
        )
        if trouble is not None and not (call.foreign and response.status_code == 404):
            raise trouble
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"the VL server refused the request (status {response.status_code}{': ' if why else ''}{why})",
        )

    async def _read(
        self, response: httpx.Response, call: Call, started: float, hopeless: Callable[[str], bool] | None
    ) -> Answer:
        reader = call.reader(response.headers.get("content-type", ""))
        first: float | None = None
        size, looked, look_at = 0, 0, 0.0
        try:
            # Until the first token the server may queue for as long as the deadline lets it.
            async with asyncio.timeout(None) as stalled:
                async for data in response.aiter_bytes():
                    size += len(data)
                    if size > MAX_ANSWER:
                        break
                    tokens = reader.feed(data)
                    if not tokens:
                        continue
                    now = time.monotonic()
                    if now >= look_at:  # not for every token: a timer costs as much as reading one
                        look_at = now + self._settings.stall_s / 10
                        stalled.reschedule(asyncio.get_running_loop().time() + self._settings.stall_s)
                    if first is None:
                        first = now
                        metrics.VL_FIRST_TOKEN_SECONDS.labels(endpoint=self.name).observe(first - started)
                    self.limit.streamed(tokens, now)
                    if hopeless is not None and reader.length - looked >= LOOK_EVERY:
                        looked = reader.length
                        if hopeless(reader.text()):
                            return Answer(text=reader.text(), finish_reason=None, stopped=True)
        except TimeoutError:
            raise Faulty(f"the stream stood still for {self._settings.stall_s:g} s") from None
        if size > MAX_ANSWER:
            raise DocfleetError(ErrorCode.model_unavailable, f"the VL server's answer has over {MAX_ANSWER} bytes")
        answer = reader.answer()
        tokens = answer.completion_tokens or len(answer.text) // CHARACTERS_PER_TOKEN
        if first is None:
            now = time.monotonic()
            self.limit.answered(tokens, now - started, now)
        metrics.VL_TOKENS.labels(endpoint=self.name).inc(tokens)
        return answer
