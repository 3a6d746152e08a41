"""An HTTP proxy before an S3 server that answers some requests as a troubled S3 does: 503 SlowDown, slowly, or cut in the middle.

It runs on a thread of its own in the process that uses it. What is signed (method, path, headers with Host, body) goes through as it came.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import aiohttp
from aiohttp import web
from yarl import URL

SLOW_DOWN = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"""


class S3Faults:
    """Context manager. `port` is where clients connect. `counts`: requests by what became of them
    (`passed`, `refused`, `cut_answer`, `cut_upload`, `lost_answer`)."""

    def __init__(self, upstream: str, seed: int = 1) -> None:
        """`upstream`: `host:port` of the S3 server."""
        self._upstream = upstream
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._refused = self._cut = 0.0
        self._delay_s = 0.0
        self.counts: Counter[str] = Counter()
        self.port = 0

    def refuse(self, share: float) -> None:
        """503 SlowDown to this share of requests."""
        self._refused = share

    def slow(self, delay_s: float) -> None:
        """Every answer begins so much later."""
        self._delay_s = delay_s

    def cut(self, share: float) -> None:
        """This share of connections is reset: in the middle of an answer's body, in the middle of an upload, or after the upload was
        stored and before anybody was told."""
        self._cut = share

    def mend(self) -> None:
        """Let everything through."""
        self._refused = self._cut = self._delay_s = 0.0

    def __enter__(self) -> Self:
        threading.Thread(target=self._loop.run_forever, name="s3-faults", daemon=True).start()
        self._call(self._start)
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._stop)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _call(self, work: Callable[[], Any]) -> None:
        asyncio.run_coroutine_threadsafe(work(), self._loop).result(30)

    async def _start(self) -> None:
        self._session = aiohttp.ClientSession(
            auto_decompress=False, connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=120)
        )
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/{path:.*}", self._pass)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        if self._random.random() < self._refused:
            await request.read()
            self.counts["refused"] += 1
            return web.Response(status=503, body=SLOW_DOWN, content_type="application/xml")
        cut = self._random.random() < self._cut
        if cut and request.method in ("PUT", "POST") and self._random.random() < 0.5:
            await request.content.readany()
            return self._abort(request, "cut_upload")
        url = URL(f"http://{self._upstream}{request.raw_path}", encoded=True)
        body = await request.read()
        async with self._session.request(
            request.method,
            url,
            headers=request.headers,
            data=body,
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        ) as answer:
            data = await answer.read()
            headers = {name: value for name, value in answer.headers.items() if name not in _HOP}
            if not cut:
                self.counts["passed"] += 1
                if request.method == "HEAD":
                    headers["Content-Length"] = answer.headers.get("Content-Length", "0")
                return web.Response(status=answer.status, body=data or None, headers=headers)
            if request.method != "GET" or len(data) < 2:
                return self._abort(request, "lost_answer")
            response = web.StreamResponse(status=answer.status, headers={**headers, "Content-Length": str(len(data))})
            await response.prepare(request)
            await response.write(data[: len(data) // 2])
            return self._abort(request, "cut_answer", response)

    def _abort(self, request: web.Request, what: str, response: web.StreamResponse | None = None) -> web.StreamResponse:
        self.counts[what] += 1
        if request.transport is not None:
            request.transport.abort()
        return response or web.Response()


_HOP = ("Transfer-Encoding", "Content-Length", "Connection", "Keep-Alive")
