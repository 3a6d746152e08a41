"""A VL model server simulator: speaks the chat-completions API and `/ocr`, answers from a script, and is nothing more than that.

Without a time model answers come at once; with one (`Batch`) token by token, as fast as the calibrated server would. When the script
is at its end the last entry repeats. As a program it prints its URL: `python -m tests.support.vl_server --help`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from aiohttp import web

from tests.support.vl_faults import Act, Entry, act_of
from tests.support.vl_timing import Batch

__all__ = ["Act", "VlServerSimulator"]

Script = Sequence[Entry] | Callable[[dict[str, Any], int], Entry]


class VlServerSimulator:
    """Async context manager; `url` is the base URL. `script`: entries in turn, or a function of body and request number.

    `busy_limit`: more requests at once are answered with `busy_status`. `key`: the API key that is wanted. `cold_s`: seconds
    after the start in which only 503 is answered. Probes (a limit of one token) are answered beside the script.
    """

    def __init__(
        self,
        script: Script = ("ok",),
        *,
        busy_limit: int | None = None,
        busy_status: int = 429,
        busy_after: str | None = "0.05",
        model: str | None = None,
        any_name: bool = False,
        key: str | None = None,
        cold_s: float = 0.0,
        batch: Batch | None = None,
        port: int = 0,
        keep: bool = True,
        held: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        self.script = script
        self.busy_limit = busy_limit
        self.busy_status = busy_status
        self.busy_after = busy_after
        self.model = model
        self.any_name = any_name
        """Answers to every name, as llama.cpp does."""
        self.key = key
        self.cold_s = cold_s
        self.batch = batch
        self.port = port
        self._host = host
        self.keep = keep
        self.requests: list[dict[str, Any]] = []
        self.probes = 0
        self.asked = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.refused = 0
        self.disconnected = 0
        self.answered = 0
        self.url = ""
        self.times: list[float] = []
        """Monotonic time of every request that came, refused ones too."""
        self._runner: web.AppRunner | None = None
        self._warm_at = 0.0
        self.held = asyncio.Event()
        """Nothing but probes is answered until it is set (`held=False` sets it at once)."""
        if not held:
            self.held.set()
        self.broken: int | None = None
        """A status that answers everything, probes too."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.die()

    async def start(self) -> None:
        """Listen; after `die` again, on the same port."""
        app = web.Application(client_max_size=100 * 2**20)
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_post("/v1/ocr", self._answer)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/state", self._state)
        app.router.add_get("/release", self._release)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._warm_at = time.monotonic() + self.cold_s

    async def die(self) -> None:
        """Cut every connection and stop listening, as a killed process does."""
        runner, self._runner = self._runner, None
        if runner is not None:
            for connection in list(runner.server.connections) if runner.server else ():
                if connection.transport is not None:
                    connection.transport.abort()
            await runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return _error(401, "Unauthorized")
        return web.json_response({"object": "list", "data": [{"id": self.model or "glm-ocr", "object": "model"}]})

    async def _release(self, request: web.Request) -> web.Response:
        self.held.set()
        return web.Response()

    async def _state(self, request: web.Request) -> web.Response:
        names = ("in_flight", "most_in_flight", "refused", "disconnected", "answered", "asked", "probes")
        return web.json_response(
            {name: getattr(self, name) for name in names} | {"tokens": self.batch.tokens if self.batch else 0}
        )

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.times.append(time.monotonic())
        self.in_flight += 1
        try:
            return await self._answer_in_flight(request)
        except (asyncio.CancelledError, ConnectionResetError):
            self.disconnected += 1
            raise
        finally:
            self.in_flight -= 1

    async def _answer_in_flight(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return _error(401, "Unauthorized")
        if self.broken is not None:
            return _error(self.broken, "broken")
        if time.monotonic() < self._warm_at:
            return _error(503, "the model is loading")
        if not self.any_name and self.model is not None and body.get("model", self.model) != self.model:
            return _error(404, f"The model `{body.get('model')}` does not exist.")
        if body.get("max_tokens") == 1 or body.get("max_length") == 1:
            self.probes += 1
            act = Act(text="x", finish_reason="length")
        elif self.busy_limit is not None and self.in_flight > self.busy_limit:
            self.refused += 1
            headers = {} if self.busy_after is None else {"Retry-After": self.busy_after}
            return _error(self.busy_status, "too many requests", headers)
        else:
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            number = self.asked
            self.asked += 1
            if self.keep:
                self.requests.append(body)
            entry = (
                self.script(body, number) if callable(self.script) else self.script[min(number, len(self.script) - 1)]
            )
            act = act_of(entry)
            await self.held.wait()
        await asyncio.sleep(act.delay_s)
        if act.gate is not None:
            await act.gate.wait()
        if act.status != 200:
            return _error(act.status, act.error or "as told", act.headers)
        answer = _Answer(request, act, self.batch)
        response = await (answer.stream() if body.get("stream") else answer.whole("image_base64" in body))
        self.answered += 1
        return response


class _Answer:
    """One answer on its way out."""

    def __init__(self, request: web.Request, act: Act, batch: Batch | None) -> None:
        self._request = request
        self._act = act
        self._batch = batch
        tokens = act.tokens or max(1, len(act.text) // 4)
        size = max(1, -(-len(act.text) // tokens))
        self._pieces = [act.text[at : at + size] for at in range(0, len(act.text), size)] or [""]
        self._pieces += [""] * (tokens - len(self._pieces)) if act.tokens else []
        self._usage = {"prompt_tokens": 10, "completion_tokens": len(self._pieces)}

    async def _paced(self, on_piece: Callable[[str], Any]) -> None:
        if self._batch is None:
            for piece in self._pieces:
                await on_piece(piece)
            return
        await self._batch.enter()
        try:
            for piece in self._pieces:
                await self._batch.token()
                await on_piece(piece)
        finally:
            self._batch.leave()

    async def stream(self) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **self._act.headers})
        await response.prepare(self._request)
        if self._act.raw is not None:
            await response.write(self._act.raw)
            await response.write_eof()
            return response
        sent = 0

        async def send(piece: str) -> None:
            nonlocal sent
            sent += 1
            # Every token is an event, also one without text (half of a character, a special token).
            await response.write(
                _event({"choices": [{"index": 0, "delta": {"content": piece or "\u200b"}, "finish_reason": None}]})
            )
            if self._broken and sent > len(self._pieces) // 2:
                await self._break(response)

        try:
            await self._paced(send)
        except _Cut:
            return response
        finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": self._act.finish_reason}]}
        await response.write(_event(finish) + _event({"choices": [], "usage": self._usage}) + b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def whole(self, plain: bool) -> web.StreamResponse:
        async def wait(piece: str) -> None:
            pass

        await self._paced(wait)
        message = {"role": "assistant", "content": self._act.text}
        completion: dict[str, Any] = {
            "choices": [{"message": message, "finish_reason": self._act.finish_reason}],
            "usage": self._usage,
        }
        body = json.dumps({"text": self._act.text, "seconds": 0.1} if plain else completion).encode()
        if not self._broken:
            return web.Response(body=body, headers=self._act.headers, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
        await response.prepare(self._request)
        await response.write(body[: len(body) // 2])
        try:
            await self._break(response)
        except _Cut:
            assert self._request.transport is not None
            self._request.transport.close()
        return response

    @property
    def _broken(self) -> bool:
        return self._act.reset or self._act.fault is not None

    async def _break(self, response: web.StreamResponse) -> None:
        if self._act.fault == "stall":
            await asyncio.sleep(3_600)
        if self._act.fault == "cut":
            await response.write_eof()
            raise _Cut
        assert self._request.transport is not None
        self._request.transport.abort()
        raise ConnectionResetError


class _Cut(Exception):
    pass


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    body = json.dumps({"error": {"message": message, "type": "Error", "param": None, "code": status}})
    return web.Response(status=status, text=body, headers=headers or {}, content_type="application/json")


def tables(tokens: str) -> Script:
    """Small tables, all different, of `FROM-TO` tokens of four characters."""
    least, _, most = tokens.partition("-")
    chance = random.Random(0)

    def script(body: dict[str, Any], number: int) -> Act:
        count = chance.randint(int(least), int(most or least))
        cells = "".join(f"<td>{number % 1000}.{cell}</td>" for cell in range(max(1, count * 4 // 14)))
        return Act(text=f"<table><tr>{cells}</tr></table>", tokens=count)

    return script


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--text", default="<table><tr><td>1</td><td>2</td></tr></table>", help="what is answered to everything"
    )
    parser.add_argument(
        "--tokens", default=None, help="answer tables of so many tokens, FROM-TO evenly, in place of the text"
    )
    parser.add_argument(
        "--speed", type=float, default=None, help="turns the time model on; 1.0 is the calibrated server"
    )
    parser.add_argument("--slots", type=int, default=100)
    parser.add_argument("--model", default=None)
    parser.add_argument("--key", default=None)
    parser.add_argument("--busy", type=int, default=None, help="429 above so many")
    parser.add_argument("--held", action="store_true", help="answer nothing until somebody gets /release")
    parser.add_argument("--cold", type=float, default=0.0, help="seconds of 503 at first")
    args = parser.parse_args()

    async def serve() -> None:
        server = VlServerSimulator(
            tables(args.tokens) if args.tokens else [args.text],
            busy_limit=args.busy,
            model=args.model,
            key=args.key,
            cold_s=args.cold,
            batch=Batch(args.speed, args.slots) if args.speed else None,
            port=args.port,
            keep=False,
            held=args.held,
            host=args.host,
        )
        async with server:
            print(server.url, flush=True)
            await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
