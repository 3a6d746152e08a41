"""The endpoints, and which of them a request goes to.

Each has a pool of connections, a limit that adapts and a breaker. A request waits here until one of them has room, and goes to the
one with the fewest in flight: a slower server keeps its requests longer and so gets fewer. Who has waited longest goes first,
requests that come back for another attempt before those. While every breaker is open nobody waits: all are told `Unavailable`, so
that the stage pauses and says so; meanwhile each open endpoint is probed until it answers.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

import structlog

from services.vl_worker.endpoint import Endpoint
from services.vl_worker.retry import Absent, Overloaded, Trouble
from shared.contracts.errors import Unavailable
from shared.settings import Vl
from shared.telemetry import metrics

log = structlog.get_logger()

LOOK_AGAIN_S = 3.0
"""Longest pause of a record before it looks whether an endpoint is back; looking sends nothing."""

Place = asyncio.Future[Endpoint]
"""Of a request that waits for room."""


class Endpoints:
    """All of them. Every `take` has its `give`; one event loop."""

    def __init__(self, settings: Vl, probe: Callable[[Endpoint], Awaitable[str | None]]) -> None:
        """`probe` asks an endpoint for one token: none when it answers, else why not. It must not raise."""
        self.all = [Endpoint(url, settings) for url in settings.endpoints]
        self._probe = probe
        self._waiting: deque[tuple[Place, Endpoint | None]] = deque()
        self._revivals: dict[Endpoint, asyncio.Task[None]] = {}
        self._answers = asyncio.Event()
        """Some endpoint is closed."""
        self._answers.set()

    # --- for requests -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises `Unavailable("vl", …)` while no endpoint can be asked."""
        if all(not endpoint.breaker.closed for endpoint in self.all):
            raise self._unavailable()

    async def take(self, before: Endpoint | None = None) -> Endpoint:
        """Wait for room. Raises `Unavailable`.

        `before`: where an earlier attempt was made. The request then goes before those that are new, and elsewhere if it can:
        an endpoint that fails at once has few in flight, and would draw everything.
        """
        self.check()
        place: Place = asyncio.get_running_loop().create_future()
        if before is not None:
            self._waiting.appendleft((place, before))
        else:
            self._waiting.append((place, None))
        self._serve()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.give(place.result())
            raise
        finally:
            if not place.done() or place.cancelled():
                self._waiting = deque(entry for entry in self._waiting if entry[0] is not place)

    def give(self, endpoint: Endpoint) -> None:
        """The request has ended, however."""
        endpoint.in_flight -= 1
        self._serve()

    def _serve(self) -> None:
        """Send who waits to where there is room."""
        while self._waiting:
            free = [endpoint for endpoint in self.all if endpoint.has_room]
            if not free:
                break
            place, before = self._waiting.popleft()
            if not place.done():
                elsewhere = [endpoint for endpoint in free if endpoint is not before]
                endpoint = min(elsewhere or free, key=lambda candidate: candidate.in_flight)
                endpoint.in_flight += 1
                place.set_result(endpoint)
        for endpoint in self.all:
            endpoint.limit.load(endpoint.in_flight, bool(self._waiting), time.monotonic())
            endpoint.tell()
        metrics.VL_WAITING.set(len(self._waiting))

    def _unavailable(self) -> Unavailable:
        why = "; ".join(f"{endpoint.name}: {endpoint.breaker.why}" for endpoint in self.all)
        return Unavailable("vl", f"no VL endpoint can be asked ({why:.400})", longest_s=LOOK_AGAIN_S)

    # --- what became of a request -------------------------------------------------------------------------------------

    def answered(self, endpoint: Endpoint) -> None:
        """The endpoint answered, if only with a refusal of this very request."""
        endpoint.breaker.succeeded()

    def troubled(self, endpoint: Endpoint, trouble: Trouble, generation: int) -> None:
        """The endpoint did not answer; `generation` is that of its limit when the request was sent."""
        now = time.monotonic()
        if isinstance(trouble, Overloaded):
            endpoint.limit.refused(generation, now)
        if trouble.retry_after_s:
            endpoint.rests_until = max(endpoint.rests_until, now + trouble.retry_after_s)
            asyncio.get_running_loop().call_later(trouble.retry_after_s + 0.001, self._serve)
        if not endpoint.breaker.closed:
            return
        if isinstance(trouble, Absent) and trouble.lasting:
            endpoint.breaker.trip(str(trouble))
        elif not isinstance(trouble, Overloaded):
            endpoint.breaker.failed(str(trouble))
        elif not trouble.limited and endpoint.in_flight <= 1:
            # In company a refusal means that there is no room; alone, that the server takes nothing at all (vLLM's dead engine: 503).
            endpoint.breaker.failed(str(trouble))
        if not endpoint.breaker.closed:
            log.warning("VL endpoint away", endpoint=endpoint.name, why=endpoint.breaker.why)
            self._revive(endpoint)

    # --- endpoints come and go ----------------------------------------------------------------------------------------

    async def start(self, patience_s: float) -> None:
        """Probe all; returns when the first has answered. Raises `Unavailable` when none has in this time; probing goes on."""
        for endpoint in self.all:
            if endpoint not in self._revivals:
                endpoint.breaker.trip("not asked yet")
                self._revive(endpoint, pause_s=0.0)
        try:
            await asyncio.wait_for(self._answers.wait(), patience_s)
        except TimeoutError:
            raise self._unavailable() from None

    async def close(self) -> None:
        """Stop probing, close connections."""
        for task in self._revivals.values():
            task.cancel()
        await asyncio.gather(*self._revivals.values(), return_exceptions=True)
        for endpoint in self.all:
            await endpoint.close()

    def _revive(self, endpoint: Endpoint, pause_s: float | None = None) -> None:
        endpoint.outages += 1
        self._revivals[endpoint] = asyncio.create_task(self._probe_until_it_answers(endpoint, pause_s))
        self._revivals[endpoint].add_done_callback(lambda _: self._revivals.pop(endpoint, None))
        endpoint.tell()
        if all(not other.breaker.closed for other in self.all):
            self._answers.clear()
            while self._waiting:
                place, _ = self._waiting.popleft()
                if not place.done():
                    place.set_exception(self._unavailable())

    async def _probe_until_it_answers(self, endpoint: Endpoint, pause_s: float | None) -> None:
        since = time.monotonic()
        while not endpoint.breaker.closed:
            await asyncio.sleep(endpoint.breaker.pause() if pause_s is None else pause_s)
            pause_s = None
            endpoint.breaker.probing()
            endpoint.tell()
            endpoint.breaker.probed(await self._probe(endpoint))
            endpoint.tell()
        log.info("VL endpoint answers", endpoint=endpoint.name, after_s=round(time.monotonic() - since, 3))
        endpoint.limit.interrupted(time.monotonic())
        self._answers.set()
        self._serve()
