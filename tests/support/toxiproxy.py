"""Toxiproxy 2.5.0 for tests: TCP links that can be slowed, cut, half-opened, throttled, reset and taken down while they are used.

Built once with Go into the cache of test servers, and driven over its HTTP API.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from tests.support.go_programs import installed
from tests.support.processes import end, free_ports, spawn

VERSION = "2.5.0"
MODULE = f"github.com/Shopify/toxiproxy/v2/cmd/server@v{VERSION}"


def program() -> str:
    """The server, built on first use (half a minute). Raises `Missing`."""
    return installed("Toxiproxy", VERSION, MODULE, "server")


class Link:
    """One proxied way to a server. Clients connect to `127.0.0.1:{port}`; every fault lasts until `mend`."""

    def __init__(self, http: httpx.Client, name: str, port: int) -> None:
        self._http = http
        self.name = name
        self.port = port

    def slow(self, latency_ms: int, jitter_ms: int = 0) -> None:
        """Every answer comes later."""
        self._toxic("latency", "downstream", latency=latency_ms, jitter=jitter_ms)

    def cut(self) -> None:
        """Nothing goes through in either direction and no connection ends: a cable that was pulled. At `mend` open connections end."""
        for stream in ("upstream", "downstream"):
            self._toxic("timeout", stream, timeout=0)

    def half_open(self) -> None:
        """Requests arrive and their answers vanish; no connection ends."""
        self._toxic("timeout", "downstream", timeout=0)

    def throttle(self, kilobytes_s: int) -> None:
        """Both directions, each connection for itself."""
        for stream in ("upstream", "downstream"):
            self._toxic("bandwidth", stream, rate=kilobytes_s)

    def reset(self, after_ms: int = 0) -> None:
        """Every connection, also every new one, is reset (RST) so long after data came."""
        for stream in ("upstream", "downstream"):
            self._toxic("reset_peer", stream, timeout=after_ms)

    def down(self) -> None:
        """Nobody listens any more, and open connections end."""
        self._post(f"/proxies/{self.name}", enabled=False)

    def lead_to(self, upstream: str) -> None:
        """Another server, `host:port`. Open connections end."""
        self._post(f"/proxies/{self.name}", upstream=upstream)

    def mend(self) -> None:
        """No fault any more."""
        for toxic in self._http.get(f"/proxies/{self.name}/toxics").raise_for_status().json():
            self._http.delete(f"/proxies/{self.name}/toxics/{toxic['name']}").raise_for_status()
        self._post(f"/proxies/{self.name}", enabled=True)

    def _toxic(self, kind: str, stream: str, **attributes: int) -> None:
        self._post(f"/proxies/{self.name}/toxics", type=kind, stream=stream, attributes=attributes)

    def _post(self, path: str, **value: object) -> None:
        self._http.post(path, json=value).raise_for_status()


class Toxiproxy:
    """Context manager around one server; `link` makes ways through it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._http: httpx.Client | None = None
        self.links: dict[str, Link] = {}

    def start(self) -> Self:
        """Returns when the API answers. Raises `Missing`."""
        server = program()
        (port,) = free_ports(1)
        self._folder = Path(tempfile.mkdtemp(prefix="docfleet-toxiproxy-"))
        command = [server, "-host", "127.0.0.1", "-port", str(port)]
        self._process = spawn(command, self._folder / "server.log", self._folder, {"LOG_LEVEL": "error"})
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=10)
        limit = time.monotonic() + 30
        while True:
            try:
                self._http.get("/version").raise_for_status()
                return self
            except httpx.HTTPError:
                if self._process.poll() is not None or time.monotonic() > limit:
                    text = (self._folder / "server.log").read_text(errors="replace")
                    self.stop()
                    raise AssertionError(f"Toxiproxy did not start: {text[-2000:]}") from None
                time.sleep(0.05)

    def link(self, name: str, upstream: str, port: int = 0) -> Link:
        """A way to `upstream` (`host:port`), on a port that may be given."""
        assert self._http is not None
        made = self._http.post(
            "/proxies", json={"name": name, "listen": f"127.0.0.1:{port}", "upstream": upstream, "enabled": True}
        )
        listen = made.raise_for_status().json()["listen"]
        self.links[name] = Link(self._http, name, int(listen.rpartition(":")[2]))
        return self.links[name]

    def mend(self) -> None:
        """No fault on any link."""
        for link in self.links.values():
            link.mend()

    def stop(self) -> None:
        """End it; every connection through it ends."""
        if self._http is not None:
            self._http.close()
        end(self._process)
        self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
