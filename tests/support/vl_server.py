"""A model server simulator: speaks the chat-completions API, answers from a script, and is nothing more than that.

Each answer of the script is a text, a status (`int`), or an `Act` for anything odd. When the script is at its end the last one repeats.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True)
class Act:
    """One scripted answer: wait, then a status and text; `reset` cuts the connection in the middle of the body."""

    text: str = ""
    status: int = 200
    delay_s: float = 0.0
    finish_reason: str = "stop"
    headers: dict[str, str] = field(default_factory=dict)
    reset: bool = False


class VlServerSimulator:
    """Async context manager; `url` is the base URL. `busy_limit`: more requests at once are answered 429."""

    def __init__(self, script: Sequence[str | int | Act], *, busy_limit: int | None = None) -> None:
        self.script = list(script)
        self.busy_limit = busy_limit
        self.requests: list[dict[str, Any]] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.refused = 0
        self.disconnected = 0
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=100 * 2**20)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self.busy_limit is not None and self.in_flight >= self.busy_limit:
            self.refused += 1
            return web.Response(status=429, headers={"Retry-After": "0.05"})
        entry = self.script[min(len(self.requests), len(self.script) - 1)]
        act = entry if isinstance(entry, Act) else Act(text=entry) if isinstance(entry, str) else Act(status=entry)
        self.requests.append(body)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(act.delay_s)
            if act.reset:
                assert request.transport is not None
                request.transport.abort()
            completion = {
                "choices": [
                    {"message": {"role": "assistant", "content": act.text}, "finish_reason": act.finish_reason}
                ],
                "usage": {"prompt_tokens": 10, "completion_tokens": len(act.text) // 4},
            }
            return web.Response(
                status=act.status, text=json.dumps(completion), headers=act.headers, content_type="application/json"
            )
        except asyncio.CancelledError:
            self.disconnected += 1
            raise
        finally:
            self.in_flight -= 1
