"""What a peak of requests leaves open: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.vl_worker import pool as under_test
from services.vl_worker.pool import SHARE, Pool

pytestmark = pytest.mark.integration

PEAK = 3 * SHARE + 1


class Server:
    """An HTTP server that answers when `gate` is open and counts the connections that are open to it."""

    def __init__(self) -> None:
        self.open = 0
        self.asked = 0
        self.accepted = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.accepted += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.asked += 1
                await self.gate.wait()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Server, Pool]]:
    server, pool = Server(), Pool({})
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    try:
        yield server, pool
    finally:
        await pool.close()
        listening.close()


async def ask(server: Server, pool: Pool) -> None:
    async with pool.client() as http:
        assert (await http.get(server.url)).text == "ok"


async def until(condition) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


async def peak(server: Server, pool: Pool) -> None:
    """`PEAK` requests in flight at once."""
    server.gate.clear()
    requests = [asyncio.create_task(ask(server, pool)) for _ in range(PEAK)]
    await until(lambda: server.asked == PEAK)
    server.gate.set()
    await asyncio.gather(*requests)


async def test_what_a_peak_opened_is_closed_while_a_few_requests_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "IDLE_S", 0.5)
    async with serving() as (server, pool):
        await peak(server, pool)
        assert server.open == PEAK

        async def one_after_the_other() -> None:
            while server.open > SHARE:
                await ask(server, pool)
                await asyncio.sleep(0.02)

        async with asyncio.timeout(20):
            await one_after_the_other()


async def test_when_nothing_is_asked_any_more_nothing_is_open_and_the_next_request_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(under_test, "IDLE_S", 0.3)
    async with serving() as (server, pool):
        await peak(server, pool)
        await until(lambda: server.open == 0)
        await ask(server, pool)


async def test_a_pool_that_is_in_use_keeps_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request that is under way holds it."""
    monkeypatch.setattr(under_test, "IDLE_S", 0.0)
    async with serving() as (server, pool):
        async with pool.client() as http:
            for _ in range(3):
                await ask(server, pool)
                await asyncio.sleep(0.02)
            assert (await http.get(server.url)).text == "ok"
        assert server.accepted == 1


async def test_a_closed_pool_has_nothing_open_or_pending() -> None:
    async with serving() as (server, pool):
        await peak(server, pool)
        await pool.close()
        await until(lambda: server.open == 0)
