"""Many requests in flight at a few model servers; what comes out is an answer, or the truth about why there is none.

    ask ──> take (wait for room: limit, breaker, least in flight) ──> send ──> give
     ^                                                                  │
     └── another attempt: full jitter, Retry-After (`retry`) <── Trouble ┘

The clock of `vl.timeout_s` starts when the first attempt is sent, so waiting for room costs a region nothing. Only three things are
outcomes of a region: no answer in that time, failing `vl.attempts` times where the server answers others, and a refusal for good.
Everything else is the world's: `Unavailable`, and the stage waits. Only who was there at `vl.attempts` outages is suspected to cause them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from services.vl_worker.endpoint import Endpoint
from services.vl_worker.endpoints import Endpoints
from services.vl_worker.probe import Probe
from services.vl_worker.retry import Absent, Faulty, Overloaded, Trouble, attempts
from services.vl_worker.suspects import Suspects
from services.vl_worker.wire import Answer, Call
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.settings import Vl
from shared.telemetry import metrics, spans
from shared.telemetry.spans import NOT_RECORDED, Span

PATIENCE_S = 10.0
"""`start` waits this long for an endpoint before it says that none is there; the runner calls again."""


class VlClient:
    """Asks the configured endpoints. Safe for hundreds of calls at once on one event loop."""

    def __init__(self, settings: Vl, probe: Probe) -> None:
        self._settings = settings
        self._endpoints = Endpoints(settings, probe.why_not)
        self._suspects = Suspects(settings.attempts)

    @property
    def in_flight(self) -> int:
        """Requests waiting for an answer now."""
        return sum(endpoint.in_flight for endpoint in self._endpoints.all)

    @property
    def limit(self) -> int:
        """Requests that all endpoints together are given at once at present."""
        return sum(endpoint.limit.value for endpoint in self._endpoints.all)

    async def start(self) -> None:
        """Returns when an endpoint answers its probe. Raises `Unavailable`; may be called again."""
        await self._endpoints.start(PATIENCE_S)

    def check(self) -> None:
        """Raises `Unavailable` while no endpoint can be asked: look before preparing a request. Costs and sends nothing."""
        self._endpoints.check()

    async def ask(self, call: Call, hopeless: Callable[[str], bool] | None = None) -> Answer:
        """The answer of one of the endpoints.

        `hopeless` is asked about an answer as it grows; when it says so the request is broken off (`Answer.stopped`).
        Raises `DocfleetError` with `timeout` or `model_unavailable`, `Unavailable("vl", …)`.
        """
        last: Trouble | None = None
        asked: Endpoint | None = None
        try:
            async with asyncio.timeout(None) as deadline:
                async for attempt in attempts(self._settings.attempts):
                    with attempt:
                        endpoint = await self._endpoints.take(before=asked)
                        if asked is None:
                            deadline.reschedule(asyncio.get_running_loop().time() + self._settings.timeout_s)
                        asked = endpoint
                        try:
                            return await self._send(endpoint, call, hopeless)
                        except Faulty as trouble:
                            last = trouble
                            if not endpoint.breaker.closed and self._suspects.present(call, endpoint):
                                raise self._deadly() from trouble
                            raise
                        except Trouble as trouble:
                            last = trouble
                            raise
        except Faulty as trouble:
            self.check()
            raise DocfleetError(
                ErrorCode.model_unavailable, f"the VL server failed at this again and again ({trouble})"
            ) from trouble
        except TimeoutError:
            raise self._too_late(last) from None
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def close(self) -> None:
        """Stop probing, close all connections."""
        await self._endpoints.close()

    def _deadly(self) -> DocfleetError:
        times = self._settings.attempts
        return DocfleetError(ErrorCode.model_unavailable, f"the VL server went away {times} times while it read this")

    def _too_late(self, last: Trouble | None) -> Exception:
        """The deadline passed: the region's outcome when its answer did not come, the world's when nobody took it."""
        self.check()
        if isinstance(last, Overloaded | Absent):
            return Unavailable("vl", f"no VL endpoint had room for {self._settings.timeout_s:g} s ({last})")
        return DocfleetError(ErrorCode.timeout, f"the VL model gave no answer within {self._settings.timeout_s:g} s")

    async def _send(self, endpoint: Endpoint, call: Call, hopeless: Callable[[str], bool] | None) -> Answer:
        generation = endpoint.limit.generation
        started = time.monotonic()
        outcome = "error"
        span = _span(endpoint)
        try:
            answer = await endpoint.send(call, hopeless)
            outcome = _outcome(answer)
            self._endpoints.answered(endpoint)
            return answer
        except Trouble as trouble:
            outcome = _outcome_of(trouble)
            self._endpoints.troubled(endpoint, trouble, generation)
            raise
        except DocfleetError:
            outcome = "refused"
            self._endpoints.answered(endpoint)
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            if time.monotonic() - started >= self._settings.timeout_s:
                outcome = "timeout"
                self._endpoints.troubled(endpoint, Faulty("no answer within vl.timeout_s"), generation)
            raise
        finally:
            metrics.VL_REQUESTS.labels(endpoint=endpoint.name, outcome=outcome).inc()
            metrics.VL_SECONDS.labels(endpoint=endpoint.name).observe(time.monotonic() - started)
            span.set({"docfleet.vl.outcome": outcome})
            if outcome not in ("ok", "cancelled"):
                span.failed(outcome, "")
            span.end()
            self._endpoints.give(endpoint)


def _span(endpoint: Endpoint) -> Span:
    """The span of one request, below that of the task."""
    task = spans.current()
    if task is None or not spans.recording(task):
        return NOT_RECORDED
    attributes: dict[str, str | int | float | bool] = {
        "server.address": endpoint.name,
        "docfleet.vl.in_flight": endpoint.in_flight,
    }
    return spans.begin("ask model", task.child(), task, "client", attributes)


def _outcome(answer: Answer) -> str:
    """Label of the metric."""
    if answer.stopped:
        return "stopped"
    return "truncated" if answer.finish_reason == "length" else "ok"


def _outcome_of(trouble: Trouble) -> str:
    if isinstance(trouble, Overloaded):
        return "overloaded"
    return "absent" if isinstance(trouble, Absent) else "faulty"
