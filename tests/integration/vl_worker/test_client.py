"""The client against the model server simulator: retries, limits, cancellation, typed outcomes."""

from __future__ import annotations

import asyncio
import socket

import pytest

from services.vl_worker.client import VlClient
from services.vl_worker.profiles.glm_ocr import GLM_OCR
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.settings import Vl
from tests.support.vl_server import Act, VlServerSimulator

pytestmark = pytest.mark.integration
JPEG = b"\xff\xd8\xff picture"


def client_of(*urls: str, **settings: object) -> VlClient:
    return VlClient(Vl.model_validate({"endpoints": list(urls), **settings}), GLM_OCR)


async def test_the_request_is_the_one_glm_ocr_documents():
    async with VlServerSimulator(["hello"]) as server:
        client = client_of(server.url, api_key="s3cret")
        answer = await client.ask(JPEG, "table")
        await client.close()
    assert (answer.text, answer.finish_reason) == ("hello", "stop")
    body = server.requests[0]
    content = body["messages"][0]["content"]
    assert content[0]["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")
    assert content[1] == {"type": "text", "text": "Table Recognition:"}
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("glm-ocr", 0.0, 8192)


@pytest.mark.parametrize("fault", [429, 500, 502, 503, 504, Act(reset=True)])
async def test_a_passing_fault_is_tried_again(fault):
    async with VlServerSimulator([fault, "well"]) as server:
        client = client_of(server.url)
        assert (await client.ask(JPEG, "text")).text == "well"
        await client.close()
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_a_refusal_for_good_is_not_tried_again(status):
    async with VlServerSimulator([status]) as server:
        client = client_of(server.url)
        with pytest.raises(DocfleetError) as caught:
            await client.ask(JPEG, "text")
        await client.close()
    assert caught.value.code is ErrorCode.model_unavailable
    assert len(server.requests) == 1


async def test_an_answer_that_is_no_completion_is_typed():
    async with VlServerSimulator(["x"]) as server:
        client = client_of(server.url.replace("/v1", ""))  # another path: 404
        with pytest.raises(DocfleetError):
            await client.ask(JPEG, "text")
        await client.close()


async def test_a_server_that_is_away_is_no_outcome_of_the_document():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = client_of(f"http://127.0.0.1:{port}/v1")
    with pytest.raises(Unavailable):
        await client.ask(JPEG, "text")
    await client.close()


async def test_a_server_that_never_answers_is_a_timeout():
    async with VlServerSimulator([Act(delay_s=30)]) as server:
        client = client_of(server.url, timeout_s=0.3)
        with pytest.raises(DocfleetError) as caught:
            await client.ask(JPEG, "text")
        await client.close()
    assert caught.value.code is ErrorCode.timeout


async def test_a_burst_meets_a_server_that_takes_eight_and_nothing_is_lost():
    async with VlServerSimulator([Act(text="t", delay_s=0.02)], busy_limit=8) as server:
        client = client_of(server.url, max_in_flight=8)
        answers = await asyncio.gather(*(client.ask(JPEG, "text") for _ in range(64)))
        await client.close()
    assert [a.text for a in answers] == ["t"] * 64
    assert server.most_in_flight <= 8


async def test_a_cancelled_call_frees_the_slot_at_the_server():
    async with VlServerSimulator([Act(delay_s=30)]) as server:
        client = client_of(server.url)
        call = asyncio.create_task(client.ask(JPEG, "text"))
        while not server.in_flight:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(2):
            while server.in_flight:
                await asyncio.sleep(0.01)
        await client.close()
    assert server.disconnected == 1
    assert client.in_flight == 0


async def test_two_servers_share_the_work():
    async with (
        VlServerSimulator([Act(text="t", delay_s=0.02)]) as one,
        VlServerSimulator([Act(text="t", delay_s=0.02)]) as two,
    ):
        client = client_of(one.url, two.url)
        await asyncio.gather(*(client.ask(JPEG, "text") for _ in range(40)))
        await client.close()
    assert min(len(one.requests), len(two.requests)) >= 15
