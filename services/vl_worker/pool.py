"""The connections to one endpoint.

httpcore looks at every connection of its pool, idle ones with a system call, at the begin and the end of every request: with 256 of them
that cost more than all else a request does. So a pool here is several small ones, filled one after the other, which share one TLS context.

httpcore closes a connection that idled for too long when its small pool is used again. The ones that a peak filled last may never be: they
would hold a handle for every request that was ever in flight at one time, here and at the server. So a small pool that idles is closed.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

CONNECT_S = 5.0
"""Seconds to connect. A server that runs accepts at once, also when it is busy."""
SHARE = 16
"""Connections of a small pool."""
IDLE_S = 5.0
"""Seconds without a request after which a small pool is closed: as long as httpx keeps an idle connection (its default `keepalive_expiry`),
so that no connection is closed that would have been used again."""


class _Small:
    """A small pool: its client, and what is under way on it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.busy = 0
        self.closes: asyncio.TimerHandle | None = None
        """While it idles."""


class Pool:
    """HTTP clients for any number of requests at once; who bounds them is the endpoint's limit."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers
        self._tls: ssl.SSLContext | None = None
        self._pools: list[_Small] = []
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client with a connection free for one request."""
        small = next((small for small in self._pools if small.busy < SHARE), None) or self._new()
        small.busy += 1
        if small.closes is not None:
            small.closes.cancel()
        try:
            yield small.http
        finally:
            small.busy -= 1
            if not small.busy:
                small.closes = asyncio.get_running_loop().call_later(IDLE_S, self._retire, small)

    async def close(self) -> None:
        """Close all connections."""
        for small in self._pools:
            if small.closes is not None:
                small.closes.cancel()
        await asyncio.gather(*self._closing, *(small.http.aclose() for small in self._pools))
        self._pools.clear()

    def _retire(self, small: _Small) -> None:
        self._pools.remove(small)
        closing = asyncio.get_running_loop().create_task(small.http.aclose())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _new(self) -> _Small:
        if self._tls is None:
            self._tls = httpx.create_ssl_context()
        http = httpx.AsyncClient(
            headers=self._headers,
            verify=self._tls,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=SHARE, max_keepalive_connections=SHARE),
        )
        self._pools.append(_Small(http))
        return self._pools[-1]
