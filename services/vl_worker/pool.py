"""The connections to one endpoint.

httpcore looks at every connection of its pool, idle ones with a system call, at the begin and the end of every request: with 256 of them
that cost more than all else a request does. So a pool here is several small ones, filled one after the other, which share one TLS context.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

CONNECT_S = 5.0
"""Seconds to connect. A server that runs accepts at once, also when it is busy."""
SHARE = 16
"""Connections of a small pool."""


class Pool:
    """HTTP clients for any number of requests at once; who bounds them is the endpoint's limit."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers
        self._tls: ssl.SSLContext | None = None
        self._busy: dict[httpx.AsyncClient, int] = {}

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client with a connection free for one request."""
        http = next((client for client, busy in self._busy.items() if busy < SHARE), None) or self._new()
        self._busy[http] += 1
        try:
            yield http
        finally:
            self._busy[http] -= 1

    async def close(self) -> None:
        """Close all connections."""
        for http in self._busy:
            await http.aclose()
        self._busy.clear()

    def _new(self) -> httpx.AsyncClient:
        if self._tls is None:
            self._tls = httpx.create_ssl_context()
        http = httpx.AsyncClient(
            headers=self._headers,
            verify=self._tls,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=SHARE, max_keepalive_connections=SHARE),
        )
        self._busy[http] = 0
        return http
