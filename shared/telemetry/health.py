"""Whether a process is alive and ready, and the small server that says so.

*Started* means that the process has once been able to work, or waits for somebody else: where it is neither for long, its own start hangs.
*Live* means that every heart that ever beat has done so within its limit: a process that is not live has to be replaced.
*Ready* means that it is live and every named condition holds: models warm, broker reachable, store reachable.
A look never starts anything, never waits and takes no lock that work holds: it reads a few values and answers, also while
every other thread is busy.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder

LIMIT_S = 60.0
"""Seconds a heart may be silent where no other limit was given."""


OWN = ("stage", "recovery")
"""Conditions that a process brings about by itself at its start: models loaded, state recovered."""


class Health:
    """State behind /startupz, /livez and /readyz. Invariant: a condition or heart, once named, is judged until it is removed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._conditions: dict[str, tuple[bool, str]] = {}
        self._beats: dict[str, float] = {}
        self._limits: dict[str, float] = {}
        self._started = False
        self._away = False

    def ready(self, name: str, ok: bool, why: str = "", *, away: bool = False) -> None:
        """State that a condition of readiness holds, or why it does not; `away`: because of something outside of this process."""
        self._conditions[name] = (ok, why)
        if name in OWN:
            self._started = self._started or ok
            self._away = away

    def starting(self) -> bool:
        """Whether the start is still this process's own business: nothing was ready yet, and nobody else is waited for."""
        return not (self._started or self._away)

    def limit(self, name: str, seconds: float) -> None:
        """How long the heart `name` may be silent. It is judged from its first beat on."""
        self._limits[name] = seconds

    def beat(self, name: str) -> None:
        """The loop `name` goes round."""
        self._beats[name] = self._clock()

    def forget(self, name: str) -> None:
        """The loop or condition `name` has ended as planned and is judged no more."""
        self._beats.pop(name, None)
        self._conditions.pop(name, None)

    def silent(self) -> dict[str, float]:
        """Hearts over their limit, with the seconds since their last beat; empty when live."""
        now = self._clock()
        ages = {name: now - at for name, at in list(self._beats.items())}
        return {name: age for name, age in ages.items() if age > self._limits.get(name, LIMIT_S)}

    def unready(self) -> dict[str, str]:
        """Conditions that do not hold, and why; empty when ready. A process that named no condition is starting."""
        conditions = list(self._conditions.items())
        if not conditions:
            return {"start": "not started"}
        return {name: why for name, (ok, why) in conditions if not ok}


def serve(health: Health, host: str, port: int) -> int:
    """Serve /startupz, /livez, /readyz (also /health, /ready) and /metrics in a daemon thread; returns the port (`port` 0 takes a free one).

    Raises `OSError` when the port is taken. The server ends with the process.
    """

    class Request(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0].rstrip("/")
            if path in ("/livez", "/health"):
                self._say(not (late := health.silent()), {"silent_s": {k: round(v, 1) for k, v in late.items()}})
            elif path in ("/readyz", "/ready"):
                silent, unready = health.silent(), health.unready()
                self._say(not silent and not unready, {"not_ready": unready, "silent": sorted(silent)})
            elif path == "/startupz":
                self._say(not health.starting(), {"not_ready": health.unready()})
            elif path == "/metrics":
                encode, content_type = choose_encoder(self.headers.get("Accept", ""))  # OpenMetrics has the exemplars
                self._answer(200, content_type, encode(REGISTRY))
            else:
                self._answer(404, "text/plain", b"/startupz /livez /readyz /metrics\n")

        def _say(self, ok: bool, detail: dict[str, Any]) -> None:
            body = json.dumps({"ok": ok, **({} if ok else detail)}).encode() + b"\n"
            self._answer(200 if ok else 503, "application/json", body)

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Probes come every few seconds; they are no news."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def server_bind(self) -> None:
            # HTTPServer.server_bind asks the resolver for the host's name, which can take seconds where there is none.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(self.server_address)
            self.server_address = self.socket.getsockname()
            self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

        def handle_error(self, request: Any, client_address: Any) -> None:
            # A prober with a short limit, or one that was itself ended, hangs up before it has its answer: no fault of this process.
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(request, client_address)

    server = Server((host, port), Request)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server.server_port
